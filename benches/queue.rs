//! What the queue costs: nanoseconds a delivery to offer, take and end a thousand at a time, as a dispatcher does.
//!
//! `cargo bench --bench queue`

use aftercommit::clock::{Clock as _, SystemClock};
use aftercommit::core::queue::{Bounds, Ended, Item, Mark, OrderMode, Queue, Trace};
use aftercommit::core::row::RowId;
use aftercommit::core::time::Timestamp;

const BATCH: usize = 1_000;
const ROUNDS: usize = 500;

fn main() {
    for order in [OrderMode::Ordered, OrderMode::Latest, OrderMode::Independent] {
        let distinct = measure(order, usize::MAX);
        let shared = measure(order, BATCH / 4);
        println!(
            "{order:?}: {distinct} ns a delivery of distinct row keys, {shared} ns where four share one"
        );
    }
}

/// Nanoseconds a delivery, the best of all rounds: what disturbs the machine only adds to it.
fn measure(order: OrderMode, keys: usize) -> u128 {
    let mut queue: Queue<[u8; 200]> = Queue::new(Bounds::of(100_000), 7);
    let now = Timestamp::from_micros(1);
    let clock = SystemClock::start();
    let mut best = u128::MAX;
    for round in 0..ROUNDS {
        let items: Vec<_> = (0..BATCH)
            .map(|number| item(round * BATCH + number, keys, order))
            .collect();
        let started = clock.monotonic();
        for item in items {
            queue.offer(item);
        }
        while !queue.is_empty() {
            let taken = queue.take(now, BATCH);
            for (outbox_id, _) in taken.superseded {
                queue.end(outbox_id, Ended::Otherwise);
            }
            for (outbox_id, _) in taken.send {
                queue.end(outbox_id, Ended::Delivered);
            }
        }
        best = best.min(clock.monotonic().saturating_sub(started).as_nanos() / BATCH as u128);
    }
    best
}

fn item(number: usize, keys: usize, order: OrderMode) -> Item<[u8; 200]> {
    Item {
        outbox_id: i64::try_from(number).unwrap_or(i64::MAX),
        row: RowId::new("orders", &format!("order-{}", number % keys)),
        order,
        due: Timestamp::from_micros(0),
        trace: Trace::Clean,
        mark: Mark {
            attempts: 0,
            key_epoch: 0,
        },
        behind: None,
        content: Some([0; 200]),
    }
}
