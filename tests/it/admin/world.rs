//! A database with deliveries in it, and words to speak about them.
//!
//! `on_both!` makes two tests of a story. What a story looks at, it looks at through a connection of its own.

use std::time::Duration;

use aftercommit::core::delivery::{Reason, State};
use aftercommit::store::admin::{Act, AdminStore, Delivery, DeliveryFilter, DeliveryId, Page, PageSize};
use aftercommit::store::database::in_sqlite;
use aftercommit::store::{
    Database, DatabaseOptions, FetchLimits, Lease, MissingFile, Record, RelayId, Settlement, SettlementKind,
    Shard, SqlStore, Store as _,
};
use secrecy::SecretString;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, SqliteConnection};

/// Longer than any story.
pub(super) const TTL: Duration = Duration::from_mins(10);

/// Which database a story runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Backend {
    Postgres,
    Sqlite,
}

/// A database for one story; gone when dropped.
pub(super) struct World {
    pub(super) backend: Backend,
    pub(super) url: String,
    pub(super) store: SqlStore,
    pub(super) admin: AdminStore,
    _keep: Keep,
}

#[expect(dead_code, reason = "held until the story ends, never looked at")]
enum Keep {
    Postgres(crate::postgres::TestDatabase),
    Sqlite(crate::sqlite::TestDatabase),
}

impl World {
    /// The event topic `orders` goes to `crm` and `hook`, the state topic `accounts` to `crm`.
    pub(super) async fn new(backend: Backend) -> Self {
        let (url, keep) = match backend {
            Backend::Postgres => {
                let database = crate::postgres::database().await;
                (database.url(), Keep::Postgres(database))
            }
            Backend::Sqlite => {
                let database = crate::sqlite::database();
                (database.url(), Keep::Sqlite(database))
            }
        };
        let database = connect(&url);
        database.migrate("test").await.unwrap();
        let world = Self {
            backend,
            store: SqlStore::new(database.clone()),
            admin: AdminStore::new(database, TTL),
            url,
            _keep: keep,
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

    /// Runs statements, written as for PostgreSQL where both speak them.
    pub(super) async fn execute(&self, sql: &str) {
        let outcome = match self.backend {
            Backend::Postgres => {
                let mut connection = PgConnection::connect(&self.url).await.unwrap();
                let statements = AssertSqlSafe(sql.to_owned());
                sqlx::raw_sql(statements).execute(&mut connection).await.map(drop)
            }
            Backend::Sqlite => {
                let mut connection = SqliteConnection::connect(&self.url).await.unwrap();
                let statements = AssertSqlSafe(in_sqlite(sql));
                sqlx::raw_sql(statements).execute(&mut connection).await.map(drop)
            }
        };
        outcome.unwrap_or_else(|error| panic!("{error}: {sql}"));
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
        let sql = format!("select cast(({sql}) as text)");
        match self.backend {
            Backend::Postgres => {
                let mut connection = PgConnection::connect(&self.url).await.unwrap();
                let query = sqlx::query_scalar(AssertSqlSafe(sql));
                query.fetch_one(&mut connection).await.unwrap()
            }
            Backend::Sqlite => {
                let mut connection = SqliteConnection::connect(&self.url).await.unwrap();
                let query = sqlx::query_scalar(AssertSqlSafe(in_sqlite(&sql)));
                query.fetch_one(&mut connection).await.unwrap()
            }
        }
    }

    /// The one number that a query brings.
    pub(super) async fn number(&self, sql: &str) -> i64 {
        let text = self.text(sql).await;
        text.parse()
            .unwrap_or_else(|_| panic!("{text} is no number: {sql}"))
    }
}

/// A further way into a database, as another process would have.
pub(super) fn connect(url: &str) -> Database {
    let options = DatabaseOptions {
        missing_file: MissingFile::Create,
        ..DatabaseOptions::default()
    };
    Database::connect(&SecretString::from(url), &options).unwrap()
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
    Act::new("tester", "because of the test").unwrap()
}

/// Makes two tests of each story: `story::postgres` and `story::sqlite`.
macro_rules! on_both {
    ($($(#[$doc:meta])* async fn $story:ident($backend:ident: Backend) $body:block)+) => {$(
        $(#[$doc])*
        mod $story {
            use super::*;

            async fn story($backend: Backend) $body

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres() {
                story(Backend::Postgres).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite() {
                story(Backend::Sqlite).await;
            }
        }
    )+};
}
pub(super) use on_both;
