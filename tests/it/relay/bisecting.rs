//! Requests of several deliveries that are refused as a whole, or answered for a part only.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use aftercommit::core::outcome::{Outcome, Refusal, Report};
use aftercommit::destination::preview::Preview;
use aftercommit::destination::{Destination, Outgoing, Rendering, UnknownRendering};
use aftercommit::relay::{Active, Batch, Destinations};
use tokio::sync::watch;

use super::world::{Backend, SWIFT, World, on_both};

/// Takes a hundred rows at once, but for those whose keys it stumbles over.
#[derive(Clone)]
struct Fussy {
    /// One of these, and the whole request is refused.
    refused: Arc<BTreeSet<String>>,
    /// Among others these are passed over in silence.
    omitted: Arc<BTreeSet<String>>,
    /// How long a request that is not full waits for others.
    wait: Duration,
    /// The row keys of each request.
    requests: watch::Sender<Vec<Vec<String>>>,
}

impl Fussy {
    fn new(refused: &[&str], omitted: &[&str]) -> Self {
        let set = |keys: &[&str]| Arc::new(keys.iter().map(|key| (*key).to_owned()).collect());
        Self {
            refused: set(refused),
            omitted: set(omitted),
            wait: Duration::from_millis(50),
            requests: watch::channel(vec![]).0,
        }
    }

    fn requests(&self) -> Vec<Vec<String>> {
        self.requests.borrow().clone()
    }

    /// The destination `hook` of the world, with this in place of the webhook.
    fn in_place_of_hook(&self, world: &World, more: &str) -> Destinations {
        let mut destinations = world.destinations(more);
        let hook = destinations.get_mut("hook").unwrap();
        *hook = Arc::new(Active {
            destination: Arc::new(self.clone()),
            batch: Batch {
                size: 100,
                wait: self.wait,
            },
            ..Active::clone(hook)
        });
        destinations
    }
}

#[async_trait::async_trait]
impl Destination for Fussy {
    fn batch_limit(&self) -> usize {
        100
    }

    fn rendering(&self) -> Rendering {
        Rendering("\"fussy\"".to_owned())
    }

    fn under(&self, _: &Rendering) -> Result<Box<dyn Destination>, UnknownRendering> {
        Ok(Box::new(self.clone()))
    }

    fn preview(&self, _: &[Outgoing]) -> Preview {
        Preview::default()
    }

    async fn deliver(&self, batch: &[Outgoing]) -> Vec<Report> {
        let keys: Vec<String> = batch.iter().map(|one| one.row.row.row_key.to_string()).collect();
        self.requests.send_modify(|requests| requests.push(keys.clone()));
        let refused = keys.iter().any(|key| self.refused.contains(key));
        let outcome = |key: &String| match (refused, batch.len()) {
            (true, _) => Outcome::Refused(Refusal::Together),
            (false, 2..) if self.omitted.contains(key) => Outcome::Refused(Refusal::Alone),
            (false, _) => Outcome::Accepted,
        };
        let report = |outcome| Report {
            outcome,
            ..Report::unknown("")
        };
        keys.iter().map(outcome).map(report).collect()
    }
}

const ATTEMPTS: &str = "select count(*) from aftercommit.attempt";
const COUNTED: &str = "select coalesce(max(attempts - excused), 0) from aftercommit.owed";

on_both! {
    async fn of_a_hundred_rows_with_a_bad_one_the_others_arrive_in_fifteen_requests(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        world.orders(100, |number| format!("order-{number}")).await;
        let fussy = Fussy::new(&["order-37"], &[]);
        let relay = world.relay_to(fussy.in_place_of_hook(&world, SWIFT)).await;
        world.until(&[("delivered", 99), ("dead", 1)]).await;
        let requests = fussy.requests();
        assert!(requests.len() <= 15, "{} requests: {requests:?}", requests.len());
        let sent: usize = requests.iter().map(Vec::len).sum();
        assert_eq!(world.base.number(ATTEMPTS).await, i64::try_from(sent).unwrap(), "each is on record");
        world.finish([relay]).await;
    }

    async fn several_bad_rows_are_found_one_by_one_and_cost_their_mates_no_attempt(backend: Backend) {
        let few = "[destinations.hook.retry]\nfirst = \"1ms\"\nmax_delay = \"5ms\"\nmax_attempts = 1\n";
        let world = World::with(backend, few).await;
        world.orders(100, |number| format!("order-{number}")).await;
        let fussy = Fussy::new(&["order-1", "order-50", "order-51", "order-100"], &[]);
        let relay = world.relay_to(fussy.in_place_of_hook(&world, few)).await;
        world.until(&[("delivered", 96), ("dead", 4)]).await;
        assert_eq!(world.base.number(COUNTED).await, 0);
        let requests = fussy.requests();
        assert!(requests.len() <= 4 * 15, "{} requests", requests.len());
        world.finish([relay]).await;
    }

    async fn what_was_divided_waits_for_nobody(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        world.orders(100, |number| format!("order-{number}")).await;
        let fussy = Fussy { wait: Duration::from_hours(1), ..Fussy::new(&["order-37"], &["order-90"]) };
        let relay = world.relay_to(fussy.in_place_of_hook(&world, SWIFT)).await;
        world.until(&[("delivered", 99), ("dead", 1)]).await;
        world.finish([relay]).await;
    }

    async fn a_row_that_the_answer_leaves_out_is_sent_again_alone(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        world.orders(20, |number| format!("order-{number}")).await;
        let fussy = Fussy::new(&[], &["order-3", "order-4"]);
        let relay = world.relay_to(fussy.in_place_of_hook(&world, SWIFT)).await;
        world.until(&[("delivered", 20)]).await;
        let mut alone = fussy.requests();
        assert_eq!(alone.remove(0).len(), 20);
        alone.sort_unstable();
        assert_eq!(alone, [["order-3"], ["order-4"]]);
        world.finish([relay]).await;
    }

    async fn two_versions_of_one_row_never_share_a_request_even_where_nothing_orders_them(backend: Backend) {
        let unordered = "order = \"independent\"\n".to_owned() + SWIFT;
        let world = World::with(backend, &unordered).await;
        world.orders(40, |number| format!("order-{}", number % 4)).await;
        let fussy = Fussy::new(&[], &[]);
        let relay = world.relay_to(fussy.in_place_of_hook(&world, &unordered)).await;
        world.until(&[("delivered", 40)]).await;
        let requests = fussy.requests();
        for request in &requests {
            let distinct: BTreeSet<_> = request.iter().collect();
            assert_eq!(distinct.len(), request.len(), "{request:?}");
        }
        assert_eq!(requests.len(), 10, "{requests:?}");
        world.finish([relay]).await;
    }
}
