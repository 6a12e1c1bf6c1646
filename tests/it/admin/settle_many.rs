//! Settling very many by hand: in parts of a bounded size, each counted once, whatever happens between them.

use aftercommit::core::delivery::{Reason, State};
use aftercommit::store::admin::{
    AuditFilter, Counts, Cursor, Deed, DeliveryFilter, Evidence, How, Marked, PageSize, Part, Selection,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::client::{Answer, Client, head_of_post};
use super::world::{Backend, World, act, id, on_both};

fn dead() -> Selection {
    Selection::Filter(DeliveryFilter {
        states: vec![State::Dead],
        ..Default::default()
    })
}

fn to_crm() -> Selection {
    Selection::Filter(DeliveryFilter {
        destination: Some("crm".to_owned()),
        ..Default::default()
    })
}

fn marked() -> How {
    How::Done(act(), Some(Evidence::new("their log").unwrap()))
}

/// From now on row 1005 cannot be settled by hand at `hook`, the second of its two destinations.
async fn fail_at_1005(world: &World) {
    world
        .execute(match world.backend {
            Backend::Postgres => {
                "create function aftercommit.fail() returns trigger language plpgsql as $$ begin raise 'not now'; end $$;
                create trigger fail before update on aftercommit.settled for each row
                    when (new.outbox_id = 1005 and new.destination = 'hook') execute function aftercommit.fail()"
            }
            Backend::Sqlite => {
                "create trigger fail before update on settled
                when new.outbox_id = 1005 and new.destination = 'hook' begin select raise(abort, 'not now'); end"
            }
        })
        .await;
}

async fn fail_no_more(world: &World) {
    world
        .execute(match world.backend {
            Backend::Postgres => "drop trigger fail on aftercommit.settled",
            Backend::Sqlite => "drop trigger fail",
        })
        .await;
}

/// What the audit says, one entry a line.
async fn audited(world: &World) -> Vec<(String, Value)> {
    let page = world
        .admin
        .audit(&AuditFilter::default(), None, PageSize::default())
        .await
        .unwrap();
    let entry = |entry: aftercommit::store::admin::AuditEntry| {
        let detail = entry
            .detail
            .map_or(Value::Null, |detail| serde_json::from_str(&detail).unwrap());
        (entry.subject, detail)
    };
    page.entries.into_iter().rev().map(entry).collect()
}

on_both! {
    async fn each_step_is_on_record_with_what_was_changed_and_by_which_selection(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 2_500).await;
        world.settle("crm", "outbox_id > 1", Reason::Refused).await;
        world.settle("hook", "outbox_id <= 3", Reason::Refused).await;
        let mut settling = world.admin.settling(&dead(), Deed::MarkDelivered, marked(), None).await.unwrap();
        while settling.step().await.unwrap() {}
        let part: Part<Marked> = settling.part();
        assert_eq!((part.counts, part.next), (Marked { marked: 2_502, left_alone: 0 }, None));
        let (filter, evidence) = (json!({"states": ["dead"]}), "their log");
        let step = |first: i64, last: i64|
            json!({"filter": filter, "first_outbox_id": first, "last_outbox_id": last, "evidence": evidence});
        assert_eq!(audited(&world).await, [
            ("997 deliveries to crm".to_owned(), step(2, 998)),
            ("3 deliveries to hook".to_owned(), json!({"filter": filter, "outbox_ids": [1, 2, 3], "evidence": evidence})),
            ("1000 deliveries to crm".to_owned(), step(999, 1_998)),
            ("502 deliveries to crm".to_owned(), step(1_999, 2_500)),
        ]);
    }

    async fn what_a_relay_is_asked_for_is_told_apart_and_what_was_left_alone_is_not_on_record(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 4).await;
        world.settle("crm", "outbox_id = 1", Reason::Accepted).await;
        world.settle("crm", "outbox_id = 2", Reason::OutcomeUnknown).await;
        world.lease("crm").await;
        world.admin.cancel(&to_crm(), &act()).await.unwrap();
        let detail = json!({"filter": {"destination": "crm"}, "outbox_ids": [2, 3, 4]});
        assert_eq!(audited(&world).await, [("3 deliveries to crm, 2 of them requested".to_owned(), detail)]);
    }

    async fn one_goes_on_where_a_part_ended_and_each_delivery_is_counted_once(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 1_500).await;
        world.settle("crm", "true", Reason::Refused).await;
        let (mut total, mut after, mut parts) = (Counts::default(), None::<Cursor>, 0);
        loop {
            // Another one each time, as another request has.
            let mut settling = world.admin.settling(&Selection::All, Deed::MarkDelivered, marked(), after).await.unwrap();
            let more = settling.step().await.unwrap();
            total += settling.counts();
            parts += 1;
            after = settling.part::<Marked>().next;
            assert_eq!(more, after.is_some());
            if !more { break }
        }
        assert_eq!(total, Counts { done: 1_500, requested: 0, left_alone: 1_500 });
        assert_eq!(parts, 4, "the last one finds nothing");
    }

    async fn a_step_that_fails_leaves_nothing_done_and_is_led_to_again(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 1_010).await;
        world.settle("crm", "true", Reason::Refused).await;
        world.settle("hook", "true", Reason::Refused).await;
        fail_at_1005(&world).await;
        let mut settling = world.admin.settling(&dead(), Deed::MarkDelivered, marked(), None).await.unwrap();
        while settling.counts().done < 2_000 { assert!(settling.step().await.unwrap()) }
        settling.step().await.unwrap_err();
        let part: Part<Marked> = settling.part();
        let told = json!({"marked": 2_000, "left_alone": 0, "next": "1000:hook"});
        assert_eq!(serde_json::to_value(&part).unwrap(), told);
        assert_eq!(world.number("select count(*) from aftercommit.settled where state = 'delivered'").await, 2_000);
        assert_eq!(world.state(1_005, "crm").await, State::Dead);
        fail_no_more(&world).await;
        let mut rest = world.admin.settling(&dead(), Deed::MarkDelivered, marked(), part.next).await.unwrap();
        while rest.step().await.unwrap() {}
        assert_eq!(rest.counts(), Counts { done: 20, ..Counts::default() });
    }

    async fn a_request_whose_third_step_fails_tells_what_is_done_and_the_next_one_meets_the_error(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 1_010).await;
        world.settle("crm", "true", Reason::Refused).await;
        world.settle("hook", "true", Reason::Refused).await;
        fail_at_1005(&world).await;
        let client = Client::of(&world).await;
        let ask = async |after: Value| client.post("/v1/deliveries/mark-delivered", &json!({
            "filter": {"states": ["dead"]}, "after": after, "reason": "r", "evidence": "e"
        }).to_string()).await;
        let told = json!({"marked": 2_000, "left_alone": 0, "next": "1000:hook"});
        assert_eq!(ask(Value::Null).await.json(), told);
        // What a trigger of SQLite raises is taken for a refusal of what was asked.
        let status = match backend { Backend::Postgres => 500, Backend::Sqlite => 422 };
        ask(told["next"].clone()).await.problem(status);
        fail_no_more(&world).await;
        let rest = ask(told["next"].clone()).await.json();
        assert_eq!(rest, json!({"marked": 20, "left_alone": 0, "next": null}));
    }

    async fn a_request_does_a_bounded_part_and_its_next_leads_on_in_dry_runs_too(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 12_000).await;
        world.settle("crm", "true", Reason::Refused).await;
        let client = Client::of(&world).await;
        for dry_run in [true, false] {
            let ask = async |after: &Value| client.post("/v1/deliveries/mark-delivered", &json!({
                "all": true, "after": after, "dry_run": dry_run, "reason": "r", "evidence": "e"
            }).to_string()).await.json();
            let first = ask(&Value::Null).await;
            assert_eq!(first, json!({"marked": 10_000, "left_alone": 10_000, "next": "10000:hook"}));
            let second = ask(&first["next"]).await;
            assert_eq!(second, json!({"marked": 2_000, "left_alone": 2_000, "next": null}));
        }
        let wrong = r#"{"all": true, "after": "here", "reason": "r"}"#;
        assert!(client.post("/v1/deliveries/cancel", wrong).await.problem(422).contains("`here` is no cursor"));
    }

    async fn a_server_that_ends_answers_with_what_is_done_and_where_to_go_on(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 2_500).await;
        world.settle("crm", "true", Reason::Refused).await;
        let client = Client::of(&world).await;
        let body = r#"{"filter": {"destination": "crm"}, "reason": "r", "evidence": "e"}"#;
        let head = head_of_post("/v1/deliveries/mark-delivered", body.len(), "expect: 100-continue\r\n");
        let mut stream = client.connect().await;
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut begun = [0; 25];
        stream.read_exact(&mut begun).await.unwrap();
        assert_eq!(&begun, b"HTTP/1.1 100 Continue\r\n\r\n", "the request is under way");
        // The server is told to end before the request can do anything.
        let (ended, answer) = tokio::join!(client.server.shutdown(), async {
            stream.write_all(body.as_bytes()).await.unwrap();
            let mut answer = vec![];
            stream.read_to_end(&mut answer).await.unwrap();
            Answer::read(&answer)
        });
        ended.unwrap();
        assert_eq!(answer.json(), json!({"marked": 1_000, "left_alone": 0, "next": "1000:crm"}));
        assert_eq!(world.number("select count(*) from aftercommit.settled where state = 'delivered'").await, 1_000);
    }

    async fn ids_are_settled_in_one_request(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 3).await;
        world.settle("crm", "true", Reason::Refused).await;
        let one = Selection::Ids(vec![id(2, "crm")]);
        let mut settling = world.admin.settling(&one, Deed::MarkDelivered, marked(), None).await.unwrap();
        assert!(!settling.step().await.unwrap());
        assert_eq!(audited(&world).await, [("delivery 2 to crm".to_owned(), json!({"evidence": "their log"}))]);
    }
}
