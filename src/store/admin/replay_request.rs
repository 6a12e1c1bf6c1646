//! What a replay is asked to do: which deliveries, under which key, how fast, and what to do with stale rows.

use std::num::NonZeroU32;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{Object, Schema, Type};

use super::filter::{DeliveryFilter, DeliveryId, Selection};
use super::replay_missing::MissingRows;
use super::{Act, AdminError};
use crate::core::delivery::State;
use crate::core::row::UnknownWord;
use crate::store::StoreError;

/// What a replay is asked to do. As JSON: `ids`, `filter`, `all` or `missing`, beside `key`, `force` and `rate`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(into = "Written")]
pub struct ReplayRequest {
    /// Which deliveries. Those that are still owed are left alone and counted.
    pub selection: ReplaySelection,
    /// Under which key.
    pub key: KeyMode,
    /// Whether versions that a newer one has overtaken are sent too.
    pub stale: StaleRows,
    /// How fast it makes them due; without one, as fast as it goes.
    pub rate: Option<ReplayRate>,
}

/// Which deliveries a replay is about.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
pub enum ReplaySelection {
    /// Those that a destination never had.
    Missing {
        /// Of which rows.
        missing: MissingRows,
    },
    /// Those that there are.
    Known(Selection),
}

/// Deliveries a second that a replay makes due at most. From its first one on, no span of time sees more than one second's
/// worth above that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct ReplayRate(NonZeroU32);

/// Whether a replay sends under the key that the receiver knows.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum KeyMode {
    /// The same key and the same bytes: a receiver that honours keys does nothing for what it has done already.
    #[default]
    Same,
    /// A new key: a deliberate new request, which a receiver carries out once more.
    New,
}

/// What to do with versions of a row (state topics) that a newer one has overtaken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StaleRows {
    /// Leave them: an older version may not overwrite a newer one.
    #[default]
    Skip,
    /// Send them all the same.
    Force,
}

/// The Idempotency-Key of a request: 1 to 255 characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestKey(String);

impl ReplayRequest {
    /// Refuses what selects everything without saying so, or nothing that could be replayed.
    pub(super) fn check(&self) -> Result<(), AdminError> {
        let ReplaySelection::Known(selection) = &self.selection else {
            return Ok(());
        };
        selection.check()?;
        let possible = selection.filter().possible_states();
        if possible == [State::Pending] {
            return Err(AdminError::OnlyPending);
        }
        Ok(())
    }

    /// What tells this request from another under the same key.
    pub(super) fn digest(&self, act: &Act) -> Result<[u8; 32], StoreError> {
        let hash = Sha256::new()
            .chain_update(json(self)?)
            .chain_update("\n")
            .chain_update(act.reason());
        Ok(hash.finalize().into())
    }
}

impl From<Selection> for ReplaySelection {
    fn from(selection: Selection) -> Self {
        Self::Known(selection)
    }
}

impl From<MissingRows> for ReplaySelection {
    fn from(missing: MissingRows) -> Self {
        Self::Missing { missing }
    }
}

impl ReplayRate {
    /// So many deliveries a second, 1 at least.
    pub fn per_second(deliveries: u32) -> Option<Self> {
        NonZeroU32::new(deliveries).map(Self)
    }

    /// Deliveries a second.
    pub fn get(self) -> u32 {
        self.0.get()
    }
}

impl utoipa::PartialSchema for ReplayRate {
    fn schema() -> RefOr<Schema> {
        Object::builder()
            .schema_type(Type::Integer)
            .minimum(Some(1))
            .maximum(Some(u32::MAX))
            .description(Some("Deliveries a second that become due at most."))
            .examples([serde_json::json!(500)])
            .into()
    }
}

impl utoipa::ToSchema for ReplayRate {}

impl FromStr for ReplayRate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rate = text.parse().map(Self);
        rate.map_err(|_| "a rate is a whole number of deliveries a second, 1 at least".to_owned())
    }
}

impl RequestKey {
    /// The key, if it has 1 to 255 characters.
    pub fn new(text: &str) -> Result<Self, AdminError> {
        if (1..=255).contains(&text.chars().count()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(AdminError::NoRequestKey)
        }
    }

    /// The key as it came.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl KeyMode {
    /// The word in SQL, API and command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::New => "new",
        }
    }

    /// What follows from it, for whoever has to choose.
    pub fn consequence(self) -> &'static str {
        match self {
            Self::Same => {
                "the same key and the same bytes: a receiver that honours keys does nothing for what it has done already"
            }
            Self::New => "a new key: every receiver carries each of them out once more, done already or not",
        }
    }
}

impl FromStr for KeyMode {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        match word {
            "same" => Ok(Self::Same),
            "new" => Ok(Self::New),
            _ => Err(UnknownWord {
                what: "key mode",
                word: word.to_owned(),
                known: "same, new",
            }),
        }
    }
}

/// A request as it is written and read elsewhere.
#[derive(serde::Serialize, utoipa::ToSchema)]
#[schema(as = ReplayRequest)]
pub(super) struct Written {
    #[serde(skip_serializing_if = "Option::is_none")]
    ids: Option<Vec<DeliveryId>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    filter: Option<DeliveryFilter>,
    #[serde(skip_serializing_if = "Option::is_none")]
    all: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<MissingRows>,
    key: KeyMode,
    force: bool,
    rate: Option<ReplayRate>,
}

impl From<ReplayRequest> for Written {
    fn from(request: ReplayRequest) -> Self {
        let (mut ids, mut filter, mut all, mut missing) = (None, None, None, None);
        match request.selection {
            ReplaySelection::Known(Selection::Ids(given)) => ids = Some(given),
            ReplaySelection::Known(Selection::Filter(given)) => filter = Some(given),
            ReplaySelection::Known(Selection::All) => all = Some(true),
            ReplaySelection::Missing { missing: given } => missing = Some(given),
        }
        Self {
            ids,
            filter,
            all,
            missing,
            key: request.key,
            force: request.stale == StaleRows::Force,
            rate: request.rate,
        }
    }
}

/// A value as the tables keep it.
pub(super) fn json(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value)
        .map_err(|error| StoreError::Unexpected(format!("a request cannot be written down: {error}")))
}
