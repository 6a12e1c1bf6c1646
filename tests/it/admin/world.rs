//! A database with deliveries in it, and words to speak about them.
//!
//! `on_both!` makes two tests of a story. What a story looks at, it looks at through a connection of its own.

use std::ops::Deref;
use std::time::Duration;

use aftercommit::core::delivery::{Reason, State};
use aftercommit::store::admin::{
    Act, Actor, AdminStore, Created, Delivery, DeliveryFilter, DeliveryId, Page, PageSize, Replay,
};
use aftercommit::store::{
    FetchLimits, Lease, Record, RelayId, Settlement, SettlementKind, Shard, SqlStore, Store as _,
};

use crate::store::world::World as Base;
pub(super) use crate::store::world::{Backend, TTL, connect, on_both};

/// A database for one story, and the two ways of its people into it. What the base can say of a database, it says.
pub(super) struct World {
    base: Base,
    pub(super) store: SqlStore,
    pub(super) admin: AdminStore,
}

impl Deref for World {
    type Target = Base;

    fn deref(&self) -> &Base {
        &self.base
    }
}

impl World {
    /// The event topic `orders` goes to `crm` and `hook`, the state topic `accounts` to `crm`.
    pub(super) async fn new(backend: Backend) -> Self {
        Self::over(Base::migrated(backend).await).await
    }

    /// The same in a migrated database.
    pub(super) async fn over(base: Base) -> Self {
        let world = Self {
            store: SqlStore::new(base.database.clone()),
            admin: AdminStore::new(base.database.clone(), TTL),
            base,
        };
        world
            .execute(
                "insert into aftercommit.topic (name, kind, max_payload_bytes)
                 values ('orders', 'event', 1000000), ('accounts', 'state', 1000000);
                 insert into aftercommit.route (topic, destination)
                 values ('orders', 'crm'), ('orders', 'hook'), ('accounts', 'crm')",
            )
            .await;
        world
    }

    /// The same through connections of its own, as after a restart of the server.
    pub(super) fn reconnected(self) -> Self {
        Self {
            store: SqlStore::new(connect(&self.base.url)),
            admin: AdminStore::new(connect(&self.base.url), TTL),
            ..self
        }
    }

    /// Commits events to `orders`, with the row keys `order-<first>` and following.
    pub(super) async fn commit_orders(&self, first: u32, count: u32) {
        self.execute(&format!(
            "insert into aftercommit.outbox (topic, row_key, op, payload)
             with recursive number (i) as (
                 select {first} union all select i + 1 from number where i < {first} + {count} - 1
             )
             select 'orders', 'order-' || i, 'event', cast('{{\"order\": ' || i || '}}' as {json}) from number order by i",
            json = self.json()
        ))
        .await;
    }

    /// Commits a version of the row `row_key` to `accounts`. Returns its outbox id.
    pub(super) async fn commit_account(&self, row_key: &str, row_version: i64) -> i64 {
        self.execute(&format!(
            "insert into aftercommit.outbox (topic, row_key, row_version, op, payload)
             values ('accounts', '{row_key}', {row_version}, 'upsert', '{{\"version\": {row_version}}}')"
        ))
        .await;
        self.number("select max(id) from aftercommit.outbox").await
    }

    fn json(&self) -> &'static str {
        match self.backend {
            Backend::Postgres => "json",
            Backend::Sqlite => "text",
        }
    }

    /// Settles what is owed to the destination and matches the condition about `outbox_id`.
    pub(super) async fn settle(&self, destination: &str, condition: &str, reason: Reason) {
        self.execute(&format!(
            "begin;
             insert into aftercommit.settled (outbox_id, destination, state, reason, attempts, key_epoch, rendering)
             select outbox_id, destination, '{}', '{reason}', 3, key_epoch, 7 from aftercommit.owed
             where destination = '{destination}' and {condition};
             delete from aftercommit.owed where destination = '{destination}' and {condition};
             commit",
            reason.state()
        ))
        .await;
    }

    /// A relay that lives and holds the lease of the one shard of the destination.
    pub(super) async fn lease(&self, destination: &str) -> Lease {
        let owner = RelayId(uuid::Uuid::from_u128(1));
        self.store.beat(&owner, TTL).await.unwrap();
        self.execute(&format!(
            "insert into aftercommit.lease (destination, shard, owner, epoch) values ('{destination}', 0, '{}', 1)",
            owner.0
        ))
        .await;
        Lease {
            shard: Shard {
                destination: destination.into(),
                number: 0,
                of: 1,
            },
            owner,
            epoch: 1,
        }
    }

    /// Every delivery that matches, page by page.
    pub(super) async fn list(&self, filter: &DeliveryFilter, size: u32) -> Vec<Delivery> {
        let mut found = vec![];
        let mut after = None;
        loop {
            let size = PageSize::new(size).unwrap();
            let Page { deliveries, next } = self.admin.deliveries(filter, after, size).await.unwrap();
            found.extend(deliveries);
            match next {
                Some(next) => after = Some(next),
                None => return found,
            }
        }
    }

    /// Where a delivery stands.
    pub(super) async fn state(&self, outbox_id: i64, destination: &str) -> State {
        let id = id(outbox_id, destination);
        self.admin.delivery(&id).await.unwrap().delivery.state
    }

    /// Fails if a delivery stands in both tables, or in none.
    pub(super) async fn assert_none_lost(&self, deliveries: i64) {
        let both =
            "select count(*) from aftercommit.owed join aftercommit.settled using (outbox_id, destination)";
        assert_eq!(self.number(both).await, 0, "some stand in both tables");
        let all = "select count(*) from aftercommit.delivery";
        assert_eq!(self.number(all).await, deliveries, "some are lost, or invented");
    }

    /// Waits until a condition holds, for as long as a test may take.
    pub(super) async fn until(&self, sql: &str) {
        let holds = async {
            while !["t", "true", "1"].contains(&self.text(sql).await.as_str()) {
                tokio::task::yield_now().await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(20), holds).await;
        waited.unwrap_or_else(|_| panic!("it did not come to this: {sql}"));
    }

    /// The one text that a query brings.
    pub(super) async fn text(&self, sql: &str) -> String {
        let text = self.base.text(sql).await;
        text.unwrap_or_else(|| panic!("no text: {sql}"))
    }
}

/// Reports what is owed in a range of outbox ids as delivered, as the owner of the lease does.
pub(super) async fn settle_owed(store: &SqlStore, lease: &Lease, first: i64, last: i64) {
    let limits = FetchLimits {
        rows: u32::try_from(last - first + 1).unwrap(),
        bytes: 1 << 20,
    };
    let fetched = store.fetch(&lease.shard, first - 1, limits).await.unwrap();
    let settle = fetched.owed.iter().map(|owed| Settlement {
        outbox_id: owed.row.id,
        key_epoch: owed.key_epoch,
        attempts_before: owed.attempts,
        attempt: None,
        kind: SettlementKind::End(Reason::Accepted),
    });
    let record = Record {
        lease: lease.clone(),
        begin: None,
        settle: settle.collect(),
        finished: vec![],
    };
    store.record(std::sync::Arc::new(record)).await.unwrap();
}

pub(super) fn id(outbox_id: i64, destination: &str) -> DeliveryId {
    DeliveryId {
        outbox_id,
        destination: destination.to_owned(),
    }
}

pub(super) fn act() -> Act {
    Act::new(Actor::new("tester", "a test"), "because of the test").unwrap()
}

/// The job that a request has made.
pub(super) fn new(created: Created) -> Replay {
    match created {
        Created::New(replay) => replay,
        other => panic!("{other:?}"),
    }
}

/// Works off every replay that may go on in steps of `limit`. Returns how many deliveries were looked at.
pub(super) async fn finish(world: &World, limit: u32) -> u64 {
    let mut total = 0;
    loop {
        match world.store.advance_replays(limit).await.unwrap().looked_at {
            0 => return total,
            looked_at => total += looked_at,
        }
    }
}
