//! A queue that holds little, over a table that holds much: a million random steps against what the table says, and the
//! rules of what is left out as sentences.

use super::at;
use super::table::{Step, World};
use crate::core::queue::{Bounds, Ended, Item, LeftOff, Offered, OrderMode, Queue, Trace};
use crate::core::row::RowId;

const KEYS: u64 = 9;

fn random(chance: &mut fastrand::Rng) -> Step {
    let trace = if chance.bool() {
        Trace::Clean
    } else {
        Trace::Unknown
    };
    let pick = chance.usize(..);
    match chance.u8(0..24) {
        0..=4 => Step::Commit {
            key: chance.u64(0..KEYS).min(chance.u64(0..KEYS)),
            due_in: if chance.u8(0..5) == 0 {
                chance.i64(1..30)
            } else {
                0
            },
        },
        5..=7 => Step::Fetch,
        8..=9 => Step::Found,
        10 => Step::LeftOff,
        11..=12 => Step::Sweep,
        13 => Step::MakeRoom(chance.usize(0..20)),
        14..=16 => Step::Take(chance.usize(0..4)),
        17..=18 => Step::Retry {
            pick,
            after: chance.i64(0..20),
            trace,
        },
        19..=21 => Step::End {
            pick,
            ended: [
                Ended::Delivered,
                Ended::Delivered,
                Ended::Otherwise,
                Ended::Uncertain,
            ][chance.usize(0..4)],
        },
        22 => Step::Cancel { pick },
        _ => Step::PersonDecides,
    }
}

#[test]
fn a_million_steps_with_little_memory_keep_the_order_and_lose_nothing() {
    let orders = [OrderMode::Latest, OrderMode::Ordered, OrderMode::Independent];
    for (seed, order) in (1..=30).zip(orders.into_iter().cycle()) {
        let mut chance = fastrand::Rng::with_seed(seed);
        let mut world = World::new(order, seed);
        for step in 0..33_400 {
            world.step(random(&mut chance));
            if step % 3_340 == 3_339 {
                world.drain();
            }
        }
    }
}

#[test]
fn a_row_key_goes_on_where_it_left_off() {
    let mut queue = Queue::new(
        Bounds {
            held: 10,
            per_row_key: 2,
        },
        7,
    );
    let offered: Vec<Offered> = (1..=4)
        .map(|id| queue.offer(super::item(id, "a", OrderMode::Ordered)))
        .collect();
    assert_eq!(
        offered,
        [Offered::Held, Offered::Held, Offered::LeftOut, Offered::LeftOut]
    );
    assert_eq!(queue.floor(), Some(3));
    for id in 1..=2 {
        assert!(queue.next_left_off().is_none(), "there is some of it");
        assert_eq!(super::sent(&mut queue, 0), [id]);
        queue.end(id, Ended::Delivered);
    }
    let row = RowId::new("t", "a");
    assert_eq!(queue.next_left_off(), Some(LeftOff { row, from: 3 }));
}

#[test]
fn what_is_due_last_makes_way_and_nothing_of_its_row_key_goes_past_it() {
    let mut queue = Queue::new(Bounds::of(8), 7);
    for (id, due) in [(1, 5), (2, 9), (3, 7)] {
        let item = super::item(id, &id.to_string(), OrderMode::Ordered);
        queue.offer(Item { due: at(due), ..item });
    }
    for id in 4..=8 {
        queue.offer(super::item(id, &id.to_string(), OrderMode::Ordered));
    }
    queue.make_room(1);
    assert!(!queue.knows(2) && queue.len() == 7);
    let newer = Item {
        behind: Some(2),
        ..super::item(9, "2", OrderMode::Ordered)
    };
    assert_eq!(queue.offer(newer), Offered::LeftOut);
}

#[test]
fn a_delivery_that_only_waits_takes_few_bytes() {
    use crate::core::queue::{Entry, lane::Lane};
    assert!(
        size_of::<(i64, Entry<[u8; 4_096]>)>() <= 48,
        "{}",
        size_of::<Entry<[u8; 4_096]>>()
    );
    assert!(size_of::<Lane>() <= 160, "{}", size_of::<Lane>());
}
