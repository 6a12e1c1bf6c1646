//! The queue against a model that works everything out anew at each step, and the rules of order as sentences.

mod bounded;
mod chosen;
mod hurried;
mod table;

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::{Bounds, Ended, Item, Mark, OrderMode, Queue, Taken, Trace};
use crate::core::row::RowId;
use crate::core::time::Timestamp;

const MARK: Mark = Mark {
    attempts: 0,
    key_epoch: 0,
};

fn item(id: i64, key: &str, order: OrderMode) -> Item<i64> {
    Item {
        outbox_id: id,
        row: RowId::new("t", key),
        order,
        due: Timestamp::from_micros(0),
        trace: Trace::Clean,
        mark: MARK,
        behind: None,
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

fn overtaken(taken: &Taken<i64>) -> Vec<i64> {
    taken.superseded.iter().map(|(id, _)| *id).collect()
}

#[test]
fn a_newer_version_supersedes_an_older_one_that_is_owed() {
    let mut queue = Queue::new(Bounds::of(10), 7);
    queue.offer(item(1, "a", OrderMode::Latest));
    queue.offer(item(2, "a", OrderMode::Latest));
    let taken = queue.take(at(0), 10);
    assert_eq!(overtaken(&taken), [1]);
    assert_eq!(taken.send, [(2, Some(2))]);
}

#[test]
fn a_newer_version_waits_for_an_older_one_whose_outcome_is_unknown() {
    let mut queue = Queue::new(Bounds::of(10), 7);
    queue.offer(item(1, "a", OrderMode::Latest));
    assert_eq!(sent(&mut queue, 0), [1]);
    queue.offer(item(2, "a", OrderMode::Latest));
    assert!(sent(&mut queue, 0).is_empty(), "one is in flight");
    queue.retry(1, at(50), Trace::Unknown, MARK);
    assert!(sent(&mut queue, 49).is_empty(), "the unknown one is not due");
    assert_eq!(sent(&mut queue, 50), [1]);
    queue.end(1, Ended::Delivered);
    assert_eq!(sent(&mut queue, 50), [2]);
}

#[test]
fn a_newer_version_takes_the_place_of_one_that_was_refused_and_waits() {
    let mut queue = Queue::new(Bounds::of(10), 7);
    queue.offer(item(1, "a", OrderMode::Latest));
    assert_eq!(sent(&mut queue, 0), [1]);
    queue.retry(1, at(500), Trace::Clean, MARK);
    queue.offer(item(2, "a", OrderMode::Latest));
    let taken = queue.take(at(0), 10);
    assert_eq!((overtaken(&taken), taken.send), (vec![1], vec![(2, Some(2))]));
}

#[test]
fn an_uncertain_version_gives_way_and_is_superseded_once_a_newer_one_is_delivered() {
    let mut queue = Queue::new(Bounds::of(10), 7);
    queue.offer(item(1, "a", OrderMode::Latest));
    sent(&mut queue, 0);
    queue.end(1, Ended::Uncertain);
    queue.offer(item(2, "a", OrderMode::Latest));
    assert_eq!(sent(&mut queue, 0), [2]);
    assert_eq!(queue.end(2, Ended::Delivered), [1]);
}

#[test]
fn an_uncertain_event_holds_its_row_key_until_a_person_decides() {
    let mut queue = Queue::new(Bounds::of(10), 7);
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
fn a_row_key_that_never_drains_follows_the_order_it_is_offered_under() {
    let mut queue = Queue::new(Bounds::of(10), 7);
    queue.offer(item(1, "a", OrderMode::Latest));
    assert_eq!(sent(&mut queue, 0), [1]);
    queue.offer(item(2, "a", OrderMode::Ordered));
    queue.offer(item(3, "a", OrderMode::Ordered));
    queue.end(1, Ended::Delivered);
    let taken = queue.take(at(0), 10);
    assert_eq!((overtaken(&taken), taken.send), (vec![], vec![(2, Some(2))]));
}

#[test]
fn a_waiting_retry_holds_its_row_key_and_a_dead_event_releases_it() {
    let mut queue = Queue::new(Bounds::of(10), 7);
    queue.offer(item(1, "a", OrderMode::Ordered));
    queue.offer(item(2, "a", OrderMode::Ordered));
    assert_eq!(sent(&mut queue, 0), [1]);
    queue.retry(1, at(100), Trace::Clean, MARK);
    assert!(sent(&mut queue, 99).is_empty());
    assert_eq!(sent(&mut queue, 100), [1]);
    queue.end(1, Ended::Otherwise);
    assert_eq!(sent(&mut queue, 100), [2]);
}

#[test]
fn independent_deliveries_of_one_row_key_go_together() {
    let mut queue = Queue::new(Bounds::of(10), 7);
    queue.offer(item(1, "a", OrderMode::Independent));
    queue.offer(item(2, "a", OrderMode::Independent));
    assert_eq!(sent(&mut queue, 0), [1, 2]);
}

#[test]
fn an_offer_of_what_is_held_changes_nothing() {
    let mut queue = Queue::new(Bounds::of(10), 7);
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
    Withdraw { pick: usize },
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
        1 => any::<usize>().prop_map(|pick| Step::Withdraw { pick }),
        1 => Just(Step::PersonDecides),
    ]
}

/// The queue and the model, taking the same steps.
struct Pair {
    order: OrderMode,
    queue: Queue<i64>,
    model: Model,
    /// What the model superseded and the queue has not handed out yet.
    superseded: BTreeSet<i64>,
    now: i64,
    next_id: i64,
}

impl Pair {
    fn step(&mut self, step: &Step) {
        match *step {
            Step::Offer { key, due_in, trace } => self.offer(key, due_in, trace),
            Step::Take { most, wait } => self.take(most, wait),
            Step::Retry { pick, after, unknown } => self.retry(pick, after, unknown),
            Step::End { pick, how } => self.end(pick, how),
            Step::Withdraw { pick } => self.withdraw(pick),
            Step::PersonDecides => {
                self.model.uncertain.pop_first();
                let left = self
                    .model
                    .uncertain
                    .iter()
                    .map(|(key, id)| (*id, RowId::new("t", &key.to_string())));
                self.queue.set_uncertain(left);
            }
        }
        if self.order == OrderMode::Latest {
            self.superseded.extend(self.model.supersede());
        }
    }

    fn pick(&self, pick: usize, in_flight: bool) -> Option<i64> {
        let held = || {
            self.model
                .held
                .iter()
                .filter(|(_, one)| one.in_flight == in_flight)
                .map(|(id, _)| *id)
        };
        held().nth(pick.checked_rem(held().count())?)
    }

    fn offer(&mut self, key: u8, due_in: i64, unknown: bool) {
        let trace = if unknown { Trace::Unknown } else { Trace::Clean };
        let due = self.now + due_in;
        self.queue.offer(Item {
            due: at(due),
            trace,
            ..item(self.next_id, &key.to_string(), self.order)
        });
        self.model.held.insert(
            self.next_id,
            Modelled {
                key,
                due,
                trace,
                in_flight: false,
            },
        );
        self.next_id += 1;
    }

    fn take(&mut self, most: usize, wait: i64) {
        self.now += wait;
        let expected: Vec<i64> = self.model.sendable(self.order, self.now).into_iter().collect();
        let taken = self.queue.take(at(self.now), most);
        let gone = overtaken(&taken);
        let got: Vec<i64> = taken.send.into_iter().map(|(id, _)| id).collect();
        assert_eq!(got, expected[..most.min(expected.len())]);
        assert_eq!(gone.iter().copied().collect::<BTreeSet<_>>(), self.superseded);
        assert_eq!(gone.len(), self.superseded.len(), "nothing is superseded twice");
        for id in gone {
            self.queue.end(id, Ended::Otherwise);
        }
        self.superseded.clear();
        for id in got {
            self.model.held.get_mut(&id).unwrap().in_flight = true;
        }
    }

    fn retry(&mut self, pick: usize, after: i64, unknown: bool) {
        let Some(id) = self.pick(pick, true) else { return };
        let trace = if unknown { Trace::Unknown } else { Trace::Clean };
        self.queue.retry(id, at(self.now + after), trace, MARK);
        let key = self.model.held[&id].key;
        self.model.held.insert(
            id,
            Modelled {
                key,
                due: self.now + after,
                trace,
                in_flight: false,
            },
        );
    }

    fn end(&mut self, pick: usize, how: u8) {
        let Some(id) = self.pick(pick, true) else { return };
        let key = self.model.held.remove(&id).unwrap().key;
        let ended = [Ended::Delivered, Ended::Uncertain, Ended::Otherwise][usize::from(how)];
        let expected: Vec<i64> = match (self.order, ended) {
            (OrderMode::Latest, Ended::Delivered) => self
                .model
                .uncertain
                .range((key, i64::MIN)..(key, id))
                .map(|(_, held)| *held)
                .collect(),
            _ => Vec::new(),
        };
        assert_eq!(self.queue.end(id, ended), expected);
        if ended == Ended::Uncertain && self.order != OrderMode::Independent {
            self.model.uncertain.insert((key, id));
        }
    }

    fn withdraw(&mut self, pick: usize) {
        let Some(id) = self.pick(pick, false) else { return };
        self.model.held.remove(&id);
        assert!(self.queue.withdraw(id).is_some());
        self.queue.end(id, Ended::Otherwise);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_queue_agrees_with_a_model_that_works_everything_out_anew(
        order in prop_oneof![Just(OrderMode::Latest), Just(OrderMode::Ordered), Just(OrderMode::Independent)],
        steps in prop::collection::vec(step(), 1..300),
    ) {
        let queue = Queue::new(Bounds { held: usize::MAX, per_row_key: usize::MAX }, 7);
        let (model, superseded) = (Model::default(), BTreeSet::new());
        let mut pair = Pair { order, queue, model, superseded, now: 0, next_id: 1 };
        for step in &steps {
            pair.step(step);
        }
        assert_eq!(pair.queue.len(), pair.model.held.len() + pair.superseded.len(), "nothing is forgotten");
    }
}

#[test]
fn one_is_taken_each_in_its_turn() {
    let mut queue = Queue::new(Bounds::of(10), 7);
    for (id, key) in [(1, "a"), (2, "b"), (3, "c")] {
        queue.offer(item(id, key, OrderMode::Ordered));
    }
    let mark = Mark {
        attempts: 1,
        key_epoch: 0,
    };
    let mut last = None;
    for turn in [1, 2, 3, 1, 2, 3] {
        let (id, _) = queue.take_one(at(0), last).unwrap();
        assert_eq!(id, turn);
        queue.retry(id, at(0), Trace::Clean, mark);
        last = Some(id);
    }
}
