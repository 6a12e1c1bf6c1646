//! Heartbeats and leases: which relay lives, and which shards it may dispatch.
//!
//! All by the database's clock. A lease is written only when it changes hands; that its owner lives, the heartbeat says.

use std::time::Duration;

use uuid::Uuid;

use super::database::{Args, Database, Row, Transaction, only, sql};
use super::{Beat, Lease, LeaseRow, RelayId, Shard, StoreError};
use crate::core::time::Timestamp;

/// A relay that has been silent for so long is forgotten.
const FORGET_AFTER: Duration = Duration::from_hours(24);
/// Less than this is no time to make a connection in.
const LEAST_PATIENCE: Duration = Duration::from_millis(250);

/// One statement: no lock waits for a second message of a relay that may have gone silent, not even its own next beat.
pub(super) async fn beat(database: &Database, relay: RelayId, ttl: Duration) -> Result<Beat, StoreError> {
    let args = Args::new()
        .text(&id(relay))
        .text(env!("CARGO_PKG_VERSION"))
        .int(micros(ttl))
        .int(micros(FORGET_AFTER));
    let rows = database.pulse(patience(ttl)).run(sql!("beat"), args).await?;
    let now = rows.first().map(|row| row.time("now")).transpose()?;
    let now = now.ok_or_else(|| StoreError::Unexpected("a heartbeat brought no time".to_owned()))?;
    let live: Result<Vec<_>, StoreError> = rows.iter().map(|row| self::relay(row, "id")).collect();
    let live = live?.into_iter().flatten().collect();
    Ok(Beat { now, live })
}

pub(super) async fn all(database: &Database, ttl: Duration) -> Result<Vec<LeaseRow>, StoreError> {
    let database = database.pulse(patience(ttl));
    let rows = database.read(sql!(shared "leases"), Args::new()).await?;
    rows.iter().map(|row| lease_row(row, ttl)).collect()
}

pub(super) async fn acquire(
    database: &Database,
    shard: &Shard,
    relay: RelayId,
    ttl: Duration,
) -> Result<Option<Lease>, StoreError> {
    let shard = shard.clone();
    database
        .pulse(patience(ttl))
        .write(move |transaction| {
            Box::pin(async move {
                // In this order: whoever waits for the lock looks at the owner, and at the owner's heartbeat, after it.
                lock_lease(transaction, &shard).await?;
                let alive_after = before(now(transaction).await?, ttl);
                let Some(epoch) = take_lease(transaction, &shard, relay, alive_after).await? else {
                    return Ok(None);
                };
                revoke_leases(transaction, &shard).await?;
                let owner = relay;
                Ok(Some(Lease { shard, owner, epoch }))
            })
        })
        .await
}

pub(super) async fn release(database: &Database, lease: &Lease) -> Result<(), StoreError> {
    let args = Args::new()
        .text(&lease.shard.destination)
        .int(i64::from(lease.shard.number))
        .text(&id(lease.owner))
        .int(lease.epoch);
    database.run(sql!(shared "release_lease"), args).await?;
    Ok(())
}

pub(super) async fn leave(database: &Database, relay: RelayId) -> Result<(), StoreError> {
    let args = Args::new().text(&id(relay));
    database.run(sql!(shared "forget_relay"), args).await?;
    Ok(())
}

/// A relay as the tables name it.
pub(super) fn id(relay: RelayId) -> String {
    relay.0.to_string()
}

/// The relay that a column names.
pub(super) fn relay(row: &Row, column: &str) -> Result<Option<RelayId>, StoreError> {
    let parse = |text: &str| {
        Uuid::parse_str(text)
            .map(RelayId)
            .map_err(|_| StoreError::Unexpected(format!("`{text}` is no id of a relay")))
    };
    row.opt_text(column)?.map(parse).transpose()
}

/// The first three arguments of every statement about a shard.
pub(super) fn of_shard(shard: &Shard) -> Args {
    Args::new()
        .text(&shard.destination)
        .int(i64::from(shard.number))
        .int(i64::from(shard.of))
}

pub(super) async fn now(transaction: &mut Transaction) -> Result<Timestamp, StoreError> {
    only(transaction.rows(sql!(shared "now"), Args::new()).await?)?.time("now")
}

async fn lock_lease(transaction: &mut Transaction, shard: &Shard) -> Result<(), StoreError> {
    let args = of_destination(shard);
    transaction.execute(sql!(shared "lock_lease"), args).await?;
    Ok(())
}

async fn take_lease(
    transaction: &mut Transaction,
    shard: &Shard,
    relay: RelayId,
    alive_after: Timestamp,
) -> Result<Option<i64>, StoreError> {
    let args = of_shard(shard).text(&id(relay)).time(alive_after);
    let rows = transaction.rows(sql!(shared "take_lease"), args).await?;
    rows.first().map(|row| row.int("epoch")).transpose()
}

async fn revoke_leases(transaction: &mut Transaction, shard: &Shard) -> Result<(), StoreError> {
    let args = of_destination(shard);
    transaction.execute(sql!(shared "revoke_leases"), args).await?;
    Ok(())
}

fn of_destination(shard: &Shard) -> Args {
    Args::new().text(&shard.destination).int(i64::from(shard.of))
}

fn lease_row(row: &Row, ttl: Duration) -> Result<LeaseRow, StoreError> {
    let now = row.time("now")?;
    let alive = row
        .opt_time("beat_at")?
        .is_some_and(|beat| beat > before(now, ttl));
    Ok(LeaseRow {
        shard: Shard {
            destination: row.text("destination")?.into(),
            number: row.int("shard")?,
            of: row.int("shards")?,
        },
        live_owner: relay(row, "owner")?.filter(|_| alive),
        epoch: row.int("epoch")?,
    })
}

pub(super) fn before(now: Timestamp, span: Duration) -> Timestamp {
    Timestamp::from_micros(now.as_micros().saturating_sub(micros(span)))
}

/// How long the database may keep the pulse waiting: a heartbeat that is given up leaves time for more of them.
fn patience(ttl: Duration) -> Duration {
    (ttl / 6).max(LEAST_PATIENCE)
}

fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}
