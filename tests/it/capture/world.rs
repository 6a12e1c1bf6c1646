//! A database with a table of customers that is attached to the topic `customers`, and words for what reached the outbox.

use aftercommit::core::row::TopicKind;
use aftercommit::store::StoreError;
use aftercommit::store::admin::Actor;
use aftercommit::store::sources::{Captured, Deletes, Extent, Former, Place, Source, Way};
use sqlx::{Connection as _, PgConnection};

pub(super) use crate::store::world::{Backend, on_both};

/// A database of its own.
pub(super) struct World {
    pub(super) inner: crate::store::world::World,
}

impl World {
    /// A database whose topic `customers` goes to `hook`, with an empty table `customers` that is attached.
    pub(super) async fn attached(backend: Backend) -> Self {
        let world = Self::with_table(backend).await;
        world.attach(customers(Way::Trigger)).await.unwrap();
        world
    }

    /// The same, by capture.
    pub(super) async fn captured(backend: Backend) -> Self {
        let world = Self::with_table(backend).await;
        world.attach(customers(Way::Capture)).await.unwrap();
        world
    }

    /// The table alone.
    pub(super) async fn with_table(backend: Backend) -> Self {
        let inner = crate::store::world::World::migrated(backend).await;
        inner
            .apply(&[("customers", TopicKind::State)], &[("customers", "hook")])
            .await;
        let world = Self { inner };
        world
            .run("create table customers (id bigint primary key, name text, version bigint, loaded_at text)")
            .await;
        world
    }

    /// Runs statements as a pipeline; several of them in a transaction of their own only if they say so.
    pub(super) async fn run(&self, sql: &str) {
        self.inner.execute(sql).await;
    }

    pub(super) async fn try_run(&self, sql: &str) -> Result<(), sqlx::Error> {
        self.inner.try_execute(sql).await
    }

    pub(super) async fn attach(&self, source: Source) -> Result<(), StoreError> {
        self.inner
            .database
            .attach(source, Former::Replaced, &tester())
            .await
    }

    /// Captures `customers` whole, and leaves what is gone.
    pub(super) async fn capture(&self) -> Captured {
        self.try_capture(Extent::default()).await.unwrap()
    }

    pub(super) async fn try_capture(&self, extent: Extent) -> Result<Captured, StoreError> {
        self.inner.database.capture("customers", extent).await
    }

    /// What reached the outbox, in its order, and is said once: `op row_key name@version` of each, a line each.
    pub(super) async fn news(&self) -> Vec<String> {
        let line = "op || ' ' || row_key || coalesce(' ' || (payload ->> 'name'), '') || coalesce('@' || row_version, '')";
        let gather = match self.inner.backend {
            Backend::Postgres => "string_agg",
            Backend::Sqlite => "group_concat",
        };
        let lines = self
            .inner
            .text(&format!(
                "select {gather}(line, ';') from (select {line} as line from aftercommit.outbox where id > {SAID} order by id) as lines"
            ))
            .await
            .unwrap_or_default();
        self.run(
            "insert into aftercommit.setting (name, value) select 'said', coalesce(max(id), 0) from aftercommit.outbox where true \
             on conflict (name) do update set value = excluded.value",
        )
        .await;
        lines.split_terminator(';').map(str::to_owned).collect()
    }

    /// The same by their texts: the order of different row keys is nobody's promise.
    pub(super) async fn sorted_news(&self) -> Vec<String> {
        let mut news = self.news().await;
        news.sort();
        news
    }

    /// The payload of the newest outbox row.
    pub(super) async fn last_payload(&self) -> String {
        let newest = "select payload from aftercommit.outbox order by id desc limit 1";
        self.inner.text(newest).await.unwrap()
    }

    /// Copies rows into a table, as a client does (PostgreSQL).
    pub(super) async fn copy_in(&self, table: &str, rows: &str) {
        let mut connection = PgConnection::connect(&self.inner.url).await.unwrap();
        let mut copy = connection
            .copy_in_raw(&format!("copy {table} from stdin"))
            .await
            .unwrap();
        copy.send(rows.as_bytes()).await.unwrap();
        copy.finish().await.unwrap();
    }

    /// How many deliveries are owed.
    pub(super) async fn owed(&self) -> i64 {
        self.inner.number("select count(*) from aftercommit.owed").await
    }
}

/// Up to where the outbox was told of.
const SAID: &str = "coalesce((select cast(value as bigint) from aftercommit.setting where name = 'said'), 0)";

/// The table `customers`, told apart by `id`, ordered by `version`, without `loaded_at`.
pub(super) fn customers(way: Way) -> Source {
    Source {
        topic: "customers".to_owned(),
        place: Place::Table("customers".to_owned()),
        key: vec!["id".to_owned()],
        version: Some("version".to_owned()),
        excluded: vec!["loaded_at".to_owned()],
        way,
    }
}

/// Who attaches and detaches.
pub(super) fn tester() -> Actor {
    Actor::new("tester", "command line")
}

/// All rows, with deletes up to this part of them.
pub(super) fn with_deletes(ratio: f64) -> Extent {
    Extent {
        partition: None,
        deletes: Deletes::UpTo(ratio),
    }
}

/// What a capture came to.
pub(super) fn came_to(admitted: u64, unchanged: u64, stale: u64, deleted: u64) -> Captured {
    Captured {
        admitted,
        unchanged,
        stale,
        deleted,
    }
}
