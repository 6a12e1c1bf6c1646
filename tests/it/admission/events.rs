//! Event topics: each row is a fact of its own and is delivered once.

use super::on_both;
use super::world::{World, event};

on_both! {
    an_exact_repeat_is_dropped,
    a_late_event_with_an_older_version_is_admitted,
    equal_content_of_another_key_or_version_is_another_fact,
    a_new_fact_of_a_known_key_counts_no_generation,
    where_one_part_ends_and_the_next_begins_is_no_matter_of_chance,
}

async fn an_exact_repeat_is_dropped(mut world: World) {
    for row in [event("7", "paid"), event("7", "paid").version(1)] {
        assert_eq!(world.commit(&[row.clone(), row.clone()]).await, 1);
        assert_eq!(world.commit(&[row]).await, 0);
    }
    assert_eq!(world.count("outbox").await, 2);
    assert_eq!(world.count("owed").await, 2);
}

async fn a_late_event_with_an_older_version_is_admitted(mut world: World) {
    world.commit(&[event("7", "paid").version(2)]).await;
    assert_eq!(world.commit(&[event("7", "placed").version(1)]).await, 1);
    assert_eq!(world.commit(&[event("7", "paid").version(1)]).await, 1);
}

async fn equal_content_of_another_key_or_version_is_another_fact(mut world: World) {
    let rows = [
        event("7", "paid"),
        event("8", "paid"),
        event("7", "paid").version(1),
        event("7", "paid").version(2),
    ];
    assert_eq!(world.commit(&rows).await, 4);
    assert_eq!(world.commit(&rows).await, 0);
}

async fn a_new_fact_of_a_known_key_counts_no_generation(mut world: World) {
    world
        .commit(&[event("7", "placed"), event("7", "paid"), event("7", "sent")])
        .await;
    assert_eq!(
        world.history("7").await,
        ["1 event placed", "1 event paid", "1 event sent"]
    );
}

async fn where_one_part_ends_and_the_next_begins_is_no_matter_of_chance(mut world: World) {
    let payload = |row_key, payload| event(row_key, "").payload(payload);
    let rows = [
        payload("1", "23"),
        payload("12", "3"),
        payload("1", "3").version(2),
        payload("1,2", "3"),
        payload("1,2,-", "3"),
        payload("1,-", "23"),
        payload("3:1", "23"),
    ];
    assert_eq!(world.commit(&rows).await, rows.len() as u64);
}
