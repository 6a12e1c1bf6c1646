//! What people do at a destination that gives trouble: try it out, look at what comes next, and send again what died.

use aftercommit::mock::receiver::{Fault, Rule};
use serde_json::json;

use super::desk::{Desk, TOKEN};
use crate::store::world::{Backend, on_both};

const REFUSED: Fault = Fault::Fail { status: 422 };

/// Orders from 1 up to this number.
async fn commit_orders(desk: &Desk, count: u32) {
    let rows: Vec<String> = (1..=count)
        .map(|number| format!("('orders', 'order-{number}', 'event', '{{}}')"))
        .collect();
    desk.world
        .execute(&format!(
            "insert into aftercommit.outbox (topic, row_key, op, payload) values {}",
            rows.join(", ")
        ))
        .await;
}

/// Tries `crm` out in its view.
async fn test_crm(desk: &Desk) {
    desk.browser.press("Test crm").await;
    desk.browser.fill("Reason, for the audit", "is it back?").await;
    desk.browser.press("Test").await;
}

on_both! {
    async fn what_a_test_came_to_stays_with_its_time_until_somebody_closes_it(backend: Backend) {
        let desk = Desk::new(backend).await;
        let browser = &desk.browser;
        desk.log_in(TOKEN).await;
        browser.go("#/destinations/crm").await;
        browser.view("crm").await;
        test_crm(&desk).await;
        browser.shows("crm worked: the ping was taken with HTTP 200").await;
        let told = "document.querySelector('main [role=status]').innerText";
        browser.holds(&format!("/^At \\d{{4}}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d UTC, crm worked/.test({told})")).await;
        // Looks that come after it change what is around it.
        desk.commit("order-1", "{}").await;
        browser.holds("[...document.querySelectorAll('main dd')].some((one) => one.innerText === '1')").await;
        browser.shows("crm worked").await;
        desk.receiver.script([Rule::once(Fault::Fail { status: 401 })]).unwrap();
        test_crm(&desk).await;
        browser.shows("crm did not work: the ping was refused with HTTP 401").await;
        // A setting that can be looked for, and no value.
        browser.shows("destinations.crm.headers").await;
        browser.lacks("crm worked").await;
        browser.press("Close").await;
        browser.lacks("crm did not work").await;
        desk.finish(&[]).await;
    }

    async fn a_preview_shows_the_next_requests_in_words_and_whole_and_sends_nothing(backend: Backend) {
        let desk = Desk::new(backend).await;
        let browser = &desk.browser;
        desk.log_in(TOKEN).await;
        browser.go("#/destinations/crm").await;
        browser.press("Show the next requests").await;
        browser.shows("Nothing is owed, so nothing would be sent.").await;
        desk.command(&["pause", "crm", "--reason", "they are migrating"]).await;
        desk.commit("order-1", r#"{"order": 1}"#).await;
        browser.shows("held until its destination is resumed").await;
        browser.press("Show the next requests").await;
        browser.shows("1 request for the next 1 delivery, once it is resumed.").await;
        browser.shows("\"row_key\": \"order-1\"").await;
        assert_eq!(desk.receiver.counts().requests, 0);
        desk.finish(&[]).await;
    }

    async fn a_replay_is_paused_resumed_and_ended_each_with_a_reason(backend: Backend) {
        let desk = Desk::new(backend).await;
        let browser = &desk.browser;
        desk.receiver.script([Rule::next(100, REFUSED)]).unwrap();
        commit_orders(&desk, 100).await;
        desk.log_in(TOKEN).await;
        browser.press("100 deliveries are dead").await;
        browser.press("Replay…").await;
        browser.shows("100 deliveries would be due again, of 100 that match.").await;
        browser.fill("At most so many a second", "1").await;
        browser.fill("Reason, for the audit", "they know the field now").await;
        browser.press("Replay 100 deliveries").await;
        browser.view("Replay 1").await;
        for (act, done, state) in [("Pause…", "Pause", "paused"), ("Resume…", "Resume", "running"), ("End…", "End", "cancelled")] {
            browser.press(act).await;
            browser.fill("Reason, for the audit", "not so fast").await;
            browser.press(done).await;
            browser.shows(&format!("Replay 1 is {state}.")).await;
            browser.holds(&format!("document.querySelector('.standing .chip').innerText === '{state}'")).await;
        }
        browser.holds("!document.querySelector('main progress')").await;
        let left = browser.script("return [...document.querySelectorAll('[data-key=acts] button')].length", json!([])).await;
        assert_eq!(left, 0, "nothing is to be done with a replay that has ended");
        desk.finish(&[]).await;
    }

    async fn what_died_again_is_told_apart_from_what_arrived(backend: Backend) {
        let desk = Desk::new(backend).await;
        let browser = &desk.browser;
        // Of three that die, one dies once more.
        desk.receiver.script([Rule::next(3, REFUSED), Rule::once(REFUSED).for_row_key("order-2")]).unwrap();
        commit_orders(&desk, 3).await;
        desk.log_in(TOKEN).await;
        browser.shows("3 deliveries are dead").await;
        browser.go("#/replays/new?state=dead&destination=crm").await;
        browser.fill("Reason, for the audit", "they know the field now").await;
        browser.press("Replay 3 deliveries").await;
        browser.shows("done 3 deliveries were made due again.").await;
        browser.shows("At least 2 of its 3 deliveries have been delivered, or ended otherwise.").await;
        browser.press("1 dead").await;
        browser.view("Deliveries").await;
        browser.shows("orders / order-2").await;
        browser.lacks("orders / order-1").await;
        // A replay that names them says it of each.
        browser.go("#/replays/new?id=2:crm&id=1:crm").await;
        browser.fill("Reason, for the audit", "once more").await;
        browser.press("Replay 2 deliveries").await;
        browser.shows("2 delivered").await;
        browser.go("#/replays/1").await;
        browser.shows("None of them is owed, dead or uncertain any more.").await;
        desk.finish(&[]).await;
    }

    async fn what_a_paused_destination_is_owed_is_held_and_not_due(backend: Backend) {
        let desk = Desk::new(backend).await;
        let browser = &desk.browser;
        desk.command(&["pause", "crm", "--reason", "they are migrating"]).await;
        desk.commit("order-1", "{}").await;
        desk.log_in(TOKEN).await;
        browser.press("Deliveries").await;
        browser.shows("held until its destination is resumed").await;
        browser.lacks("due ").await;
        // Whoever replays something to it is told, before and after.
        browser.go("#/replays/new?destination=crm&state=delivered").await;
        browser.shows("Mend this first").await;
        browser.shows("they are migrating").await;
        desk.command(&["resume", "crm", "--reason", "they are done"]).await;
        browser.go("#/deliveries").await;
        browser.shows("delivered").await;
        browser.lacks("held until").await;
        desk.finish(&[]).await;
    }

    async fn rows_that_a_destination_never_had_are_a_link_away(backend: Backend) {
        let desk = Desk::new(backend).await;
        let browser = &desk.browser;
        desk.log_in(TOKEN).await;
        browser.go("#/destinations/crm").await;
        browser.press("Replay rows that it never had…").await;
        browser.view("New replay").await;
        browser.shows("Makes due: rows that were never owed to crm.").await;
        browser.shows("Nothing to replay").await;
        desk.world.execute("insert into aftercommit.outbox (topic, row_key, op, payload) values ('refunds', 'r-1', 'event', '{}')").await;
        browser.go("#/").await;
        browser.shows("1 row of the topic refunds has no route").await;
        browser.press("replay of rows that it never had").await;
        browser.shows("Which destination is to get the rows that it never had?").await;
        browser.press("crm").await;
        browser.shows("of the topic refunds").await;
        browser.shows("is not routed to").await;
        desk.finish(&["422"]).await;
    }

    async fn errors_that_say_the_same_stand_in_one_line_with_their_rows(backend: Backend) {
        let desk = Desk::new(backend).await;
        let browser = &desk.browser;
        desk.receiver.script([Rule::next(3, REFUSED)]).unwrap();
        commit_orders(&desk, 3).await;
        desk.log_in(TOKEN).await;
        browser.shows("3 deliveries are dead").await;
        browser.go("#/destinations/crm").await;
        browser.shows("The receiver refused it · HTTP 422").await;
        let lines = "return [...document.querySelectorAll('[aria-label=\"Last errors\"] tbody tr')].map((one) => one.querySelectorAll('a').length)";
        assert_eq!(browser.script(lines, json!([])).await, json!([3]));
        desk.finish(&[]).await;
    }
}
