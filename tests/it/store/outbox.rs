//! The way in from Rust.

use aftercommit::core::row::{NewRow, Op};
use aftercommit::core::row_key::row_key;
use aftercommit::store::{Admission, Enqueued, StoreError};

use super::world::{Backend, End, FetchedIds as _, World, event, on_both, upsert};

on_both! {
    async fn a_row_is_admitted_once(backend: Backend) {
        let world = World::routed(backend).await;
        let first = world.enqueue(&event("7"), End::Commit).await.unwrap();
        let again = world.enqueue(&event("7"), End::Commit).await.unwrap();
        assert_eq!((first, again), (Admission::Admitted { id: 1 }, Admission::Unchanged));
        assert_eq!(world.owed().await.owed.len(), 1);
    }

    async fn a_row_of_a_transaction_that_is_rolled_back_was_never_there(backend: Backend) {
        let world = World::routed(backend).await;
        let admission = world.enqueue(&event("7"), End::Rollback).await.unwrap();
        assert!(matches!(admission, Admission::Admitted { .. }));
        assert!(world.owed().await.owed.is_empty());
        let admission = world.enqueue(&event("7"), End::Commit).await.unwrap();
        assert!(matches!(admission, Admission::Admitted { .. }), "it is not known as written");
    }

    async fn what_the_outbox_does_not_take_is_refused_with_the_reason(backend: Backend) {
        let world = World::routed(backend).await;
        let mut row = event("7");
        row.payload = "{".to_owned();
        let error = world.enqueue(&row, End::Rollback).await.unwrap_err();
        assert!(matches!(&error, StoreError::Refused(objection) if objection.problem.to_lowercase().contains("json")), "{error}");

        row.payload = "1".to_owned();
        row.op = Op::Upsert;
        let error = world.enqueue(&row, End::Rollback).await.unwrap_err();
        assert!(error.to_string().contains("event topic"), "the way out is named: {error}");
    }

    async fn many_rows_are_counted_and_keep_the_order_of_their_key(backend: Backend) {
        let world = World::migrated(backend).await;
        let mut rows: Vec<_> = (0..2_500).map(|number| upsert(&format!("{:04}", number % 1_250), number, &number.to_string())).collect();
        rows.push(upsert("0000", 1, "\"stale\""));
        let counted = world.commit_rows(&rows).await;
        assert_eq!(counted, Enqueued { admitted: 2_500, unchanged: 0, stale: 1 });
        let inverted = "select count(*) from aftercommit.outbox as one
            join aftercommit.outbox as other on other.topic = one.topic and other.row_key = one.row_key
            where one.row_version < other.row_version and one.id > other.id";
        assert_eq!(world.number(inverted).await, 0);
        let again = world.commit_rows(&rows).await;
        assert_eq!(again, Enqueued { admitted: 0, unchanged: 1_250, stale: 1_251 }, "only the newest of each is known");
    }

    async fn of_a_row_that_comes_twice_each_is_judged_by_what_was_known_just_before_it(backend: Backend) {
        let world = World::migrated(backend).await;
        let (one, two) = (upsert("7", 1, "\"A\""), upsert("7", 2, "\"B\""));
        world.commit_rows(std::slice::from_ref(&one)).await;
        // Afterwards the ledger knows B: measured by that, the first would seem stale.
        let counted = world.commit_rows(&[one.clone(), two.clone(), two.clone(), one.clone()]).await;
        assert_eq!(counted, Enqueued { admitted: 1, unchanged: 2, stale: 1 });
        assert_eq!(world.enqueue(&one, End::Commit).await.unwrap(), Admission::Stale);
        assert_eq!(world.enqueue(&two, End::Commit).await.unwrap(), Admission::Unchanged);
        let same_but_older = upsert("7", 0, "\"B\"");
        assert_eq!(world.commit_rows(&[same_but_older]).await, Enqueued { admitted: 0, unchanged: 1, stale: 0 });
        let gone = NewRow { op: Op::Delete, payload: "null".to_owned(), ..upsert("7", 1, "null") };
        assert_eq!(world.commit_rows(&[gone]).await, Enqueued { admitted: 0, unchanged: 0, stale: 1 });
    }

    async fn large_rows_go_in_several_statements(backend: Backend) {
        let world = World::routed(backend).await;
        let rows: Vec<_> = (0..12)
            .map(|number| {
                let mut row = event(&number.to_string());
                row.payload = format!("\"{number}{}\"", "x".repeat(1_000_000));
                row
            })
            .collect();
        assert_eq!(world.commit_rows(&rows).await, Enqueued { admitted: 12, unchanged: 0, stale: 0 });
        assert_eq!(world.owed().await.ids().len(), 12);
    }

    async fn no_rows_are_no_statement(backend: Backend) {
        let world = World::migrated(backend).await;
        assert_eq!(world.commit_rows(&[]).await, Enqueued::default());
    }
}

#[tokio::test]
async fn a_row_key_of_several_parts_is_the_same_in_sql() {
    let world = World::migrated(Backend::Postgres).await;
    for parts in [&["a/b", "~1", ""][..], &["a/b~1"], &["/", "~"]] {
        let quoted = parts.join("', '");
        let in_sql = world
            .text(&format!("select aftercommit.row_key('{quoted}')"))
            .await;
        assert_eq!(in_sql, Some(row_key(parts)));
    }
}
