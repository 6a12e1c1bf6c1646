//! What is refused, and in which words. SQLite 3.40 takes only constant messages, so there they name the rule alone.

use sqlx::postgres::PgDatabaseError;

use super::on_both;
use super::world::{Session, World, delete, event, insert, upsert};

on_both! {
    a_payload_of_the_largest_size_is_admitted,
    a_topic_without_a_size_of_its_own_takes_that_of_the_database,
    what_only_looks_like_a_fault_is_admitted,
}

async fn a_payload_of_the_largest_size_is_admitted(mut world: World) {
    world
        .pipeline
        .run("insert into topic values ('customers', 'state', 8)")
        .await;
    assert_eq!(world.commit(&[upsert("7", "").payload("\"größ\"")]).await, 1);
    world
        .pipeline
        .insert(&[upsert("8", "").payload("\"größe\"")])
        .await
        .unwrap_err();
}

async fn a_topic_without_a_size_of_its_own_takes_that_of_the_database(mut world: World) {
    world.commit(&[upsert("7", "A")]).await;
    world
        .pipeline
        .run("insert into setting values ('max_payload_bytes', '5')")
        .await;
    world.pipeline.insert(&[event("7", "paid")]).await.unwrap_err();
    world.commit(&[event("7", "ill")]).await;
    let sizes = "select kind || ' ' || max_payload_bytes from topic order by name";
    assert_eq!(world.pipeline.lines(sizes).await, ["state 1048576", "event 5"]);
}

async fn what_only_looks_like_a_fault_is_admitted(mut world: World) {
    let longest = "k".repeat(1024);
    let rows = [
        upsert(&longest, "A"),
        upsert("7", "A").topic(&"t".repeat(255)),
        upsert("8", "\\\\u0000"),
        upsert("9", "\\ud83d\\ude00"),
        upsert("10", "").payload(" null\n"),
        upsert("11", "A").version(i64::MIN),
    ];
    assert_eq!(world.commit(&rows).await, rows.len() as u64);
    let headers = "insert into outbox (topic, row_key, op, payload, headers)
        values ('customers', '12', 'upsert', '1', '{\"traceparent\": \"00-1\"}'), ('customers', '13', 'upsert', '1', '{}')";
    assert_eq!(world.pipeline.run(headers).await, 2);
}

#[tokio::test]
async fn on_postgres_a_refusal_names_the_row_and_the_way_out() {
    let mut world = World::on_postgres().await;
    world
        .pipeline
        .run("insert into topic values ('customers', 'state', 20), ('orders', 'event', 20)")
        .await;
    let kinds = "A state topic takes upsert and delete, an event topic takes event; write to another topic.";
    let headers = "Write, for example, {\"traceparent\": \"00-…\"}.";
    let key_of = "A row key has 1 to 1024 bytes; hash a longer one, for example with sha256.";
    let long = "k".repeat(1025);
    let refusals = [
        (
            values("'customers', '7', 'insert', '1', null"),
            "topic \"customers\", row key \"7\": op \"insert\" is unknown",
            "Write upsert or delete to a state topic, event to an event topic.",
        ),
        (
            insert(&[event("7", "paid").topic("customers")]),
            "topic \"customers\", row key \"7\": op \"event\" does not fit a topic of kind state",
            kinds,
        ),
        (
            insert(&[delete("7").topic("orders")]),
            "topic \"orders\", row key \"7\": op \"delete\" does not fit a topic of kind event",
            kinds,
        ),
        (
            insert(&[delete("7").payload("{}")]),
            "topic \"customers\", row key \"7\": a delete carries a payload",
            "Leave the payload of a delete out; to tell more of the row, upsert it first.",
        ),
        (
            values("'customers', '7', 'upsert', null, null"),
            "topic \"customers\", row key \"7\": the payload is missing",
            "Write 'null' if the JSON value null is meant.",
        ),
        (
            "insert into outbox (topic, row_key, op) values ('customers', '7', 'upsert')".to_owned(),
            "topic \"customers\", row key \"7\": the payload is missing",
            "Write 'null' if the JSON value null is meant.",
        ),
        (
            insert(&[upsert("7", "more than twenty bytes")]),
            "topic \"customers\", row key \"7\": the payload has 24 bytes, more than the 20 allowed",
            "Raise max_payload_bytes of the topic, or send a reference to what is large.",
        ),
        (
            values("'customers', '7', 'upsert', '1', '[]'"),
            "topic \"customers\", row key \"7\": the headers are not a JSON object of strings",
            headers,
        ),
        (
            values("'customers', '7', 'upsert', '1', '{\"a\": [\"b\"]}'"),
            "topic \"customers\", row key \"7\": the headers are not a JSON object of strings",
            headers,
        ),
        (
            insert(&[upsert("", "A")]),
            "topic \"customers\", row key \"\": the row key has 0 bytes",
            key_of,
        ),
        (
            insert(&[upsert(&long, "A")]),
            "topic \"customers\", row key \"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\": the row key has 1025 bytes",
            key_of,
        ),
        (
            values("'customers', null, 'upsert', '1', null"),
            "topic \"customers\", row key \"<NULL>\": the row key has <NULL> bytes",
            key_of,
        ),
        (
            insert(&[upsert("7", "A").topic("")]),
            "topic \"\": the name has 0 bytes",
            "The name of a topic has 1 to 255 bytes.",
        ),
        (
            values("null, '7', 'upsert', '1', null"),
            "topic \"<NULL>\": the name has <NULL> bytes",
            "The name of a topic has 1 to 255 bytes.",
        ),
    ];
    for (statement, message, hint) in refusals {
        let (code, refused, hinted, _) = refusal(&mut world, &statement).await;
        assert_eq!(
            (code.as_str(), refused.as_str(), hinted.as_str()),
            ("22023", message, hint)
        );
    }
    assert_eq!(world.count("ledger").await, 0);
}

#[tokio::test]
async fn on_postgres_json_that_nobody_could_read_is_refused_by_the_database_itself() {
    let mut world = World::on_postgres().await;
    let broken = refusal(&mut world, &insert(&[upsert("7", "").payload("{")])).await;
    assert_eq!(
        (broken.0.as_str(), broken.1.as_str()),
        ("22P02", "invalid input syntax for type json")
    );

    let unreadable = [
        ("\\u0000", "22P05", "unsupported Unicode escape sequence"),
        ("\\ud83d", "22P02", "invalid input syntax for type json"),
        ("\\ude00", "22P02", "invalid input syntax for type json"),
    ];
    for (content, sqlstate, words) in unreadable {
        for row in [upsert("7", content), event("7", content)] {
            let (code, message, _, context) = refusal(&mut world, &insert(&[row])).await;
            assert_eq!((code.as_str(), message.as_str()), (sqlstate, words));
            assert!(context.contains("function aftercommit.admit()"), "{context}");
        }
    }
    assert_eq!(world.count("ledger").await, 0);
}

#[tokio::test]
async fn on_sqlite_a_refusal_names_the_rule_and_the_way_out() {
    let mut world = World::on_sqlite().await;
    world
        .pipeline
        .run("insert into topic values ('customers', 'state', 24), ('orders', 'event', 24)")
        .await;
    let kinds =
        "outbox: the op does not fit: a state topic takes upsert and delete, an event topic takes event";
    let missing = "outbox: the payload is missing; write 'null' if the JSON value null is meant";
    let json = "outbox: the payload is not JSON";
    let headers = "outbox: the headers are not a JSON object of strings, such as {\"traceparent\": \"00-…\"}";
    let topic = "outbox: a topic is a text of 1 to 255 bytes without NUL";
    let row_key = "outbox: a row key is a text of 1 to 1024 bytes without NUL; hash a longer one";
    let op = "outbox: the op is unknown; write upsert or delete to a state topic, event to an event topic";
    let with = |columns: &str, values: &str| {
        format!(
            "insert into outbox (topic, row_key, op, payload, {columns}) values ('customers', '7', 'upsert', '1', {values})"
        )
    };
    let refusals = [
        (values("'customers', '7', 'insert', '1', null"), op),
        (values("'customers', '7', null, '1', null"), op),
        (insert(&[event("7", "paid").topic("customers")]), kinds),
        (insert(&[delete("7").topic("orders")]), kinds),
        (
            insert(&[delete("7").payload("{}")]),
            "outbox: a delete carries a payload; leave it out, and to tell more of the row upsert it first",
        ),
        (values("'customers', '7', 'upsert', null, null"), missing),
        (
            "insert into outbox (topic, row_key, op) values ('customers', '7', 'upsert')".to_owned(),
            missing,
        ),
        (
            insert(&[upsert("7", "more than twenty bytes!")]),
            "outbox: the payload exceeds max_payload_bytes of its topic; raise that, or send a reference",
        ),
        (insert(&[upsert("7", "").payload("{")]), json),
        (values("'customers', '7', 'upsert', x'31', null"), json),
        (
            values("'customers', '7', 'upsert', '1' || char(0) || '2', null"),
            json,
        ),
        (values("'customers', '7', 'upsert', '1', '[]'"), headers),
        (values("'customers', '7', 'upsert', '1', '{'"), headers),
        (
            values("'customers', '7', 'upsert', '1', '{\"a\": [\"b\"]}'"),
            headers,
        ),
        (insert(&[upsert("", "A")]), row_key),
        (insert(&[upsert(&"k".repeat(1025), "A")]), row_key),
        (values("'customers', null, 'upsert', '1', null"), row_key),
        (values("'customers', x'37', 'upsert', '1', null"), row_key),
        (
            values("'customers', '7' || char(0), 'upsert', '1', null"),
            row_key,
        ),
        (insert(&[upsert("7", "A").topic("")]), topic),
        (insert(&[upsert("7", "A").topic(&"t".repeat(256))]), topic),
        (values("null, '7', 'upsert', '1', null"), topic),
        (
            with("row_version", "1.5"),
            "outbox: a row version is a whole number of 64 bits, or null",
        ),
        (
            with("created_at", "'now'"),
            "outbox: created_at is a whole number, microseconds since 1970; leave it out",
        ),
        (
            with("id", "5"),
            "outbox: leave id out; it is assigned, so that ids ascend per row key",
        ),
    ];
    for (statement, message) in refusals {
        for conflict in ["insert", "insert or ignore"] {
            let statement = statement.replacen("insert", conflict, 1);
            let error = world.pipeline.execute(&statement).await.expect_err(&statement);
            assert_eq!(
                error.as_database_error().unwrap().message(),
                message,
                "{statement}"
            );
        }
    }
    assert_eq!(world.count("ledger").await, 0);
}

fn values(values: &str) -> String {
    format!("insert into outbox (topic, row_key, op, payload, headers) values ({values})")
}

/// The SQLSTATE, message, hint and context of a statement that PostgreSQL refuses.
async fn refusal(world: &mut World, statement: &str) -> (String, String, String, String) {
    assert!(matches!(world.pipeline, Session::Postgres(_)));
    let error = world.pipeline.execute(statement).await.expect_err(statement);
    let error = error
        .as_database_error()
        .unwrap()
        .downcast_ref::<PgDatabaseError>();
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    (
        error.code().to_owned(),
        error.message().to_owned(),
        text(error.hint()),
        text(error.r#where()),
    )
}
