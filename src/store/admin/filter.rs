//! Which deliveries are meant: by id, or by what they are.

use std::fmt;
use std::str::FromStr;

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{Object, Schema, Type};

use super::AdminError;
use crate::core::delivery::{REASONS, Reason, STATES, State};
use crate::core::time::Timestamp;
use crate::store::database::{Args, Batch};

/// Ids that one request may name.
pub const MAX_IDS: usize = 10_000;

/// Names a delivery.
#[derive(
    Debug,
    Clone,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    serde::Serialize,
    serde::Deserialize,
    utoipa::ToSchema,
    utoipa::IntoParams,
)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Path)]
pub struct DeliveryId {
    /// The outbox row.
    #[schema(examples(4711))]
    #[param(example = 4711)]
    pub outbox_id: i64,
    /// Where it goes.
    #[schema(examples("crm"))]
    #[param(example = "crm")]
    pub destination: String,
}

/// What a delivery must be to be meant. What is not said does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DeliveryFilter {
    /// One of these states; none named: any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<State>,
    /// Its destination.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// Its row's topic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    /// Its row's key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row_key: Option<String>,
    /// Why it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// What its last attempt was answered with.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 65_535)]
    pub http_status: Option<u16>,
    /// Its row was written at this time or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Its row was written before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Its row has this outbox id or a higher one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_outbox_id: Option<i64>,
    /// Its row has this outbox id or a lower one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_outbox_id: Option<i64>,
}

/// Which deliveries a request means.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Selection {
    /// These.
    Ids(Vec<DeliveryId>),
    /// All that match, and there must be something to match.
    Filter(DeliveryFilter),
    /// Every delivery.
    All,
}

/// A place in a list: the delivery after which it goes on. Displays as `outbox_id:destination`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor(pub(super) DeliveryId);

impl DeliveryFilter {
    /// The states that can match. The reason names one, too.
    pub(super) fn possible_states(&self) -> Vec<State> {
        STATES
            .into_iter()
            .filter(|state| self.states.is_empty() || self.states.contains(state))
            .filter(|state| self.reason.is_none_or(|reason| reason.state() == *state))
            .collect()
    }

    /// The reasons of trouble that can match, each with its state.
    pub(super) fn possible_troubles(&self) -> impl Iterator<Item = Reason> {
        let states = self.possible_states();
        let reasons = REASONS.into_iter().filter(move |(reason, state)| {
            matches!(state, State::Dead | State::Uncertain)
                && states.contains(state)
                && self.reason.is_none_or(|wanted| wanted == *reason)
        });
        reasons.map(|(reason, _)| reason)
    }

    /// The first eight arguments of `deliveries_of`.
    pub(super) fn args(&self) -> Args {
        let states = self.possible_states();
        Args::new()
            .batch(Batch::new().texts("state", states.iter().map(|state| state.as_str())))
            .opt_text(self.destination.as_deref())
            .opt_text(self.topic.as_deref())
            .opt_text(self.row_key.as_deref())
            .opt_text(self.reason.map(Reason::as_str))
            .time(self.since)
            .time(self.until)
            .int(self.http_status.map(i64::from))
    }
}

impl Selection {
    /// Refuses what would select everything, or more than a request may name.
    pub fn check(&self) -> Result<(), AdminError> {
        match self {
            Self::Ids(ids) if ids.len() > MAX_IDS => Err(AdminError::TooManyIds(ids.len())),
            Self::Ids(ids) if ids.is_empty() => Err(AdminError::SelectsAll),
            Self::Filter(filter) if *filter == DeliveryFilter::default() => Err(AdminError::SelectsAll),
            _ => Ok(()),
        }
    }

    /// What the deliveries must match beside their ids.
    pub(super) fn filter(&self) -> DeliveryFilter {
        match self {
            Self::Filter(filter) => filter.clone(),
            Self::Ids(_) | Self::All => DeliveryFilter::default(),
        }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.0.outbox_id, self.0.destination)
    }
}

impl FromStr for Cursor {
    type Err = AdminError;

    fn from_str(text: &str) -> Result<Self, AdminError> {
        let parse = || {
            let (outbox_id, destination) = text.split_once(':')?;
            Some(Self(DeliveryId {
                outbox_id: outbox_id.parse().ok()?,
                destination: destination.to_owned(),
            }))
        };
        parse().ok_or_else(|| AdminError::NoCursor(text.to_owned()))
    }
}

impl<'de> serde::Deserialize<'de> for Cursor {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl utoipa::PartialSchema for Cursor {
    fn schema() -> RefOr<Schema> {
        Object::builder()
            .schema_type(Type::String)
            .pattern(Some("^-?[0-9]+:"))
            .description(Some(
                "Where a page ended: passed on as `after`, unchanged, it begins the next one.",
            ))
            .examples([serde_json::json!("4711:crm")])
            .into()
    }
}

impl utoipa::ToSchema for Cursor {}

impl serde::Serialize for Cursor {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
