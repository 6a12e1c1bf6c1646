//! What a person has brought forward.

use super::*;

fn waiting(order: OrderMode) -> Queue<i64> {
    let mut queue = Queue::new(Bounds::of(10), 7);
    queue.offer(item(1, "a", order));
    queue.offer(item(2, "a", order));
    assert_eq!(
        sent(&mut queue, 0).first(),
        Some(&if order == OrderMode::Latest { 2 } else { 1 })
    );
    queue
}

#[test]
fn a_delivery_that_waits_for_later_goes_when_the_database_says_that_it_is_due() {
    let mut queue = waiting(OrderMode::Ordered);
    queue.retry(1, at(500), Trace::Clean, MARK);
    assert!(sent(&mut queue, 10).is_empty());
    queue.hurry(1, at(10), MARK);
    assert_eq!(sent(&mut queue, 10), [1]);
    assert!(sent(&mut queue, 600).is_empty(), "it is in flight, once");
}

#[test]
fn what_stands_behind_another_is_due_at_once_when_its_turn_comes() {
    let mut queue = waiting(OrderMode::Ordered);
    queue.retry(1, at(500), Trace::Clean, MARK);
    queue.offer(Item {
        due: at(900),
        ..item(3, "a", OrderMode::Ordered)
    });
    queue.hurry(3, at(10), MARK);
    assert!(sent(&mut queue, 10).is_empty(), "it goes past nothing");
    for id in [1, 2] {
        assert_eq!(sent(&mut queue, 500), [id]);
        queue.end(id, Ended::Delivered);
    }
    assert_eq!(sent(&mut queue, 500), [3]);
}

#[test]
fn what_was_said_before_the_last_attempt_hurries_nothing() {
    let mut queue = waiting(OrderMode::Independent);
    let mark = Mark { attempts: 1, ..MARK };
    queue.retry(1, at(500), Trace::Clean, mark);
    queue.hurry(1, at(10), MARK);
    queue.hurry(2, at(10), MARK);
    queue.hurry(9, at(10), MARK);
    assert!(
        sent(&mut queue, 10).is_empty(),
        "and nothing in flight, or unknown"
    );
    queue.hurry(1, at(600), mark);
    assert_eq!(sent(&mut queue, 500), [1], "nor is anything put off");
}
