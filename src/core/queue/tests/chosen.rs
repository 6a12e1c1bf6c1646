//! What is taken by its id, out of turn.

use super::*;

#[test]
fn what_is_ready_is_shown_with_what_is_held_of_it_and_taken_by_its_id() {
    let mut queue = Queue::new(Bounds::of(10), 7);
    queue.offer(item(1, "a", OrderMode::Ordered));
    queue.offer(item(2, "a", OrderMode::Ordered));
    queue.offer(Item {
        content: None,
        ..item(3, "b", OrderMode::Ordered)
    });
    queue.offer(item(4, "c", OrderMode::Ordered));
    queue.promote(at(0));
    let ready: Vec<_> = queue.ready_ones().map(|(id, held)| (id, held.copied())).collect();
    assert_eq!(ready, [(1, Some(1)), (3, None), (4, Some(4))]);

    let taken = queue.take_these(&[1, 2, 4, 9]);
    assert_eq!(
        taken,
        [(1, Some(1)), (4, Some(4))],
        "what waits behind another is not ready"
    );
    assert_eq!(sent(&mut queue, 0), [3], "and nothing is taken twice");
    queue.retry(4, at(5), Trace::Clean, MARK);
    assert_eq!(sent(&mut queue, 5), [4]);
    queue.end(1, Ended::Delivered);
    assert_eq!(sent(&mut queue, 0), [2], "they are in flight as any other");
}
