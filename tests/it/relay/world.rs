//! A pipeline, a database, a relay and a receiver, and the words to speak of them.
//!
//! Nothing here sleeps: a story waits for what the store or the receiver says it has done. When a story ends, `finish`
//! checks what must hold after every story: no request without an attempt on record, one body under each key, one
//! place for each delivery.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use aftercommit::clock::{Clock, SystemClock};
use aftercommit::config::{Config, RelayConfig, WakeupMode};
use aftercommit::mock::receiver::{Receiver, ReceiverOptions};
use aftercommit::relay::{Context, Destinations, Relay, RelayMetrics, assemble};
use aftercommit::store::{RelayId, SqlStore};
use aftercommit::telemetry::traces::Traces;
use uuid::Uuid;

use super::watched::Watched;
use crate::store::world::World as Base;
pub(super) use crate::store::world::{Backend, on_both};

/// What one test plays with.
pub(super) struct World {
    pub(super) base: Base,
    pub(super) store: Arc<Watched>,
    pub(super) receiver: Receiver,
    pub(super) clock: Arc<CountingClock>,
}

/// The process's clock, which counts how often it was asked: a relay that sleeps does not ask.
pub(super) struct CountingClock {
    inner: SystemClock,
    looks: AtomicU64,
}

impl CountingClock {
    pub(super) fn looks(&self) -> u64 {
        self.looks.load(Ordering::SeqCst)
    }
}

impl Clock for CountingClock {
    fn monotonic(&self) -> Duration {
        self.looks.fetch_add(1, Ordering::SeqCst);
        self.inner.monotonic()
    }
}

/// A relay that runs in this process.
pub(super) struct Running {
    pub(super) id: RelayId,
    pub(super) relay: Relay,
    pub(super) metrics: RelayMetrics,
}

/// The destination `hook` takes customers (state) and orders (events). `{more}` is the story's own.
const CONFIG: &str = r#"
[relay]
heartbeat = "200ms"
lease_ttl = "4s"
poll_busy = "2ms"
poll_idle = "20ms"
shutdown_grace = "5s"
[topics.customers]
kind = "state"
[topics.orders]
kind = "event"
[destinations.hook]
type = "webhook"
url = "{url}"
topics = ["customers", "orders"]
allow_http = true
allow_networks = ["127.0.0.0/8"]
timeout = "1s"
connect_timeout = "1s"
secrets = ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"]
"#;

/// Retries that a test need not wait for.
pub(super) const SWIFT: &str = r#"
[destinations.hook.retry]
first = "1ms"
max_delay = "5ms"
"#;

impl World {
    /// A world in which `hook` is configured as always, and `more` besides.
    pub(super) async fn with(backend: Backend, more: &str) -> Self {
        // `AFTERCOMMIT_LOG=debug` shows what the relay says; a second story of the same process has it already.
        let filter = tracing_subscriber::EnvFilter::from_env("AFTERCOMMIT_LOG");
        let _ = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_test_writer()
            .try_init();
        Self::over(Base::migrated(backend).await, more).await
    }

    /// The same over a database that is there.
    pub(super) async fn over(base: Base, more: &str) -> Self {
        let receiver = Receiver::start(ReceiverOptions::default()).await.unwrap();
        let store = Watched::over(Arc::new(SqlStore::new(base.database.clone())));
        let world = Self {
            base,
            store,
            receiver,
            clock: Arc::new(CountingClock {
                inner: SystemClock::start(),
                looks: AtomicU64::new(0),
            }),
        };
        world.apply(more).await;
        world
    }

    /// The configuration with `more` added to it.
    pub(super) fn config(&self, more: &str) -> Config {
        let database = format!("[database]\nurl = \"{}\"\n", self.base.url);
        let text = database + &CONFIG.replace("{url}", &self.receiver.url()) + more;
        Config::parse(
            &text,
            &aftercommit::config::System::beside(std::path::Path::new(".")),
        )
        .unwrap_or_else(|faults| panic!("{faults}"))
    }

    /// Writes topics and routes as a configuration says.
    pub(super) async fn apply(&self, more: &str) {
        let plan = assemble::plan(&self.config(more));
        SqlStore::new(self.base.database.clone())
            .apply(plan)
            .await
            .unwrap();
    }

    pub(super) fn destinations(&self, more: &str) -> Destinations {
        self.destinations_of(&self.config(more))
    }

    fn destinations_of(&self, config: &Config) -> Destinations {
        let clock: Arc<dyn Clock> = self.clock.clone();
        assemble::destinations(config, &clock).unwrap()
    }

    /// Starts a relay; several may run at once.
    pub(super) async fn relay(&self, more: &str) -> Running {
        self.relay_that_holds(self.config(more).relay.max_held, more)
            .await
    }

    /// Starts a relay with room for so many deliveries in memory.
    pub(super) async fn relay_that_holds(&self, max_held: u32, more: &str) -> Running {
        self.relay_with(more, |relay| relay.max_held = max_held).await
    }

    /// Starts a relay for destinations of the story's own making.
    pub(super) async fn relay_to(&self, destinations: Destinations) -> Running {
        self.relay_for(&self.config(SWIFT), destinations).await
    }

    /// Starts a relay that hears of rows in this way, and itself looks once an hour.
    pub(super) async fn sleeper(&self, wakeup: WakeupMode, more: &str) -> Running {
        self.relay_with(more, |limits| {
            limits.wakeup = wakeup;
            limits.poll_idle = Duration::from_hours(1);
            limits.poll_busy = Duration::from_hours(1);
        })
        .await
    }

    /// Starts a relay whose section of the configuration is changed.
    pub(super) async fn relay_with(&self, more: &str, change: impl FnOnce(&mut RelayConfig)) -> Running {
        let mut config = self.config(more);
        change(&mut config.relay);
        self.relay_of(&config).await
    }

    /// Starts a relay whose heart beats more slowly, and that may be silent for so long.
    pub(super) async fn relay_that_beats(&self, every: Duration, lease_ttl: Duration, more: &str) -> Running {
        let mut config = self.config(more);
        (config.relay.heartbeat, config.relay.lease_ttl) = (every, lease_ttl);
        self.relay_of(&config).await
    }

    async fn relay_of(&self, config: &Config) -> Running {
        self.relay_for(config, self.destinations_of(config)).await
    }

    async fn relay_for(&self, config: &Config, destinations: Destinations) -> Running {
        self.relay_that_traces(Traces::off(), config, destinations).await
    }

    /// Starts a relay whose spans go somewhere.
    pub(super) async fn relay_that_traces(
        &self,
        traces: Traces,
        config: &Config,
        destinations: Destinations,
    ) -> Running {
        let id = RelayId(Uuid::new_v4());
        let context = assemble::context(id, self.store.clone(), config, self.clock.clone())
            .await
            .unwrap();
        let context = Context { traces, ..context };
        Running {
            id,
            metrics: context.metrics.clone(),
            relay: Relay::start(context, destinations),
        }
    }

    /// A pipeline commits one version of a customer.
    pub(super) async fn customer(&self, row_key: &str, row_version: i64, payload: &str) {
        self.base
            .execute(&format!(
                "insert into aftercommit.outbox (topic, row_key, row_version, op, payload)
                 values ('customers', '{row_key}', {row_version}, 'upsert', '{payload}')"
            ))
            .await;
    }

    /// A pipeline commits so many orders, `order-1` first, each with the row key `key(number)`, in one transaction.
    pub(super) async fn orders(&self, count: i64, key: impl Fn(i64) -> String) {
        let rows: Vec<String> = (1..=count)
            .map(|number| {
                format!(
                    "('orders', '{}', {number}, 'event', '{{\"order\":{number}}}')",
                    key(number)
                )
            })
            .collect();
        let rows = rows.join(", ");
        self.base
            .execute(&format!(
                "insert into aftercommit.outbox (topic, row_key, row_version, op, payload) values {rows}"
            ))
            .await;
    }

    /// How many deliveries are in each state.
    pub(super) async fn states(&self) -> BTreeMap<String, i64> {
        let mut states = BTreeMap::new();
        for state in aftercommit::core::delivery::STATES {
            let count = format!("select count(*) from aftercommit.delivery where state = '{state}'");
            let count = self.base.number(&count).await;
            if count > 0 {
                states.insert(state.to_string(), count);
            }
        }
        states
    }

    /// Waits until deliveries are in these states and in no others.
    pub(super) async fn until(&self, wanted: &[(&str, i64)]) {
        let wanted: BTreeMap<String, i64> = wanted
            .iter()
            .map(|(state, count)| ((*state).to_owned(), *count))
            .collect();
        self.wait_for(&wanted, || self.states()).await;
    }

    /// Waits until a query brings this number.
    pub(super) async fn until_number(&self, sql: &str, wanted: i64) {
        self.wait_for(&wanted, || self.base.number(sql)).await;
    }

    /// Looks again whenever the store has done something, until it sees what is wanted or a minute is over.
    async fn wait_for<T, F>(&self, wanted: &T, look: impl Fn() -> F)
    where
        T: PartialEq + std::fmt::Debug,
        F: Future<Output = T>,
    {
        let mut changes = self.store.changes();
        let waiting = async {
            while look().await != *wanted {
                changes.changed().await.unwrap();
            }
        };
        if tokio::time::timeout(Duration::from_mins(1), waiting)
            .await
            .is_err()
        {
            panic!("waited a minute for {wanted:?}, and there is {:?}", look().await);
        }
    }

    /// The payloads that took effect, in their order.
    pub(super) fn effects(&self) -> Vec<String> {
        let effects = self.receiver.effects();
        effects
            .iter()
            .map(|one| String::from_utf8(one.body.clone().unwrap()).unwrap())
            .collect()
    }

    /// Ends the story: everything is quiet, and what must always hold does.
    pub(super) async fn finish(self, relays: impl IntoIterator<Item = Running>) {
        for running in relays {
            running.relay.shutdown(Duration::from_secs(10)).await.unwrap();
        }
        self.check().await;
        self.receiver.shutdown().await.unwrap();
    }

    /// What must hold at any time at which no relay is at work.
    pub(super) async fn check(&self) {
        let requests = i64::try_from(self.receiver.counts().requests).unwrap();
        let attempts = self.base.number("select count(*) from aftercommit.attempt").await;
        assert!(
            requests <= attempts,
            "{requests} requests, but only {attempts} attempts on record"
        );
        assert_eq!(
            self.base
                .number("select count(*) from aftercommit.dispatch")
                .await,
            0,
            "dispatches are left open"
        );
        let twice = "select count(*) from aftercommit.owed join aftercommit.settled
            on owed.outbox_id = settled.outbox_id and owed.destination = settled.destination";
        assert_eq!(
            self.base.number(twice).await,
            0,
            "a delivery stands in two places"
        );
        let mut bodies: HashMap<String, (String, Vec<u8>)> = HashMap::new();
        for request in self.receiver.requests() {
            let key = request.key.clone().expect("every request carries a key");
            let sent = (request.method.clone(), request.body.clone().unwrap());
            let first = bodies.entry(key).or_insert_with(|| sent.clone());
            assert_eq!(*first, sent, "one key, one method, one body");
        }
        let claimed =
            "select count(*) from aftercommit.settled where state = 'delivered' and reason = 'accepted'";
        let accepted = "select count(*) from (select distinct outbox_id, destination from aftercommit.attempt
            where outcome = 'accepted') as accepted";
        assert!(
            self.base.number(claimed).await <= self.base.number(accepted).await,
            "claimed without an acceptance"
        );
    }
}
