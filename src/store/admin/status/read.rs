//! Reads how things stand.
//!
//! The counts are read side by side and the rest after them, so that while deliveries move, their sums need not agree to the
//! last one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::owed::OwedCount;
use super::{DestinationStatus, RelayStatus, Settled, ShardStatus, Status, UnroutedTopic};
use crate::core::delivery::State;
use crate::core::time::Timestamp;
use crate::store::admin::pauses::Pause;
use crate::store::admin::{AdminStore, walk};
use crate::store::database::{Args, Row, Statement, only, sql};
use crate::store::{Failing, NotedUsage, StoreError, leases, settings};

/// Settled deliveries that are counted at most, over all destinations: the newest ones. Each of them is looked up in its table.
const COUNTED_SETTLED: i64 = 100_000;
/// Unrouted rows that are told apart by topic at most: the oldest ones.
const COUNTED_UNROUTED: u32 = 100_000;

impl AdminStore {
    /// How things stand. `configured` names the destinations of the configuration.
    pub async fn status(&self, configured: &[String]) -> Result<Status, StoreError> {
        let mut destinations: BTreeMap<String, DestinationStatus> = BTreeMap::new();
        for name in walk::known_destinations(&self.database).await? {
            destinations.insert(name.clone(), DestinationStatus::named(name));
        }
        for name in configured {
            let status = DestinationStatus::named(name.clone());
            destinations.entry(name.clone()).or_insert(status).configured = true;
        }
        // Four reads at once are much to carry.
        let counts = Box::pin(self.counts()).await?;
        let unrouted = count_owed(&mut destinations, &counts)?;
        count_settled(&mut destinations, &counts)?;
        self.add_pauses(&mut destinations).await?;
        self.add_failing(&mut destinations).await?;
        self.add_usage(&mut destinations).await?;
        self.add_shards(&mut destinations).await?;
        Ok(Status {
            now: self.now().await?,
            schema_version: self.database.schema_version().await?,
            namespace: settings::namespace(&self.database).await?,
            destinations: destinations.into_values().collect(),
            unrouted,
            unrouted_topics: self.unrouted_topics(unrouted).await?,
            relays: self.relays().await?,
        })
    }

    /// The database's clock.
    pub async fn now(&self) -> Result<Timestamp, StoreError> {
        only(self.rows(sql!(shared "now")).await?)?.time("now")
    }

    /// Every relay that has been heard of within a day, the one that started first at the top.
    pub async fn relays(&self) -> Result<Vec<RelayStatus>, StoreError> {
        let rows = self.rows(sql!(shared "relays")).await?;
        rows.iter().map(|row| relay(row, self.lease_ttl)).collect()
    }

    async fn counts(&self) -> Result<Counts, StoreError> {
        let newest = Args::new().int(COUNTED_SETTLED);
        // None is dropped while another fails: each reads to its end.
        let (owed, in_flight, settled, trouble) = tokio::join!(
            self.owed_counts(),
            self.rows(sql!(shared "in_flight_counts")),
            self.database.read(sql!(shared "settled_counts"), newest),
            self.rows(sql!(shared "trouble_counts")),
        );
        Ok(Counts {
            owed: owed?,
            in_flight: in_flight?,
            settled: settled?,
            trouble: trouble?,
        })
    }

    async fn add_pauses(&self, into: &mut BTreeMap<String, DestinationStatus>) -> Result<(), StoreError> {
        for row in self.rows(sql!(shared "paused_destinations")).await? {
            of(into, row.text("destination")?).pause = Some(Pause::read(&row)?);
        }
        Ok(())
    }

    async fn add_failing(&self, into: &mut BTreeMap<String, DestinationStatus>) -> Result<(), StoreError> {
        for row in self.rows(sql!(shared "failing_destinations")).await? {
            of(into, row.text("destination")?).failing = Some(Failing::read(&row)?);
        }
        Ok(())
    }

    /// Only of destinations that are known otherwise: one that is gone has no limit any more.
    async fn add_usage(&self, into: &mut BTreeMap<String, DestinationStatus>) -> Result<(), StoreError> {
        for row in self.rows(sql!(shared "usages")).await? {
            if let Some(status) = into.get_mut(row.text("destination")?) {
                status.usage = Some(NotedUsage::read(&row)?);
            }
        }
        Ok(())
    }

    async fn add_shards(&self, into: &mut BTreeMap<String, DestinationStatus>) -> Result<(), StoreError> {
        for lease in leases::all(&self.database, self.lease_ttl).await? {
            // What has no route is leased too, to whoever keeps house.
            if !lease.shard.destination.is_empty() {
                of(into, &lease.shard.destination).shards.push(ShardStatus {
                    shard: lease.shard.number,
                    owner: lease.live_owner.map(|owner| owner.0.to_string()),
                    epoch: lease.epoch,
                });
            }
        }
        Ok(())
    }

    async fn unrouted_topics(&self, unrouted: u64) -> Result<Vec<UnroutedTopic>, StoreError> {
        let args = Args::new().int(i64::from(COUNTED_UNROUTED));
        let rows = self.database.read(sql!(shared "unrouted_counts"), args).await?;
        let topic = |row: &Row| {
            Ok(UnroutedTopic {
                topic: row.text("topic")?.to_owned(),
                rows: row.int("unrouted")?,
                exact: unrouted <= u64::from(COUNTED_UNROUTED),
            })
        };
        rows.iter().map(topic).collect()
    }

    async fn rows(&self, statement: &'static Statement) -> Result<Vec<Row>, StoreError> {
        self.database.read(statement, Args::new()).await
    }
}

/// What was counted, by destination.
struct Counts {
    owed: Arc<[OwedCount]>,
    in_flight: Vec<Row>,
    /// Of the newest.
    settled: Vec<Row>,
    trouble: Vec<Row>,
}

/// Returns how many rows are unrouted.
fn count_owed(into: &mut BTreeMap<String, DestinationStatus>, counts: &Counts) -> Result<u64, StoreError> {
    let mut unrouted = 0;
    for count in &*counts.owed {
        if count.destination.is_empty() {
            unrouted = count.owed;
            continue;
        }
        let status = of(into, &count.destination);
        status.owed = count.owed;
        status.due = count.due;
        status.oldest_owed_at = count.oldest_owed_at;
    }
    for row in &counts.in_flight {
        of(into, row.text("destination")?).in_flight = row.int("in_flight")?;
    }
    Ok(unrouted)
}

fn count_settled(into: &mut BTreeMap<String, DestinationStatus>, counts: &Counts) -> Result<(), StoreError> {
    let mut counted = 0;
    for row in &counts.settled {
        counted += row.int::<i64>("deliveries")?;
        of(into, row.text("destination")?).settled.set(row)?;
    }
    for row in &counts.trouble {
        of(into, row.text("destination")?).settled.set(row)?;
    }
    for status in into.values_mut() {
        status.settled.exact = counted < COUNTED_SETTLED;
    }
    Ok(())
}

impl DestinationStatus {
    fn named(name: String) -> Self {
        Self {
            name,
            configured: false,
            pause: None,
            failing: None,
            usage: None,
            owed: 0,
            due: 0,
            oldest_owed_at: None,
            in_flight: 0,
            settled: Settled::default(),
            shards: vec![],
        }
    }
}

impl Settled {
    fn set(&mut self, row: &Row) -> Result<(), StoreError> {
        let count = match row.word("state")? {
            State::Delivered => &mut self.delivered,
            State::Dead => &mut self.dead,
            State::Uncertain => &mut self.uncertain,
            State::Superseded => &mut self.superseded,
            State::Cancelled => &mut self.cancelled,
            State::Pending => return Ok(()),
        };
        *count = row.int("deliveries")?;
        Ok(())
    }
}

fn of<'m>(statuses: &'m mut BTreeMap<String, DestinationStatus>, name: &str) -> &'m mut DestinationStatus {
    statuses
        .entry(name.to_owned())
        .or_insert_with(|| DestinationStatus::named(name.to_owned()))
}

fn relay(row: &Row, lease_ttl: Duration) -> Result<RelayStatus, StoreError> {
    let beat_at = row.time("beat_at")?;
    Ok(RelayStatus {
        id: row.text("id")?.to_owned(),
        version: row.text("version")?.to_owned(),
        started_at: row.time("started_at")?,
        beat_at,
        alive: row.time("now")?.since(beat_at) < lease_ttl,
    })
}
