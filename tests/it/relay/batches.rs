//! Requests of several deliveries, with a destination that takes a hundred at once.

use std::sync::Arc;
use std::time::Duration;

use aftercommit::core::outcome::{Outcome, Refusal, Report};
use aftercommit::destination::preview::Preview;
use aftercommit::destination::{Destination, Outgoing, Rendering, UnknownRendering};
use aftercommit::relay::{Active, Batch, Destinations};
use tokio::sync::watch;

use super::world::{Backend, SWIFT, World, on_both};

/// Takes everything, but for its first requests if so asked, and says how many deliveries each request had.
#[derive(Clone)]
struct Hundred {
    requests: watch::Sender<Vec<usize>>,
    /// So many are answered as by a receiver in trouble.
    refused: usize,
}

impl Hundred {
    fn new() -> Self {
        Self {
            requests: watch::channel(vec![]).0,
            refused: 0,
        }
    }

    fn in_trouble_for(requests: usize) -> Self {
        Self {
            refused: requests,
            ..Self::new()
        }
    }

    fn requests(&self) -> Vec<usize> {
        self.requests.borrow().clone()
    }

    /// The destination `hook` of the world, with this in place of the webhook.
    fn in_place_of_hook(&self, world: &World, batch: Batch) -> Destinations {
        self.in_place_of(world, batch, SWIFT)
    }

    /// The same, and `more` is configured besides.
    fn in_place_of(&self, world: &World, batch: Batch, more: &str) -> Destinations {
        let mut destinations = world.destinations(more);
        let hook = destinations.get_mut("hook").unwrap();
        *hook = Arc::new(Active {
            destination: Arc::new(self.clone()),
            batch,
            ..Active::clone(hook)
        });
        destinations
    }
}

#[async_trait::async_trait]
impl Destination for Hundred {
    fn batch_limit(&self) -> usize {
        100
    }

    fn rendering(&self) -> Rendering {
        Rendering("\"hundred\"".to_owned())
    }

    fn under(&self, _: &Rendering) -> Result<Box<dyn Destination>, UnknownRendering> {
        Ok(Box::new(self.clone()))
    }

    fn preview(&self, _: &[Outgoing]) -> Preview {
        Preview::default()
    }

    async fn deliver(&self, batch: &[Outgoing]) -> Vec<Report> {
        self.requests.send_modify(|requests| requests.push(batch.len()));
        let outcome = if self.requests.borrow().len() > self.refused {
            Outcome::Accepted
        } else {
            Outcome::Refused(Refusal::Retryable)
        };
        let report = Report {
            outcome,
            ..Report::unknown("")
        };
        vec![report; batch.len()]
    }
}

on_both! {
    async fn a_request_holds_as_many_as_the_batch_size_says(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        world.orders(250, |number| format!("order-{number}")).await;
        let hundred = Hundred::new();
        let batch = Batch { size: 40, wait: Duration::from_hours(1) };
        let relay = world.relay_to(hundred.in_place_of_hook(&world, batch)).await;
        world.until(&[("delivered", 240), ("pending", 10)]).await;
        assert_eq!(hundred.requests(), [40; 6], "the others wait until their request is full");
        world.orders(280, |number| format!("order-{number}")).await;
        world.until(&[("delivered", 280)]).await;
        assert_eq!(hundred.requests(), [40; 7]);
        world.finish([relay]).await;
    }

    async fn the_destination_bounds_the_batch_and_who_has_waited_goes_in_a_smaller_one(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        world.orders(130, |number| format!("order-{number}")).await;
        let hundred = Hundred::new();
        let batch = Batch { size: 1_000, wait: Duration::from_millis(200) };
        let relay = world.relay_to(hundred.in_place_of_hook(&world, batch)).await;
        world.until(&[("delivered", 130)]).await;
        let requests = hundred.requests();
        assert_eq!((requests.iter().sum::<usize>(), requests.len()), (130, 2), "{requests:?}");
        world.finish([relay]).await;
    }

    async fn without_a_wait_nothing_waits(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        let hundred = Hundred::new();
        let batch = Batch { size: 100, wait: Duration::ZERO };
        let relay = world.relay_to(hundred.in_place_of_hook(&world, batch)).await;
        world.orders(1, |_| "o-1".into()).await;
        world.until(&[("delivered", 1)]).await;
        assert_eq!(hundred.requests(), [1]);
        world.finish([relay]).await;
    }
    async fn what_failed_in_one_request_shares_the_next_one(backend: Backend) {
        let wide = "[destinations.hook.retry]\nfirst = \"200ms\"\nmax_delay = \"200ms\"\n";
        let world = World::with(backend, wide).await;
        world.orders(100, |number| format!("order-{number}")).await;
        let hundred = Hundred::in_trouble_for(3);
        let batch = Batch { size: 100, wait: Duration::ZERO };
        let relay = world.relay_to(hundred.in_place_of(&world, batch, wide)).await;
        world.until(&[("delivered", 100)]).await;
        assert_eq!(hundred.requests(), [100; 4]);
        world.finish([relay]).await;
    }
}
