//! What of the configuration decides a record's fields, and with them the bodies and paths of the calls.
//!
//! Recorded by the store as JSON with sorted keys, and read back when a delivery that was attempted under it is sent
//! again. A change of its meaning needs another `v`.

use serde::{Deserialize, Serialize};

use crate::config::SalesforceConfig;
use crate::core::mapping::Mapping;
use crate::destination::{Rendering, UnknownRendering};

/// A rendering as it is recorded. The fields stand in the order of their names: the text is canonical.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SalesforceRendering {
    pub(super) api_version: String,
    pub(super) call_options: Option<String>,
    pub(super) duplicate_rule: Option<String>,
    pub(super) external_id: String,
    pub(super) id_from: Option<Vec<String>>,
    pub(super) mapping: Mapping,
    pub(super) object: String,
    pub(super) send_key: bool,
    pub(super) update_only: bool,
    v: u32,
}

const VERSION: u32 = 1;

impl SalesforceRendering {
    pub(super) fn of(config: &SalesforceConfig) -> Self {
        let crm = &config.crm;
        Self {
            api_version: config.api_version.clone(),
            call_options: config.call_options.clone(),
            duplicate_rule: config.duplicate_rule.clone(),
            external_id: crm.id_field.clone(),
            id_from: crm.id_from.clone(),
            mapping: crm.mapping.clone(),
            object: crm.object.clone(),
            send_key: crm.send_idempotency_key,
            update_only: config.update_only,
            v: VERSION,
        }
    }

    pub(super) fn parse(rendering: &Rendering) -> Result<Self, UnknownRendering> {
        rendering.read(VERSION, |recorded: &Self| recorded.v)
    }

    pub(super) fn to_text(&self) -> Rendering {
        Rendering(serde_json::json!(self).to_string())
    }
}
