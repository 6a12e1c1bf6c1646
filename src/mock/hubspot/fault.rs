//! What can go wrong at HubSpot, by the names that rules give it. What goes wrong on the wire is the base's.

use jiff::SignedDuration;

use super::limits::Policy;
use super::refusal::{InvalidProperty, Refusal};
use crate::mock::crm::{Request, Scope, VendorFault};

/// A fault of HubSpot's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HubSpotFault {
    /// `ten-secondly`, `secondly`, `daily`: 429 of this policy.
    RateLimit(Policy),
    /// `locked`: 423.
    Locked,
    /// `migrating`: 477 with a `Retry-After`.
    Migrating,
    /// `expired-token`: 401 `EXPIRED_AUTHENTICATION`.
    ExpiredToken,
    /// `bad-token`: 401 `INVALID_AUTHENTICATION`.
    BadToken,
    /// `missing-scopes`: 403.
    MissingScopes,
    /// `not-found`: 404 `OBJECT_NOT_FOUND`.
    NotFound,
    /// `malformed`: 400, the body is no JSON.
    Malformed,
    /// `duplicate-ids`: 400, the batch names a record twice.
    DuplicateIds,
    /// `non-unique`: 400, values of the id property need not be unique.
    NonUnique,
    /// `invalid-call`: 400 for the whole request, because of values.
    InvalidCall,
    /// `conflict`: 409 for the whole request.
    Conflict,
    /// `exists`: the same in its newer form.
    AlreadyExists,
    /// `server-error`: 500 in HubSpot's own form.
    ServerError,
    /// `page`: 502 with a page of HTML.
    Page,
    /// `empty`: a batch is not processed and answered with no result and no error.
    Empty,
    /// `omit`: the record is not written and missing from the answer.
    Omit,
    /// `omit-written`: the record is written and missing from the answer.
    OmitWritten,
    /// `invalid`: the record's values are refused.
    Invalid,
    /// `unknown-property`: the record has a property that is not there.
    UnknownProperty,
    /// `taken`: a unique value of the record belongs to another, for which the whole batch gets a 409.
    Taken,
}

impl VendorFault for HubSpotFault {
    const ALL: &'static [(&'static str, Self)] = &[
        ("ten-secondly", Self::RateLimit(Policy::TenSecondlyRolling)),
        ("secondly", Self::RateLimit(Policy::Secondly)),
        ("daily", Self::RateLimit(Policy::Daily)),
        ("locked", Self::Locked),
        ("migrating", Self::Migrating),
        ("expired-token", Self::ExpiredToken),
        ("bad-token", Self::BadToken),
        ("missing-scopes", Self::MissingScopes),
        ("not-found", Self::NotFound),
        ("malformed", Self::Malformed),
        ("duplicate-ids", Self::DuplicateIds),
        ("non-unique", Self::NonUnique),
        ("invalid-call", Self::InvalidCall),
        ("conflict", Self::Conflict),
        ("exists", Self::AlreadyExists),
        ("server-error", Self::ServerError),
        ("page", Self::Page),
        ("empty", Self::Empty),
        ("omit", Self::Omit),
        ("omit-written", Self::OmitWritten),
        ("invalid", Self::Invalid),
        ("unknown-property", Self::UnknownProperty),
        ("taken", Self::Taken),
    ];

    fn scope(self) -> Scope {
        match self {
            Self::Omit | Self::OmitWritten | Self::Invalid | Self::UnknownProperty | Self::Taken => {
                Scope::Record
            }
            _ => Scope::Request,
        }
    }

    /// The token endpoint has limits and failures, but asks for no token and writes no record. Only a batch is answered
    /// with nothing.
    fn can_meet(self, request: &Request) -> bool {
        let anywhere = matches!(
            self,
            Self::RateLimit(_) | Self::Migrating | Self::ServerError | Self::Page
        );
        match self {
            Self::Empty => request.path.contains("/batch/"),
            _ => anywhere || !request.path.starts_with("/oauth/"),
        }
    }
}

impl HubSpotFault {
    /// What is refused because of it; nothing, if it is not a refusal.
    pub(super) fn refusal(self) -> Option<Refusal> {
        Some(match self {
            Self::RateLimit(policy) => Refusal::rate_limited(policy),
            Self::Locked => Refusal::Locked,
            Self::Migrating => Refusal::Migrating,
            Self::ExpiredToken => Refusal::ExpiredToken {
                ago: SignedDuration::from_secs(7),
            },
            Self::BadToken => Refusal::BadToken,
            Self::MissingScopes => Refusal::MissingScopes(vec!["crm.objects.contacts.write".into()]),
            Self::NotFound => Refusal::NotFound {
                message: "Object not found".into(),
            },
            Self::Malformed => Refusal::Malformed {
                message: "Invalid input JSON on line 3, column 9".into(),
            },
            Self::DuplicateIds => Refusal::DuplicateIds(vec!["12877907025".into()]),
            Self::NonUnique => Refusal::NonUniqueIdProperty {
                object_type: "0-1".into(),
                property: "email".into(),
                portal: 1,
            },
            Self::Conflict | Self::Taken => Refusal::Exists {
                noun: "Contact".into(),
                id: "123".into(),
            },
            Self::AlreadyExists => Refusal::AlreadyExists {
                noun: "Contact".into(),
                id: "123".into(),
            },
            Self::ServerError => Refusal::Failed { status: 500 },
            Self::Page => Refusal::Page { status: 502 },
            Self::Invalid | Self::InvalidCall => Refusal::Properties(vec![InvalidProperty::new(
                "email",
                "INVALID_EMAIL",
                "Email address not-an-email is invalid".into(),
            )]),
            Self::UnknownProperty => Refusal::Properties(vec![InvalidProperty::new(
                "nickname",
                "PROPERTY_DOESNT_EXIST",
                "Property \"nickname\" does not exist".into(),
            )]),
            Self::Empty | Self::Omit | Self::OmitWritten => return None,
        })
    }
}
