//! What a replay is asked to do: which deliveries, under which key, and what to do with stale rows.

use std::str::FromStr;

use sha2::{Digest as _, Sha256};

use super::AdminError;
use super::act::Act;
use super::filter::{DeliveryFilter, DeliveryId, Selection};
use crate::core::delivery::State;
use crate::core::row::UnknownWord;
use crate::store::StoreError;

/// What a replay is asked to do. As JSON: `ids`, `filter` or `all`, beside `key` and `force`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(into = "Written")]
pub struct ReplayRequest {
    /// Which deliveries. Those that are still owed are left alone and counted.
    pub selection: Selection,
    /// Under which key.
    pub key: KeyMode,
    /// Whether versions that a newer one has overtaken are sent too.
    pub stale: StaleRows,
}

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
        self.selection.check()?;
        let possible = self.selection.filter().possible_states();
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
    key: KeyMode,
    force: bool,
}

impl From<ReplayRequest> for Written {
    fn from(request: ReplayRequest) -> Self {
        let (ids, filter, all) = match request.selection {
            Selection::Ids(ids) => (Some(ids), None, None),
            Selection::Filter(filter) => (None, Some(filter), None),
            Selection::All => (None, None, Some(true)),
        };
        Self {
            ids,
            filter,
            all,
            key: request.key,
            force: request.stale == StaleRows::Force,
        }
    }
}

/// A value as the tables keep it.
pub(super) fn json(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value)
        .map_err(|error| StoreError::Unexpected(format!("a request cannot be written down: {error}")))
}
