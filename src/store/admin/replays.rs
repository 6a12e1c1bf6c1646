//! Replays: durable jobs that make deliveries due again, or for the first time where a destination never had them.
//!
//! A request becomes a row, and the relay's housekeeper works it off step by step (`replay_step`). So it survives every
//! crash, and a request that is sent twice under one key makes one job.

use super::deliveries::PageSize;
use super::replay::{Replay, ReplayState};
use super::replay_missing::MissingRows;
use super::replay_request::{ReplayRequest, ReplaySelection, RequestKey, StaleRows, json};
use super::{Act, AdminError, AdminStore, replay_writers};
use crate::store::database::{Args, Row, Statement, Transaction, only, sql};
use crate::store::{StoreError, pauses};

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

/// A part of the list of replays.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct ReplayPage {
    /// The newest first.
    pub replays: Vec<Replay>,
    /// The number after which the next page begins; none if this was the last.
    pub next: Option<i64>,
}

impl AdminStore {
    /// Makes the request a job, unless it is one already.
    pub async fn create_replay(
        &self,
        request: &ReplayRequest,
        key: Option<&RequestKey>,
        act: &Act,
    ) -> Result<Created, AdminError> {
        self.check_replay(request).await?;
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

    /// The replay with this number.
    pub async fn replay(&self, id: i64) -> Result<Replay, AdminError> {
        let rows = self
            .database
            .read(sql!(shared "replay"), Args::new().int(id))
            .await?;
        let row = rows.first().ok_or(AdminError::UnknownReplay(id))?;
        let mut replay = Replay::read(row)?;
        replay_writers::explain(&self.database, std::slice::from_mut(&mut replay)).await?;
        Ok(replay)
    }

    /// Replays below the number `after`, of one state or of any, the newest first.
    pub async fn replays(
        &self,
        state: Option<ReplayState>,
        after: Option<i64>,
        size: PageSize,
    ) -> Result<ReplayPage, AdminError> {
        let args = Args::new()
            .int(after.unwrap_or(i64::MAX))
            .opt_text(state.map(ReplayState::as_str))
            // One more than is wanted says whether there is a next page.
            .int(i64::from(size.get()) + 1);
        let rows = self.database.read(sql!(shared "replays"), args).await?;
        let mut replays: Vec<Replay> = rows.iter().map(Replay::read).collect::<Result<_, _>>()?;
        let wanted = size.get() as usize;
        let more = replays.len() > wanted;
        replays.truncate(wanted);
        let next = replays.last().filter(|_| more).map(|last| last.id);
        replay_writers::explain(&self.database, &mut replays).await?;
        Ok(ReplayPage { replays, next })
    }

    /// Ends a replay that runs or is paused; what it has requeued stays so. Nothing happens to one that has ended.
    pub async fn cancel_replay(&self, id: i64, act: &Act) -> Result<Replay, AdminError> {
        self.steer_replay(id, sql!(shared "cancel_replay"), "cancel", act)
            .await
    }

    /// Stops a replay that runs, until it is resumed. Nothing happens to another.
    pub async fn pause_replay(&self, id: i64, act: &Act) -> Result<Replay, AdminError> {
        self.steer_replay(id, sql!(shared "pause_replay"), "pause", act)
            .await
    }

    /// Lets a paused replay go on where it stood. Nothing happens to another.
    pub async fn resume_replay(&self, id: i64, act: &Act) -> Result<Replay, AdminError> {
        self.steer_replay(id, sql!(shared "resume_replay"), "resume", act)
            .await
    }

    async fn steer_replay(
        &self,
        id: i64,
        change: &'static Statement,
        action: &'static str,
        act: &Act,
    ) -> Result<Replay, AdminError> {
        let act = act.clone();
        self.database
            .write(move |transaction| {
                Box::pin(async move {
                    if transaction.execute(change, Args::new().int(id)).await? > 0 {
                        let subject = format!("replay {id}");
                        pauses::audit(transaction, act.actor(), action, &subject, Some(act.reason())).await?;
                    }
                    Ok(())
                })
            })
            .await?;
        self.replay(id).await
    }

    /// Refuses a request that cannot mean anything.
    pub(super) async fn check_replay(&self, request: &ReplayRequest) -> Result<(), AdminError> {
        request.check()?;
        match &request.selection {
            ReplaySelection::Missing { missing } => self.require_route(missing).await,
            ReplaySelection::Known(_) => Ok(()),
        }
    }

    /// Nothing is missing where nothing is routed to: a typing error would look as if all were well.
    async fn require_route(&self, missing: &MissingRows) -> Result<(), AdminError> {
        let rows = self.database.read(sql!(shared "routes"), Args::new()).await?;
        for row in &rows {
            let topic = row.text("topic")?;
            if row.text("destination")? == missing.destination
                && missing.topic.as_deref().is_none_or(|wanted| wanted == topic)
            {
                return Ok(());
            }
        }
        Err(AdminError::NoRoute {
            topic: missing.topic.clone(),
            destination: missing.destination.clone(),
        })
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
        if matches!(request.selection, ReplaySelection::Missing { .. }) {
            replay_writers::note(transaction, id).await?;
        }
        let subject = format!("replay {id}");
        pauses::audit(transaction, act.actor(), "replay", &subject, Some(act.reason())).await?;
        return Ok(Made::New(id));
    }
    let args = Args::new().opt_text(key.map(RequestKey::as_str));
    let row: Row = only(transaction.rows(sql!(shared "replay_of_request"), args).await?)?;
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
        .int(request.rate.map(|rate| i64::from(rate.get())))
        .text(act.reason())
        .text(act.actor().name())
        .opt_text(key.map(RequestKey::as_str))
        .bytes(digest.to_vec()))
}
