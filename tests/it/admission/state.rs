//! State topics: only the newest version of each row matters, and a run that is repeated adds nothing.

use super::on_both;
use super::world::{World, delete, upsert};

on_both! {
    equal_content_is_dropped_without_an_error,
    an_older_version_is_dropped,
    a_missing_version_counts_as_newest_and_lowers_nothing,
    equal_content_of_a_newer_version_moves_the_ledger_on,
    a_first_version_of_equal_content_moves_the_ledger_on,
    equal_versions_of_different_content_are_both_admitted,
    a_change_there_and_back_is_three_changes,
    a_deleted_row_can_come_back,
    a_delete_is_another_fact_than_a_row_that_is_null,
    an_old_delete_does_not_bury_a_newer_row,
    repeats_within_one_statement_are_judged_one_after_another,
    row_keys_and_topics_compare_byte_by_byte,
}

async fn equal_content_is_dropped_without_an_error(mut world: World) {
    assert_eq!(world.commit(&[upsert("7", "A")]).await, 1);
    assert_eq!(world.commit(&[upsert("7", "A")]).await, 0);
    assert_eq!(world.history("7").await, ["1 upsert A"]);
    assert_eq!(world.count("owed").await, 1);
}

async fn an_older_version_is_dropped(mut world: World) {
    world.commit(&[upsert("7", "B").version(2)]).await;
    assert_eq!(world.commit(&[upsert("7", "A").version(1)]).await, 0);
    assert_eq!(world.history("7").await, ["1 upsert B"]);
}

async fn a_missing_version_counts_as_newest_and_lowers_nothing(mut world: World) {
    world.commit(&[upsert("7", "A").version(5)]).await;
    assert_eq!(world.commit(&[upsert("7", "B")]).await, 1);
    assert_eq!(world.commit(&[upsert("7", "C").version(4)]).await, 0);
    assert_eq!(world.history("7").await, ["1 upsert A", "2 upsert B"]);
}

async fn equal_content_of_a_newer_version_moves_the_ledger_on(mut world: World) {
    world.commit(&[upsert("7", "A").version(1)]).await;
    assert_eq!(world.commit(&[upsert("7", "A").version(3)]).await, 0);
    assert_eq!(world.commit(&[upsert("7", "B").version(2)]).await, 0);
    assert_eq!(world.history("7").await, ["1 upsert A"]);
}

async fn a_first_version_of_equal_content_moves_the_ledger_on(mut world: World) {
    world.commit(&[upsert("7", "A")]).await;
    assert_eq!(world.commit(&[upsert("7", "A").version(3)]).await, 0);
    assert_eq!(world.commit(&[upsert("7", "B").version(2)]).await, 0);
    assert_eq!(world.history("7").await, ["1 upsert A"]);
}

async fn equal_versions_of_different_content_are_both_admitted(mut world: World) {
    world.commit(&[upsert("7", "A").version(1)]).await;
    assert_eq!(world.commit(&[upsert("7", "B").version(1)]).await, 1);
    assert_eq!(world.history("7").await, ["1 upsert A", "2 upsert B"]);
}

async fn a_change_there_and_back_is_three_changes(mut world: World) {
    for content in ["A", "B", "A"] {
        assert_eq!(world.commit(&[upsert("7", content)]).await, 1);
    }
    assert_eq!(
        world.history("7").await,
        ["1 upsert A", "2 upsert B", "3 upsert A"]
    );
    assert_eq!(world.count("owed").await, 3);
}

async fn a_deleted_row_can_come_back(mut world: World) {
    world.commit(&[upsert("7", "A").version(1)]).await;
    assert_eq!(world.commit(&[delete("7").version(2)]).await, 1);
    assert_eq!(world.commit(&[delete("7").version(2).payload(" null ")]).await, 0);
    assert_eq!(world.commit(&[upsert("7", "A").version(1)]).await, 0);
    assert_eq!(world.commit(&[upsert("7", "A").version(3)]).await, 1);
    assert_eq!(
        world.history("7").await,
        ["1 upsert A", "2 delete null", "3 upsert A"]
    );
}

async fn a_delete_is_another_fact_than_a_row_that_is_null(mut world: World) {
    world.commit(&[upsert("7", "").payload("null")]).await;
    assert_eq!(world.commit(&[delete("7")]).await, 1);
    assert_eq!(world.commit(&[upsert("7", "").payload("null")]).await, 1);
    assert_eq!(
        world.history("7").await,
        ["1 upsert null", "2 delete null", "3 upsert null"]
    );
}

async fn an_old_delete_does_not_bury_a_newer_row(mut world: World) {
    world.commit(&[upsert("7", "A").version(2)]).await;
    assert_eq!(world.commit(&[delete("7").version(1)]).await, 0);
    assert_eq!(world.history("7").await, ["1 upsert A"]);
}

async fn repeats_within_one_statement_are_judged_one_after_another(mut world: World) {
    let rows = [
        upsert("7", "A"),
        upsert("7", "A"),
        upsert("8", "A"),
        upsert("7", "B"),
        upsert("7", "A"),
    ];
    assert_eq!(world.commit(&rows).await, 4);
    assert_eq!(
        world.history("7").await,
        ["1 upsert A", "2 upsert B", "3 upsert A"]
    );
    assert_eq!(world.history("8").await, ["1 upsert A"]);
    assert_eq!(world.count("owed").await, 4);
}

async fn row_keys_and_topics_compare_byte_by_byte(mut world: World) {
    let composed_and_not = ["\u{e4}", "a\u{308}"];
    for key in ["a", "A", "a "].into_iter().chain(composed_and_not) {
        assert_eq!(world.commit(&[upsert(key, "A")]).await, 1, "{key:?}");
    }
    assert_eq!(world.commit(&[upsert("a", "A").topic("Customers")]).await, 1);
}

#[tokio::test]
async fn on_postgres_another_spelling_of_the_same_json_is_no_change() {
    let mut world = World::on_postgres().await;
    let spellings = [
        r#"{"a": 1, "b": "\u00e4"}"#,
        r#"{"b":"ä","a":1}"#,
        r#"{"a":0,"a":1,"b":"ä"}"#,
    ];
    let spelled = spellings.map(|payload| upsert("7", "").payload(payload));
    assert_eq!(world.commit(&spelled).await, 1);
    // What is sent are the bytes that were written.
    let sent = world.pipeline.lines("select payload::text from outbox").await;
    assert_eq!(sent, [spellings[0]]);
}
