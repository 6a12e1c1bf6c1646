//! What a portal refuses, with the status and the body that HubSpot sends for it.
//!
//! Only this file knows HubSpot's categories and sentences. It decides nothing.

use jiff::SignedDuration;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::limits::Policy;

/// A property value that was not taken, as HubSpot describes it within a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct InvalidProperty {
    #[serde(rename = "isValid")]
    is_valid: Never,
    message: String,
    error: &'static str,
    name: String,
}

/// Serialises as `false`: what is listed as invalid is never valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Never;

impl Serialize for Never {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(false)
    }
}

impl InvalidProperty {
    pub(super) fn new(name: &str, error: &'static str, message: String) -> Self {
        Self {
            is_valid: Never,
            message,
            error,
            name: name.to_owned(),
        }
    }
}

/// A call, or one input of a batch, that is refused.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Refusal {
    /// Values that their properties do not take.
    Properties(Vec<InvalidProperty>),
    /// The body is no JSON, or JSON of another shape; the message says where.
    Malformed { message: String },
    /// A sentence of HubSpot's about the input as a whole.
    Validation { message: String },
    /// `idProperty` names a property whose values need not be unique.
    NonUniqueIdProperty {
        object_type: String,
        property: String,
        portal: u64,
    },
    /// Ids that stand twice in a batch.
    DuplicateIds(Vec<String>),
    /// A unique value belongs to another record already.
    Exists { noun: String, id: String },
    /// The same, as newer versions say it.
    AlreadyExists { noun: String, id: String },
    /// A custom property's unique value belongs to another record already.
    ValueTaken {
        property: String,
        value: String,
        id: String,
    },
    /// Ids of a batch that stand for no record.
    UnknownIds { noun: String, ids: Vec<String> },
    /// A record, a property or an object type that is not there.
    NotFound { message: String },
    /// No token, or one that was never given out.
    BadToken,
    /// A token whose time has passed, so long ago.
    ExpiredToken { ago: SignedDuration },
    /// The token may not do this.
    MissingScopes(Vec<String>),
    /// Too many calls.
    RateLimited { policy: Policy, group: String },
    /// The object is being written by somebody else (423).
    Locked,
    /// The portal is being moved to another data centre (477).
    Migrating,
    /// HubSpot itself failed.
    Failed { status: u16 },
    /// A page of a proxy in front of HubSpot, not JSON.
    Page { status: u16 },
    /// A path that takes other methods.
    MethodNotAllowed,
    /// The token endpoint's own form of a refusal.
    Grant { status: &'static str, message: String },
}

impl Refusal {
    /// A refusal of this policy, to an app of this mock.
    pub(super) fn rate_limited(policy: Policy) -> Self {
        let group = "publicapi:private-apps:oauth-1".to_owned();
        Self::RateLimited { policy, group }
    }

    pub(super) fn status(&self) -> u16 {
        match self {
            Self::Properties(_)
            | Self::Malformed { .. }
            | Self::Validation { .. }
            | Self::NonUniqueIdProperty { .. }
            | Self::DuplicateIds(_)
            | Self::Grant { .. } => 400,
            Self::BadToken | Self::ExpiredToken { .. } => 401,
            Self::MissingScopes(_) => 403,
            Self::NotFound { .. } | Self::UnknownIds { .. } => 404,
            Self::MethodNotAllowed => 405,
            Self::Exists { .. } | Self::AlreadyExists { .. } | Self::ValueTaken { .. } => 409,
            Self::Locked => 423,
            Self::RateLimited { .. } => 429,
            Self::Migrating => 477,
            Self::Failed { status } | Self::Page { status } => *status,
        }
    }

    /// The page, where the body is not JSON.
    pub(super) fn page(&self) -> Option<String> {
        let Self::Page { status } = self else { return None };
        Some(format!(
            "<!DOCTYPE html>\n<html><head><title>hubapi.com | {status}</title></head>\n\
             <body><h1>Error {status}</h1><p>The web server reported an error. Please try again in a few \
             minutes.</p></body></html>\n"
        ))
    }

    /// The body of a call that is refused as a whole.
    pub(super) fn body(&self, correlation_id: &str) -> Value {
        if let Self::Grant { status, message } = self {
            return json!({ "status": status, "message": message });
        }
        let mut body = Map::new();
        body.insert("status".into(), "error".into());
        body.insert("message".into(), self.message().into());
        body.insert("correlationId".into(), correlation_id.into());
        body.extend(self.details());
        if let Some(category) = self.category() {
            body.insert("category".into(), category.into());
        }
        Value::Object(body)
    }

    /// The entry in `errors` of a batch of which other inputs succeeded.
    pub(super) fn entry(&self, context: &Value) -> Value {
        json!({
            "status": "error",
            "category": self.category().unwrap_or("VALIDATION_ERROR"),
            "message": self.message(),
            "context": context,
        })
    }

    fn message(&self) -> String {
        match self {
            Self::Properties(invalid) => {
                // Our own types always serialise; the fallback is never seen.
                let list = serde_json::to_string(invalid).unwrap_or_default();
                format!("Property values were not valid: {list}")
            }
            Self::Malformed { message }
            | Self::Validation { message }
            | Self::NotFound { message }
            | Self::Grant { message, .. } => message.clone(),
            Self::NonUniqueIdProperty {
                object_type,
                property,
                portal,
            } => format!(
                "Unable to perform update/upsert by non-unique {object_type} property {property} in portal ID \
                 {portal}"
            ),
            Self::DuplicateIds(ids) => format!(
                "Duplicate IDs found in batch input: [{}]. IDs must be unique",
                ids.join(", ")
            ),
            Self::Exists { noun, id } | Self::AlreadyExists { noun, id } => {
                format!("{noun} already exists. Existing ID: {id}")
            }
            Self::ValueTaken { property, value, id } => format!(
                "Cannot set PropertyValueCoordinates{{propertyName={property}, value={value}}} on this object. {id} \
                 already has that value."
            ),
            Self::UnknownIds { noun, .. } => format!(
                "Could not get some {} objects, they may be deleted or not exist. Check that ids are valid.",
                noun.to_uppercase()
            ),
            Self::BadToken => "Authentication credentials not found. This API supports OAuth 2.0 authentication and \
                               you can find more details at \
                               https://developers.hubspot.com/docs/methods/auth/oauth-overview"
                .into(),
            Self::ExpiredToken { ago } => format!(
                "The OAuth token used to make this call expired {} second(s) ago.",
                ago.as_secs()
            ),
            Self::MissingScopes(_) => {
                "This app hasn't been granted all required scopes to make this call. Read more about required scopes \
                 here: https://developers.hubspot.com/scopes."
                    .into()
            }
            Self::RateLimited { policy, .. } => {
                format!("You have reached your {} limit.", policy.name().to_lowercase())
            }
            Self::Locked => "The resource is locked. Please try again.".into(),
            Self::Migrating => "This account is being migrated. Please try again later.".into(),
            Self::Failed { .. } => "internal error".into(),
            Self::Page { .. } => String::new(),
            Self::MethodNotAllowed => "HTTP 405 Method Not Allowed".into(),
        }
    }

    fn category(&self) -> Option<&'static str> {
        match self {
            Self::Properties(_)
            | Self::Malformed { .. }
            | Self::Validation { .. }
            | Self::NonUniqueIdProperty { .. }
            | Self::DuplicateIds(_) => Some("VALIDATION_ERROR"),
            Self::Exists { .. } | Self::ValueTaken { .. } => Some("CONFLICT"),
            Self::AlreadyExists { .. } => Some("OBJECT_ALREADY_EXISTS"),
            Self::NotFound { .. } | Self::UnknownIds { .. } => Some("OBJECT_NOT_FOUND"),
            Self::BadToken => Some("INVALID_AUTHENTICATION"),
            Self::ExpiredToken { .. } => Some("EXPIRED_AUTHENTICATION"),
            Self::MissingScopes(_) => Some("MISSING_SCOPES"),
            Self::Locked => Some("RESOURCE_LOCKED"),
            Self::Migrating => Some("MIGRATION_IN_PROGRESS"),
            Self::RateLimited { .. }
            | Self::Failed { .. }
            | Self::Page { .. }
            | Self::MethodNotAllowed
            | Self::Grant { .. } => None,
        }
    }

    /// What the body holds beside status, message, correlation id and category.
    fn details(&self) -> Map<String, Value> {
        let details = match self {
            Self::Properties(invalid) => {
                let error = |invalid: &InvalidProperty| {
                    json!({
                        "message": invalid.message,
                        "code": invalid.error,
                        "context": { "propertyName": [invalid.name] },
                    })
                };
                json!({ "errors": invalid.iter().map(error).collect::<Vec<_>>() })
            }
            Self::DuplicateIds(ids) | Self::UnknownIds { ids, .. } => json!({ "context": { "ids": ids } }),
            Self::AlreadyExists { noun, .. } => {
                json!({ "error": format!("{}_EXISTS", noun.to_uppercase()) })
            }
            Self::MissingScopes(scopes) => json!({
                "errors": [{
                    "message": "One or more of the following scopes are required.",
                    "context": { "missingScopes": scopes, "requiredGranularScopes": scopes },
                }],
                "links": { "scopes": "https://developers.hubspot.com/scopes" },
            }),
            Self::ExpiredToken { ago } => json!({
                "context": { "expire time": [format!("{} second(s) ago", ago.as_secs())] },
            }),
            Self::RateLimited { policy, group } => json!({
                "errorType": "RATE_LIMIT",
                "policyName": policy.name(),
                "groupName": group,
            }),
            _ => json!({}),
        };
        match details {
            Value::Object(details) => details,
            _ => Map::new(),
        }
    }
}
