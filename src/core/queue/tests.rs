//! The queue against a model that works everything out anew at each step, and the rules of order as sentences.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::{Ended, Item, OrderMode, Queue, Trace};
use crate::core::row::RowId;
use crate::core::time::Timestamp;

fn item(id: i64, key: &str, order: OrderMode) -> Item<i64> {
    Item {
        outbox_id: id,
        row: RowId::new("t", key),
        order,
        due: Timestamp::from_micros(0),
        trace: Trace::Clean,
        content: Some(id),
    }
}

fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

fn sent(queue: &mut Queue<i64>, now: i64) -> Vec<i64> {
    queue
        .take(at(now), usize::MAX)
        .send
        .into_iter()
        .map(|(id, _)| id)
        .collect()
}

#[test]
fn a_newer_version_supersedes_an_older_one_that_is_owed() {
    let mut queue = Queue::new(10);
    queue.offer(item(1, "a", OrderMode::Latest));
    queue.offer(item(2, "a", OrderMode::Latest));
    let taken = queue.take(at(0), 10);
    assert_eq!(taken.superseded, [1]);
    assert_eq!(taken.send, [(2, Some(2))]);
}

#[test]
fn a_newer_version_waits_for_an_older_one_whose_outcome_is_unknown() {
    let mut queue = Queue::new(10);
    queue.offer(item(1, "a", OrderMode::Latest));
    assert_eq!(sent(&mut queue, 0), [1]);
    queue.offer(item(2, "a", OrderMode::Latest));
    assert!(sent(&mut queue, 0).is_empty(), "one is in flight");
    queue.retry(1, at(50), Trace::Unknown);
    assert!(sent(&mut queue, 49).is_empty(), "the unknown one is not due");
    assert_eq!(sent(&mut queue, 50), [1]);
    queue.end(1, Ended::Delivered);
    assert_eq!(sent(&mut queue, 50), [2]);
}

#[test]
fn a_newer_version_takes_the_place_of_one_that_was_refused_and_waits() {
    let mut queue = Queue::new(10);
    queue.offer(item(1, "a", OrderMode::Latest));
    assert_eq!(sent(&mut queue, 0), [1]);
    queue.retry(1, at(500), Trace::Clean);
    queue.offer(item(2, "a", OrderMode::Latest));
    let taken = queue.take(at(0), 10);
    assert_eq!((taken.superseded, taken.send), (vec![1], vec![(2, Some(2))]));
}

#[test]
fn an_uncertain_version_gives_way_and_is_superseded_once_a_newer_one_is_delivered() {
    let mut queue = Queue::new(10);
    queue.offer(item(1, "a", OrderMode::Latest));
    sent(&mut queue, 0);
    queue.end(1, Ended::Uncertain);
    queue.offer(item(2, "a", OrderMode::Latest));
    assert_eq!(sent(&mut queue, 0), [2]);
    assert_eq!(queue.end(2, Ended::Delivered), [1]);
}

#[test]
fn an_uncertain_event_holds_its_row_key_until_a_person_decides() {
    let mut queue = Queue::new(10);
    queue.offer(item(1, "a", OrderMode::Ordered));
    sent(&mut queue, 0);
    queue.end(1, Ended::Uncertain);
    queue.offer(item(2, "a", OrderMode::Ordered));
    queue.offer(item(3, "b", OrderMode::Ordered));
    assert_eq!(sent(&mut queue, 0), [3]);
    queue.set_uncertain([]);
    assert_eq!(sent(&mut queue, 0), [2]);
}

#[test]
fn a_waiting_retry_holds_its_row_key_and_a_dead_event_releases_it() {
    let mut queue = Queue::new(10);
    queue.offer(item(1, "a", OrderMode::Ordered));
    queue.offer(item(2, "a", OrderMode::Ordered));
    assert_eq!(sent(&mut queue, 0), [1]);
    queue.retry(1, at(100), Trace::Clean);
    assert!(sent(&mut queue, 99).is_empty());
    assert_eq!(sent(&mut queue, 100), [1]);
    queue.end(1, Ended::Otherwise);
    assert_eq!(sent(&mut queue, 100), [2]);
}

#[test]
fn independent_deliveries_of_one_row_key_go_together() {
    let mut queue = Queue::new(10);
    queue.offer(item(1, "a", OrderMode::Independent));
    queue.offer(item(2, "a", OrderMode::Independent));
    assert_eq!(sent(&mut queue, 0), [1, 2]);
}

#[test]
fn an_offer_of_what_is_held_changes_nothing() {
    let mut queue = Queue::new(10);
    queue.offer(item(1, "a", OrderMode::Ordered));
    assert_eq!(sent(&mut queue, 0), [1]);
    queue.offer(item(1, "a", OrderMode::Ordered));
    assert!(sent(&mut queue, 0).is_empty());
}

/// What the model knows of one delivery.
#[derive(Debug, Clone)]
struct Modelled {
    key: u8,
    due: i64,
    trace: Trace,
    in_flight: bool,
}

/// The rules, worked out from scratch over everything that is held.
#[derive(Default)]
struct Model {
    held: BTreeMap<i64, Modelled>,
    uncertain: BTreeSet<(u8, i64)>,
}

impl Model {
    fn supersede(&mut self) -> BTreeSet<i64> {
        let gone: BTreeSet<i64> = (self.held.iter())
            .filter(|(id, one)| {
                let newer = self
                    .held
                    .iter()
                    .any(|(other, two)| two.key == one.key && other > *id);
                newer && one.trace == Trace::Clean && !one.in_flight
            })
            .map(|(id, _)| *id)
            .collect();
        self.held.retain(|id, _| !gone.contains(id));
        gone
    }

    fn sendable(&self, order: OrderMode, now: i64) -> BTreeSet<i64> {
        let may_go = |id: i64, one: &Modelled| {
            let siblings = || {
                self.held
                    .iter()
                    .filter(|(other, two)| two.key == one.key && **other != id)
            };
            let first = siblings().all(|(other, two)| *other > id && !two.in_flight);
            match order {
                OrderMode::Independent => true,
                OrderMode::Latest => first,
                OrderMode::Ordered => {
                    first
                        && !self
                            .uncertain
                            .iter()
                            .any(|(key, held)| *key == one.key && *held < id)
                }
            }
        };
        (self.held.iter())
            .filter(|(id, one)| !one.in_flight && one.due <= now && may_go(**id, one))
            .map(|(id, _)| *id)
            .collect()
    }
}

#[derive(Debug, Clone)]
enum Step {
    Offer { key: u8, due_in: i64, trace: bool },
    Take { most: usize, wait: i64 },
    Retry { pick: usize, after: i64, unknown: bool },
    End { pick: usize, how: u8 },
    PersonDecides,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..5_u8, 0..3_i64, prop::bool::weighted(0.1))
            .prop_map(|(key, due_in, trace)| Step::Offer { key, due_in, trace }),
        4 => (0..6_usize, 0..3_i64).prop_map(|(most, wait)| Step::Take { most, wait }),
        2 => (any::<usize>(), 0..4_i64, any::<bool>())
            .prop_map(|(pick, after, unknown)| Step::Retry { pick, after, unknown }),
        3 => (any::<usize>(), 0..3_u8).prop_map(|(pick, how)| Step::End { pick, how }),
        1 => Just(Step::PersonDecides),
    ]
}

fn run(order: OrderMode, steps: Vec<Step>) {
    let mut queue = Queue::new(usize::MAX);
    let mut model = Model::default();
    let mut superseded = BTreeSet::new();
    let (mut now, mut next_id) = (0, 1);
    for step in steps {
        let in_flight: Vec<i64> = model
            .held
            .iter()
            .filter(|(_, one)| one.in_flight)
            .map(|(id, _)| *id)
            .collect();
        match step {
            Step::Offer { key, due_in, trace } => {
                let trace = if trace { Trace::Unknown } else { Trace::Clean };
                let offered = Item {
                    due: at(now + due_in),
                    trace,
                    ..item(next_id, &key.to_string(), order)
                };
                queue.offer(offered);
                model.held.insert(
                    next_id,
                    Modelled {
                        key,
                        due: now + due_in,
                        trace,
                        in_flight: false,
                    },
                );
                next_id += 1;
            }
            Step::Take { most, wait } => {
                now += wait;
                let expected: Vec<i64> = model.sendable(order, now).into_iter().collect();
                let taken = queue.take(at(now), most);
                let got: Vec<i64> = taken.send.into_iter().map(|(id, _)| id).collect();
                assert_eq!(got, expected[..most.min(expected.len())]);
                assert_eq!(
                    taken.superseded.iter().copied().collect::<BTreeSet<_>>(),
                    superseded
                );
                assert_eq!(
                    taken.superseded.len(),
                    superseded.len(),
                    "nothing is superseded twice"
                );
                for id in &taken.superseded {
                    queue.end(*id, Ended::Otherwise);
                }
                superseded.clear();
                for id in got {
                    model.held.get_mut(&id).unwrap().in_flight = true;
                }
            }
            Step::Retry { pick, after, unknown } if !in_flight.is_empty() => {
                let id = in_flight[pick % in_flight.len()];
                let trace = if unknown { Trace::Unknown } else { Trace::Clean };
                queue.retry(id, at(now + after), trace);
                let key = model.held[&id].key;
                model.held.insert(
                    id,
                    Modelled {
                        key,
                        due: now + after,
                        trace,
                        in_flight: false,
                    },
                );
            }
            Step::End { pick, how } if !in_flight.is_empty() => {
                let id = in_flight[pick % in_flight.len()];
                let key = model.held.remove(&id).unwrap().key;
                let ended = [Ended::Delivered, Ended::Uncertain, Ended::Otherwise][usize::from(how)];
                let overtaken = queue.end(id, ended);
                let expected: Vec<i64> = match (order, ended) {
                    (OrderMode::Latest, Ended::Delivered) => model
                        .uncertain
                        .range((key, i64::MIN)..(key, id))
                        .map(|(_, held)| *held)
                        .collect(),
                    _ => Vec::new(),
                };
                assert_eq!(overtaken, expected);
                if ended == Ended::Uncertain && order != OrderMode::Independent {
                    model.uncertain.insert((key, id));
                }
            }
            Step::PersonDecides => {
                model.uncertain.pop_first();
                queue.set_uncertain(
                    model
                        .uncertain
                        .iter()
                        .map(|(key, id)| (*id, RowId::new("t", &key.to_string()))),
                );
            }
            Step::Retry { .. } | Step::End { .. } => {}
        }
        if order == OrderMode::Latest {
            superseded.extend(model.supersede());
        }
    }
    assert_eq!(
        queue.len(),
        model.held.len() + superseded.len(),
        "nothing is forgotten"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_queue_agrees_with_a_model_that_works_everything_out_anew(
        order in prop_oneof![Just(OrderMode::Latest), Just(OrderMode::Ordered), Just(OrderMode::Independent)],
        steps in prop::collection::vec(step(), 1..300),
    ) {
        run(order, steps);
    }
}
