//! Replays: durable jobs that make deliveries due again.
//!
//! A request becomes a row, and the relay's housekeeper works it off step by step (`replay_step`). So it survives every
//! crash, and a request that is sent twice under one key makes one job.

use sha2::{Digest as _, Sha256};

use super::deliveries::{Delivery, word};
use super::filter::{Cursor, DeliveryFilter, DeliveryId, Selection};
use super::pauses::Act;
use super::replay_step::{Plan, Planned};
use super::walk::{Direction, Walk};
use super::{AdminError, AdminStore};
use crate::core::delivery::State;
use crate::core::row::UnknownWord;
use crate::core::time::Timestamp;
use crate::store::database::{Args, Row, sql};
use crate::store::{StoreError, pauses};

/// Deliveries that one step of a dry run looks at.
const DRY_STEP: u32 = 5_000;
/// Deliveries that a dry run shows.
const SAMPLE: usize = 10;

/// Whether a replay sends under the key that the receiver knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
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

/// The Idempotency-Key of a request: 1 to 255 characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestKey(String);

/// Where a replay stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReplayState {
    /// It goes on.
    Running,
    /// It has looked at every delivery that it was asked for.
    Done,
    /// An operator ended it; what it had requeued stays so.
    Cancelled,
}

/// A replay.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Replay {
    /// Its number.
    pub id: i64,
    /// Where it stands.
    pub state: ReplayState,
    /// What it was asked to do.
    #[serde(flatten)]
    pub request: ReplayRequest,
    /// Why.
    pub reason: String,
    /// Who asked for it.
    pub requested_by: String,
    /// Deliveries that it has made due again.
    pub requeued: u64,
    /// Deliveries that matched and were owed already.
    pub left_alone: u64,
    /// Deliveries that matched and that a newer version has overtaken; `force` sends them.
    pub skipped: u64,
    /// The last outbox row that is its concern: what was written later is not.
    pub last_outbox_id: i64,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// The delivery that it looked at last.
    #[serde(skip)]
    pub(super) cursor: Cursor,
}

/// What became of a request for a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Created {
    /// A new job.
    New(Replay),
    /// The request came before, under the same key: the job that it made then.
    Existing(Replay),
    /// Another request came before under this key; this is its job. Nothing was changed.
    Conflict(i64),
}

/// What a replay would do if it ran now.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct DryRun {
    /// Deliveries that match.
    pub matched: u64,
    /// Of those, how many it would make due again.
    pub requeued: u64,
    /// Of those, how many are owed already.
    pub left_alone: u64,
    /// Of those, how many a newer version has overtaken; `force` sends them.
    pub skipped: u64,
    /// How many match in each state.
    pub by_state: std::collections::BTreeMap<&'static str, u64>,
    /// The first ten, the oldest outbox id first.
    pub sample: Vec<Delivery>,
}

impl AdminStore {
    /// Makes the request a job, unless it is one already.
    pub async fn create_replay(
        &self,
        request: &ReplayRequest,
        key: Option<&RequestKey>,
        act: &Act,
    ) -> Result<Created, AdminError> {
        request.check()?;
        let (wanted, digest) = (request.clone(), request.digest(act)?);
        let (key, act) = (key.cloned(), act.clone());
        let made = self
            .database
            .write(move |transaction| {
                Box::pin(async move {
                    let args = add_args(&wanted, key.as_ref(), &digest, &act)?;
                    let rows = transaction.rows(sql!(shared "add_replay"), args).await?;
                    if let Some(row) = rows.first() {
                        let id: i64 = row.int("id")?;
                        let subject = format!("replay {id}");
                        pauses::audit(transaction, act.actor(), "replay", &subject, Some(act.reason()))
                            .await?;
                        return Ok(Made::New(id));
                    }
                    let args = Args::new().opt_text(key.as_ref().map(|RequestKey(text)| text.as_str()));
                    let rows = transaction.rows(sql!(shared "replay_of_request"), args).await?;
                    let row = crate::store::database::only(rows)?;
                    let id = row.int("id")?;
                    Ok(match row.opt_bytes("request_digest")? {
                        Some(known) if known == digest => Made::Existing(id),
                        _ => Made::Conflict(id),
                    })
                })
            })
            .await?;
        Ok(match made {
            Made::New(id) => Created::New(self.replay(id).await?),
            Made::Existing(id) => Created::Existing(self.replay(id).await?),
            Made::Conflict(id) => Created::Conflict(id),
        })
    }

    /// What the request would do if it ran now. Nothing is written, and every delivery that matches is looked at.
    pub async fn dry_run(&self, request: &ReplayRequest) -> Result<DryRun, AdminError> {
        request.check()?;
        let mut run = DryRun::default();
        let mut walk = Walk::start(&self.database, &request.selection, Direction::Up, None).await?;
        loop {
            let step = walk.step(DRY_STEP).await?;
            let plan = Plan::of(&self.database, &step.deliveries, request.stale).await?;
            run.add(&step.deliveries, &plan);
            if !step.more {
                return Ok(run);
            }
        }
    }

    /// The replay with this number.
    pub async fn replay(&self, id: i64) -> Result<Replay, AdminError> {
        let rows = self
            .database
            .read(sql!(shared "replay"), Args::new().int(id))
            .await?;
        let row = rows.first().ok_or(AdminError::UnknownReplay(id))?;
        Ok(Replay::read(row)?)
    }

    /// Ends a replay that runs; what it has requeued stays so. Nothing happens to one that has ended.
    pub async fn cancel_replay(&self, id: i64, act: &Act) -> Result<Replay, AdminError> {
        let act = act.clone();
        self.database
            .write(move |transaction| {
                Box::pin(async move {
                    let args = Args::new().int(id);
                    if transaction.execute(sql!(shared "cancel_replay"), args).await? > 0 {
                        let subject = format!("replay {id}");
                        pauses::audit(transaction, act.actor(), "cancel", &subject, Some(act.reason()))
                            .await?;
                    }
                    Ok(())
                })
            })
            .await?;
        self.replay(id).await
    }
}

/// A request as it is written and read elsewhere.
#[derive(serde::Serialize)]
struct Written {
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

/// What the transaction found, before the job is read.
enum Made {
    New(i64),
    Existing(i64),
    Conflict(i64),
}

fn add_args(
    request: &ReplayRequest,
    key: Option<&RequestKey>,
    digest: &[u8; 32],
    act: &Act,
) -> Result<Args, StoreError> {
    Ok(Args::new()
        .text(&json(&request.selection)?)
        .text(request.key.as_str())
        .int(i64::from(request.stale == StaleRows::Force))
        .text(act.reason())
        .text(act.actor())
        .opt_text(key.map(|RequestKey(text)| text.as_str()))
        .bytes(digest.to_vec()))
}

fn json(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value)
        .map_err(|error| StoreError::Unexpected(format!("a request cannot be written down: {error}")))
}

impl ReplayRequest {
    /// Refuses what selects everything without saying so, or nothing that could be replayed.
    fn check(&self) -> Result<(), AdminError> {
        self.selection.check()?;
        let possible = self.selection.filter().possible_states();
        if possible == [State::Pending] {
            return Err(AdminError::OnlyPending);
        }
        Ok(())
    }

    /// What tells this request from another under the same key.
    fn digest(&self, act: &Act) -> Result<[u8; 32], StoreError> {
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
}

impl Replay {
    /// A row of `replay` or `next_replay`.
    pub(super) fn read(row: &Row) -> Result<Self, StoreError> {
        let selection = serde_json::from_str(row.text("filter")?);
        let stale = if row.bool("force")? {
            StaleRows::Force
        } else {
            StaleRows::Skip
        };
        Ok(Self {
            id: row.int("id")?,
            state: word(row.text("state")?)?,
            request: ReplayRequest {
                selection: selection.map_err(|error| {
                    StoreError::Unexpected(format!("the filter of a replay cannot be read: {error}"))
                })?,
                key: word(row.text("key_mode")?)?,
                stale,
            },
            reason: row.text("reason")?.to_owned(),
            requested_by: row.text("requested_by")?.to_owned(),
            requeued: row.int("requeued")?,
            left_alone: row.int("left_alone")?,
            skipped: row.int("skipped")?,
            last_outbox_id: row.int("last_outbox_id")?,
            created_at: row.time("created_at")?,
            finished_at: row.opt_time("finished_at")?,
            cursor: Cursor(DeliveryId {
                outbox_id: row.int("cursor_outbox_id")?,
                destination: row.text("cursor_destination")?.to_owned(),
            }),
        })
    }
}

impl DryRun {
    fn add(&mut self, deliveries: &[Delivery], plan: &Plan) {
        for delivery in deliveries {
            self.matched += 1;
            *self.by_state.entry(delivery.state.as_str()).or_default() += 1;
            match plan.of_delivery(delivery) {
                Planned::Requeue => self.requeued += 1,
                Planned::LeaveAlone => self.left_alone += 1,
                Planned::Skip => self.skipped += 1,
            }
            if self.sample.len() < SAMPLE {
                self.sample.push(delivery.clone());
            }
        }
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

impl std::str::FromStr for KeyMode {
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

impl std::str::FromStr for ReplayState {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        match word {
            "running" => Ok(Self::Running),
            "done" => Ok(Self::Done),
            "cancelled" => Ok(Self::Cancelled),
            _ => Err(UnknownWord {
                what: "state of a replay",
                word: word.to_owned(),
                known: "running, done, cancelled",
            }),
        }
    }
}
