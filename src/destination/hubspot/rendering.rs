//! What of the configuration decides the bodies of HubSpot's calls.
//!
//! Recorded by the store as JSON with sorted keys, and read back when a delivery that was attempted under it is sent
//! again. A change of its meaning needs another `v`.

use serde::{Deserialize, Serialize};

use crate::config::destination::CrmConfig;
use crate::core::key::KeyForm;
use crate::core::mapping::Mapping;
use crate::destination::{Rendering, UnknownRendering};

/// A rendering as it is recorded. The fields stand in the order of their names: the text is canonical.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HubSpotRendering {
    id_from: Option<Vec<String>>,
    id_property: String,
    key: Option<KeyHeader>,
    mapping: Mapping,
    object: String,
    v: u32,
}

/// The header that carries the key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeyHeader {
    pub(super) form: KeyForm,
    pub(super) name: String,
}

const VERSION: u32 = 1;

/// As the IETF draft names it.
const KEY_HEADER: &str = "idempotency-key";

impl HubSpotRendering {
    pub(super) fn of(config: &CrmConfig) -> Self {
        Self {
            id_from: config.id_from.clone(),
            id_property: config.id_field.clone(),
            key: config.send_idempotency_key.then(|| KeyHeader {
                form: KeyForm::Uuid,
                name: KEY_HEADER.to_owned(),
            }),
            mapping: config.mapping.clone(),
            object: config.object.clone(),
            v: VERSION,
        }
    }

    pub(super) fn parse(rendering: &Rendering) -> Result<Self, UnknownRendering> {
        rendering.read(VERSION, |recorded: &Self| recorded.v)
    }

    pub(super) fn to_text(&self) -> Rendering {
        Rendering(serde_json::json!(self).to_string())
    }

    /// The object type, as it stands in paths.
    pub(super) fn object(&self) -> &str {
        &self.object
    }

    /// The property by which records are found.
    pub(super) fn id_property(&self) -> &str {
        &self.id_property
    }

    /// Where its value stands in the payload; none: it is the row key.
    pub(super) fn id_from(&self) -> Option<&[String]> {
        self.id_from.as_deref()
    }

    pub(super) fn key(&self) -> Option<&KeyHeader> {
        self.key.as_ref()
    }

    pub(super) fn mapping(&self) -> &Mapping {
        &self.mapping
    }
}
