//! A pipeline, a database, a receiver, and relays as processes.
//!
//! Nothing here sleeps: a story waits for what the receiver or a process says. A dead relay keeps its lease for two
//! seconds; that is what these stories take their time for.

use std::os::unix::process::ExitStatusExt as _;

use aftercommit::core::row::TopicKind;
use aftercommit::mock::receiver::{Receiver, ReceiverOptions};
use tempfile::TempDir;

pub(super) use crate::process::{PATIENCE, Process};
use crate::store::world::World as Base;
pub(super) use crate::store::world::{Backend, on_both};

use super::invariants;

/// What one story plays with.
pub(super) struct World {
    pub(super) base: Base,
    pub(super) receiver: Receiver,
    folder: TempDir,
    /// Outbox rows that the pipeline has committed, as it knows itself.
    pub(super) committed: i64,
}

/// The destination `hook` takes customers (state) and orders (events).
const CONFIG: &str = r#"
[database]
url = "{database}"
[relay]
heartbeat = "200ms"
lease_ttl = "2s"
poll_busy = "2ms"
poll_idle = "20ms"
[topics.customers]
kind = "state"
[topics.orders]
kind = "event"
[destinations.hook]
type = "webhook"
url = "{receiver}"
topics = ["customers", "orders"]
allow_http = true
allow_networks = ["127.0.0.0/8"]
timeout = "1s"
connect_timeout = "1s"
retry.first = "1ms"
retry.max_delay = "5ms"
"#;

/// Orders that one batch commits: three for each of four row keys.
pub(super) const ORDERS: i64 = 12;
/// Versions of customers that one batch commits: two for each of two row keys.
const CUSTOMERS: i64 = 4;

impl World {
    /// A world in which both topics have their route.
    pub(super) async fn new(backend: Backend) -> Self {
        Self::over(Base::migrated(backend).await).await
    }

    /// The same over a database that the story has made.
    pub(super) async fn over(base: Base) -> Self {
        let world = Self::unrouted(base).await;
        let topics = [("customers", TopicKind::State), ("orders", TopicKind::Event)];
        let routes = [("customers", "hook"), ("orders", "hook")];
        world.base.apply(&topics, &routes).await;
        world
    }

    /// A world in which nothing has a route until a relay starts.
    pub(super) async fn unrouted(base: Base) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("aftercommit-crash-")
            .tempdir()
            .unwrap();
        let receiver = Receiver::start(ReceiverOptions::default()).await.unwrap();
        let world = Self {
            base,
            receiver,
            folder,
            committed: 0,
        };
        world.configure(&world.receiver.url(), "");
        world
    }

    /// What relays that start from now on read: the address of `hook`, and more lines about it.
    pub(super) fn configure(&self, receiver: &str, more: &str) {
        let text = CONFIG
            .replace("{database}", &self.base.url)
            .replace("{receiver}", receiver);
        std::fs::write(self.folder.path().join("aftercommit.toml"), text + more).unwrap();
    }

    /// Starts a relay.
    pub(super) fn relay(&self) -> Process {
        self.start(&["run", "--listen", "off"], &[])
    }

    /// Starts a relay that dies at a crash point, `after_send:3` at the third pass of `after_send`.
    pub(super) fn relay_until(&self, crash: &str) -> Process {
        self.start(&["run", "--listen", "off"], &[("AFTERCOMMIT_CRASH", crash)])
    }

    /// Starts the program with this configuration.
    pub(super) fn start(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Process {
        Process::start(self.folder.path(), arguments, variables)
    }

    /// A relay starts, and dies at a crash point.
    pub(super) async fn crash(&self, crash: &str) {
        died(self.relay_until(crash), crash).await;
    }

    /// A pipeline commits a batch of both topics in one transaction, and rolls another one back.
    pub(super) async fn commit_batch(&mut self) {
        let first = self.committed + 1;
        let orders = (first..first + ORDERS).map(|version| order(&format!("order-{}", version % 4), version));
        let customers = (first..first + CUSTOMERS).map(|version| {
            let row_key = version % 2;
            format!(
                "('customers', 'customer-{row_key}', {version}, 'upsert', '{{\"name\": \"Zoë\", \"v\": {version}}}')"
            )
        });
        let rows: Vec<String> = orders.chain(customers).collect();
        self.commit(&rows).await;
        let ghost = order("ghost", first);
        self.base
            .execute(&format!("begin; {INSERT} {ghost}; rollback;"))
            .await;
    }

    /// A pipeline commits so many orders, each of a row key of its own.
    pub(super) async fn commit_orders(&mut self, count: i64) {
        let first = self.committed + 1;
        let rows: Vec<String> = (first..first + count)
            .map(|version| order(&format!("order-{version}"), version))
            .collect();
        self.commit(&rows).await;
    }

    /// A pipeline commits one order with this payload.
    pub(super) async fn commit_order(&mut self, payload: &str) {
        let version = self.committed + 1;
        let row = format!("('orders', 'order', {version}, 'event', '{payload}')");
        self.commit(&[row]).await;
    }

    async fn commit(&mut self, rows: &[String]) {
        let insert = format!("begin; {INSERT} {}; commit;", rows.join(", "));
        self.base.execute(&insert).await;
        self.committed += i64::try_from(rows.len()).unwrap();
    }

    /// Waits until nothing is owed any more.
    pub(super) async fn settled(&self, relay: &mut Process) {
        self.until_number(relay, "select count(*) from aftercommit.owed", 0)
            .await;
    }

    /// Waits until a query brings this number. It is asked again with each line that a relay says.
    pub(super) async fn until_number(&self, relay: &mut Process, sql: &str, wanted: i64) {
        let asking = async {
            while self.base.number(sql).await != wanted {
                relay.line(sql).await;
            }
        };
        let came = tokio::time::timeout(PATIENCE, asking).await;
        assert!(
            came.is_ok(),
            "not {wanted} in {PATIENCE:?}: {sql}: {:#?}",
            relay.log()
        );
    }

    /// Waits until the receiver has this many requests.
    pub(super) async fn received(&self, requests: u64) {
        let received = tokio::time::timeout(PATIENCE, self.receiver.received(requests)).await;
        let counts = self.receiver.counts();
        assert!(received.is_ok(), "waited for {requests} requests: {counts:?}");
    }

    /// Ends a story well: everything is settled, each relay is asked to end and does, and what must hold does.
    pub(super) async fn finish(self, mut relays: Vec<Process>) {
        self.settled(&mut relays[0]).await;
        for relay in &mut relays {
            stopped(relay).await;
        }
        invariants::check(&self).await;
        self.receiver.shutdown().await.unwrap();
    }
}

const INSERT: &str = "insert into aftercommit.outbox (topic, row_key, row_version, op, payload) values";

fn order(row_key: &str, version: i64) -> String {
    format!("('orders', '{row_key}', {version}, 'event', '{{\"order\":{version}}}')")
}

/// Asks a process to end; it does so in good order.
pub(super) async fn stopped(process: &mut Process) {
    process.signal("TERM").await;
    let status = process.ended().await;
    assert_eq!(status.code(), Some(0), "{:#?}", process.log());
}

/// Waits until a process has died at its crash point, as by a signal.
pub(super) async fn died(mut process: Process, crash: &str) {
    let status = process.ended().await;
    assert!(
        status.signal().is_some(),
        "{crash}: {status}: {:#?}",
        process.log()
    );
}
