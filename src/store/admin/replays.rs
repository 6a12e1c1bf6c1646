//! Replays: durable jobs that make deliveries due again.
//!
//! A request becomes a row, and the relay's housekeeper works it off step by step (`replay_step`). So it survives every
//! crash, and a request that is sent twice under one key makes one job.

use std::collections::BTreeMap;
use std::str::FromStr;

use super::act::Act;
use super::deliveries::Delivery;
use super::filter::{Cursor, DeliveryId};
use super::replay_request::{ReplayRequest, RequestKey, StaleRows, Written, json};
use super::replay_step::{Plan, Planned};
use super::walk::{Direction, Walk};
use super::{AdminError, AdminStore};
use crate::core::row::UnknownWord;
use crate::core::time::Timestamp;
use crate::store::database::{Args, Row, Transaction, only, sql};
use crate::store::{StoreError, pauses};

/// Deliveries that one step of a dry run looks at.
const DRY_STEP: u32 = 5_000;
/// Deliveries that a dry run shows.
const SAMPLE: usize = 10;

/// Where a replay stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct Replay {
    /// Its number.
    pub id: i64,
    /// Where it stands.
    pub state: ReplayState,
    /// What it was asked to do.
    #[serde(flatten)]
    #[schema(value_type = Written)]
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
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
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
    pub by_state: BTreeMap<&'static str, u64>,
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
                Box::pin(async move { make(transaction, &wanted, key.as_ref(), &digest, &act).await })
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

/// What the transaction found, before the job is read.
enum Made {
    New(i64),
    Existing(i64),
    Conflict(i64),
}

/// Adds the job, or finds the one that the same key has made before.
async fn make(
    transaction: &mut Transaction,
    request: &ReplayRequest,
    key: Option<&RequestKey>,
    digest: &[u8; 32],
    act: &Act,
) -> Result<Made, StoreError> {
    let args = add_args(request, key, digest, act)?;
    let rows = transaction.rows(sql!(shared "add_replay"), args).await?;
    if let Some(row) = rows.first() {
        let id: i64 = row.int("id")?;
        let subject = format!("replay {id}");
        pauses::audit(transaction, act.actor(), "replay", &subject, Some(act.reason())).await?;
        return Ok(Made::New(id));
    }
    let args = Args::new().opt_text(key.map(RequestKey::as_str));
    let row = only(transaction.rows(sql!(shared "replay_of_request"), args).await?)?;
    let id = row.int("id")?;
    Ok(match row.opt_bytes("request_digest")? {
        Some(known) if known == digest => Made::Existing(id),
        _ => Made::Conflict(id),
    })
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
        .text(act.actor().name())
        .opt_text(key.map(RequestKey::as_str))
        .bytes(digest.to_vec()))
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
            state: row.word("state")?,
            request: ReplayRequest {
                selection: selection.map_err(|error| {
                    StoreError::Unexpected(format!("the filter of a replay cannot be read: {error}"))
                })?,
                key: row.word("key_mode")?,
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

impl FromStr for ReplayState {
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
