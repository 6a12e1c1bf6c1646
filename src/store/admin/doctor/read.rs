//! Reads the facts: a bounded number of reads by keys for each delivery.
//!
//! They are read one after the other, so that while a delivery moves, one may be a moment older than the next.

use super::facts::{Configured, DestinationFacts, Facts, Holder, Kin, Sender};
use super::{Expectations, Expected};
use crate::core::delivery::State;
use crate::core::time::Timestamp;
use crate::store::admin::filter::DeliveryId;
use crate::store::admin::pauses::Pause;
use crate::store::admin::status::RelayStatus;
use crate::store::admin::{AdminError, AdminStore, delivery};
use crate::store::database::{Args, Row, only, sql};
use crate::store::{Failing, NotedUsage, StoreError};

/// Versions of a row that are looked at on each side at most, and owed deliveries that are counted.
const LOOKED_AT: i64 = 1_000;

/// A row, and where its topic is routed to.
pub(super) struct Routes {
    pub(super) topic: String,
    pub(super) row_key: String,
    pub(super) destinations: Vec<String>,
}

/// What is the same for every delivery.
pub(super) struct Surroundings {
    now: Timestamp,
    relays: Vec<RelayStatus>,
    pauses: Vec<(String, Pause)>,
    failing: Vec<(String, Failing)>,
    usages: Vec<(String, NotedUsage)>,
    leases: Vec<LeaseFacts>,
}

struct LeaseFacts {
    destination: String,
    shard: u32,
    of: u32,
    owner: Option<String>,
    beat_at: Option<Timestamp>,
}

/// Where a delivery stands among what is owed.
#[derive(Default)]
struct Place {
    slot: Option<u32>,
    excused: u32,
    before: u64,
}

impl AdminStore {
    /// Fails where there is no such row.
    pub(super) async fn routes_of(&self, outbox_id: i64) -> Result<Routes, AdminError> {
        let args = Args::new().int(outbox_id);
        let rows = self.database.read(sql!(shared "routes_of_row"), args).await?;
        let first = rows.first().ok_or(AdminError::UnknownRow(outbox_id))?;
        let destination = |row: &Row| Ok(row.opt_text("destination")?.map(str::to_owned));
        let destinations: Result<Vec<Option<String>>, StoreError> = rows.iter().map(destination).collect();
        Ok(Routes {
            topic: first.text("topic")?.to_owned(),
            row_key: first.text("row_key")?.to_owned(),
            destinations: destinations?.into_iter().flatten().collect(),
        })
    }

    /// Where the row is owed to or was settled for.
    pub(super) async fn destinations_of(&self, outbox_id: i64) -> Result<Vec<String>, StoreError> {
        let args = Args::new().int(outbox_id);
        let rows = self
            .database
            .read(sql!(shared "destinations_of_row"), args)
            .await?;
        rows.iter()
            .map(|row| Ok(row.text("destination")?.to_owned()))
            .collect()
    }

    pub(super) async fn surroundings(&self) -> Result<Surroundings, StoreError> {
        let read = async |statement| self.database.read(statement, Args::new()).await;
        let name = |row: &Row| Ok::<_, StoreError>(row.text("destination")?.to_owned());
        let pauses = read(sql!(shared "paused_destinations")).await?;
        let failing = read(sql!(shared "failing_destinations")).await?;
        let usages = read(sql!(shared "usages")).await?;
        let leases = read(sql!(shared "leases")).await?;
        Ok(Surroundings {
            now: self.now().await?,
            relays: self.relays().await?,
            pauses: pauses
                .iter()
                .map(|row| Ok((name(row)?, Pause::read(row)?)))
                .collect::<Result<_, StoreError>>()?,
            failing: failing
                .iter()
                .map(|row| Ok((name(row)?, Failing::read(row)?)))
                .collect::<Result<_, StoreError>>()?,
            usages: usages
                .iter()
                .map(|row| Ok((name(row)?, NotedUsage::read(row)?)))
                .collect::<Result<_, StoreError>>()?,
            leases: leases.iter().map(LeaseFacts::read).collect::<Result<_, _>>()?,
        })
    }

    /// Everything that is known of a delivery.
    pub(super) async fn facts(
        &self,
        id: &DeliveryId,
        surroundings: &Surroundings,
        expected: &Expectations,
    ) -> Result<Facts, AdminError> {
        let unknown = || AdminError::UnknownDelivery(id.clone());
        let found = delivery::by_id(&self.database, std::slice::from_ref(id)).await?;
        let delivery = found.into_iter().next().ok_or_else(unknown)?;
        let mut last = delivery::last_attempts(&self.database, std::slice::from_ref(id)).await?;
        let (mut place, mut in_flight) = (Place::default(), None);
        if delivery.state == State::Pending {
            place = self.place_of(id).await?;
            in_flight = delivery::in_flight(&self.database, id).await?;
        }
        let routes = if id.destination.is_empty() {
            self.routes_of(id.outbox_id).await?.destinations
        } else {
            vec![]
        };
        let sender = match &in_flight {
            Some(in_flight) if !surroundings.is_alive(&in_flight.relay) => Sender::Silent,
            _ => Sender::Lives,
        };
        Ok(Facts {
            now: surroundings.now,
            routes,
            destination: surroundings.of(&id.destination, place.slot, expected),
            last_attempt: last.remove(id),
            in_flight,
            sender,
            kin: self.kin_of(id).await?,
            excused: place.excused,
            before: place.before,
            delivery,
        })
    }

    async fn place_of(&self, id: &DeliveryId) -> Result<Place, StoreError> {
        let args = of(id).int(LOOKED_AT);
        let rows = self.database.read(sql!(shared "place_of"), args).await?;
        let place = rows.first().map(Place::read).transpose()?;
        Ok(place.unwrap_or_default())
    }

    async fn kin_of(&self, id: &DeliveryId) -> Result<Kin, StoreError> {
        let args = of(id).int(LOOKED_AT);
        let row = only(self.database.read(sql!(shared "kin_of_row"), args).await?)?;
        let nearest: Option<i64> = row.opt_int("last_owed")?;
        let in_flight = match nearest {
            Some(outbox_id) => {
                let nearest = DeliveryId {
                    outbox_id,
                    destination: id.destination.clone(),
                };
                delivery::in_flight(&self.database, &nearest)
                    .await?
                    .map(|_| outbox_id)
            }
            None => None,
        };
        Ok(Kin {
            ahead: row.int("ahead")?,
            first_owed: row.opt_int("first_owed")?,
            in_flight,
            first_unknown: row.opt_int("first_unknown")?,
            first_uncertain: row.opt_int("first_uncertain")?,
            newest: row.opt_int("newest")?,
            behind: row.int("behind")?,
            newest_owed: row.opt_int("newest_owed")?,
        })
    }
}

impl Surroundings {
    fn is_alive(&self, relay: &str) -> bool {
        self.relays.iter().any(|one| one.alive && one.id == relay)
    }

    fn of(&self, name: &str, slot: Option<u32>, expected: &Expectations) -> DestinationFacts {
        let configured = match expected.get(name) {
            Some(expected) => Configured::As(Expected::clone(expected)),
            None if expected.is_empty() || name.is_empty() => Configured::Silent,
            None => Configured::Missing,
        };
        DestinationFacts {
            configured,
            pause: of_name(&self.pauses, name),
            failing: of_name(&self.failing, name),
            usage: of_name(&self.usages, name),
            holder: self.holder(name, slot),
        }
    }

    /// The lease of shard 0 knows into how many shards the destination was divided last.
    fn holder(&self, name: &str, slot: Option<u32>) -> Holder {
        let leases = || self.leases.iter().filter(|lease| lease.destination == name);
        let shards = leases()
            .find(|lease| lease.shard == 0)
            .map_or(1, |lease| lease.of.max(1));
        let shard = slot.unwrap_or_default() % shards;
        let lease = leases().find(|lease| lease.shard == shard);
        let live_relays = self.relays.iter().filter(|relay| relay.alive).count();
        match lease.and_then(|lease| Some((lease.owner.clone()?, lease.beat_at))) {
            Some((id, Some(beat_at))) if self.is_alive(&id) => Holder::Relay { id, beat_at },
            Some((id, beat_at)) => Holder::Silent { id, beat_at },
            None => Holder::Nobody { live_relays },
        }
    }
}

impl Place {
    fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            slot: row.opt_int("slot")?,
            excused: row.int("excused")?,
            before: row.int("before")?,
        })
    }
}

impl LeaseFacts {
    fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            destination: row.text("destination")?.to_owned(),
            shard: row.int("shard")?,
            of: row.int("shards")?,
            owner: row.opt_text("owner")?.map(str::to_owned),
            beat_at: row.opt_time("beat_at")?,
        })
    }
}

fn of(id: &DeliveryId) -> Args {
    Args::new().int(id.outbox_id).text(&id.destination)
}

fn of_name<T: Clone>(named: &[(String, T)], name: &str) -> Option<T> {
    let of_name = named.iter().find(|(destination, _)| destination == name);
    of_name.map(|(_, value)| value.clone())
}
