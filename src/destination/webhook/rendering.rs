//! What of the configuration decides a webhook's method, body and key header.
//!
//! Recorded by the store as JSON with sorted keys, and read back when a delivery that was attempted under it is sent
//! again. A change of its meaning needs another `v`.

use reqwest::Method;
use reqwest::header::HeaderName;
use serde::{Deserialize, Serialize};

use crate::config::destination::{WebhookBody, WebhookConfig, WebhookMethod};
use crate::core::header_rule::{BadHeader, check_name};
use crate::core::key::KeyForm;
use crate::destination::{Rendering, UnknownRendering};

/// A rendering that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WebhookRendering {
    pub(super) body: WebhookBody,
    pub(super) key_form: KeyForm,
    pub(super) key_header: HeaderName,
    pub(super) method: Method,
    recorded: Recorded,
}

/// A rendering as it is recorded. The fields stand in the order of their names: the text is canonical.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Recorded {
    body: WebhookBody,
    key_form: KeyForm,
    key_header: String,
    method: WebhookMethod,
    v: u32,
}

const VERSION: u32 = 1;

impl WebhookRendering {
    pub(super) fn of(config: &WebhookConfig) -> Result<Self, BadHeader> {
        Self::from_recorded(Recorded {
            body: config.body,
            key_form: config.key_form,
            key_header: config.key_header.to_ascii_lowercase(),
            method: config.method,
            v: VERSION,
        })
    }

    pub(super) fn parse(rendering: &Rendering) -> Result<Self, UnknownRendering> {
        let recorded = rendering.read(VERSION, |recorded: &Recorded| recorded.v)?;
        Self::from_recorded(recorded).map_err(|error| UnknownRendering {
            why: error.to_string(),
        })
    }

    pub(super) fn to_text(&self) -> Rendering {
        Rendering(serde_json::json!(self.recorded).to_string())
    }

    fn from_recorded(recorded: Recorded) -> Result<Self, BadHeader> {
        check_name(&recorded.key_header)?;
        let key_header = super::request::header_name(&recorded.key_header)?;
        let method = match recorded.method {
            WebhookMethod::Post => Method::POST,
            WebhookMethod::Put => Method::PUT,
            WebhookMethod::Patch => Method::PATCH,
        };
        Ok(Self {
            body: recorded.body,
            key_form: recorded.key_form,
            key_header,
            method,
            recorded,
        })
    }
}
