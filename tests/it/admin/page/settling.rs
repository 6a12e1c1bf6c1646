//! Settling by hand at the page: what the dialogs say, what they do, and that many are done to the end.

use aftercommit::mock::receiver::{Fault, Receiver, ReceiverOptions, Rule};
use serde_json::json;

use super::desk::{Desk, TOKEN};
use crate::store::world::{Backend, on_both};

/// Retries that never come within a story.
const PATIENT: &str = "[destinations.crm.retry]\nfirst = \"1h\"\nmax_delay = \"1h\"";

/// A desk whose receiver does this to the first requests, before a destination with `more` configured.
async fn desk_with(backend: Backend, rules: impl IntoIterator<Item = Rule>, more: &str) -> Desk {
    let receiver = Receiver::start(ReceiverOptions::default()).await.unwrap();
    receiver.script(rules).unwrap();
    let crm = receiver.url();
    Desk::at(backend, receiver, &crm, more).await
}

/// What the dialog says that is open.
async fn asked(desk: &Desk) -> String {
    let words = desk
        .browser
        .script(
            "return document.querySelector('dialog[open]').innerText",
            json!([]),
        )
        .await;
    words.as_str().unwrap().replace('\u{a0}', " ")
}

on_both! {
    async fn what_stands_before_a_blocked_row_is_named_before_it_is_ended(backend: Backend) {
        let lost = [Rule::once(Fault::ProcessedThenDropped)];
        let desk = desk_with(backend, lost, "uncertain_policy = \"hold\"").await;
        let browser = &desk.browser;
        desk.commit("same", r#"{"order": 1}"#).await;
        desk.commit("same", r#"{"order": 2}"#).await;
        desk.log_in(TOKEN).await;
        browser.go("#/deliveries/1/crm").await;
        browser.view("Outbox row 1 to crm").await;
        browser.control("Mark delivered…").await;
        browser.lacks("Skip what is ahead").await;
        browser.go("#/deliveries/2/crm").await;
        browser.view("Outbox row 2 to crm").await;
        browser.lacks("Retry now…").await;
        browser.press("Skip what is ahead…").await;
        let words = asked(&desk).await;
        assert!(words.contains(", since an attempt may have arrived"), "{words}");
        assert!(words.contains("Outbox row 1 to crm stands first of this row key: uncertain for "), "{words}");
        let since = "return Date.parse(document.querySelector('dialog time').dateTime) > 0";
        assert_eq!(browser.script(since, json!([])).await, true, "since when");
        let link = "return document.querySelector('dialog a').getAttribute('href')";
        assert_eq!(browser.script(link, json!([])).await, "#/deliveries/1/crm");
        browser.fill("Reason, for the audit", "they do not know it").await;
        browser.press("End the older one").await;
        browser.shows("outbox row 1 skipped, 1 cancelled.").await;
        browser.lacks("Skip what is ahead…").await;
        let ended = "select count(*) from aftercommit.settled where outbox_id = 1 and state = 'cancelled'";
        assert_eq!(desk.world.number(ended).await, 1);
        browser.go("#/audit").await;
        browser.view("Audit").await;
        browser.shows("so that outbox row 2 can go").await;
        browser.press("delivery 1 to crm").await;
        browser.view("Outbox row 1 to crm").await;
        desk.finish(&[]).await;
    }

    async fn a_head_that_is_another_one_by_now_is_told_and_nothing_ends(backend: Backend) {
        let desk = Desk::new(backend).await;
        let browser = &desk.browser;
        desk.command(&["pause", "crm", "--reason", "they are migrating"]).await;
        for number in 1..=3 {
            desk.commit("same", &format!(r#"{{"order": {number}}}"#)).await;
        }
        desk.log_in(TOKEN).await;
        browser.go("#/deliveries/3/crm").await;
        browser.press("Skip what is ahead…").await;
        browser.fill("Reason, for the audit", "it can never be taken").await;
        // Somebody else was faster.
        desk.world.execute("insert into aftercommit.settled (outbox_id, destination, state, reason, attempts, key_epoch)
            values (1, 'crm', 'cancelled', 'operator', 0, 0); delete from aftercommit.owed where outbox_id = 1").await;
        browser.press("End the older one").await;
        browser.shows("outbox row 2 stands first").await;
        desk.finish(&["409"]).await;
    }

    async fn what_waits_for_its_next_attempt_is_hurried_by_a_filter(backend: Backend) {
        let desk = desk_with(backend, [Rule::next(2, Fault::Fail { status: 500 })], PATIENT).await;
        let browser = &desk.browser;
        desk.commit("order-1", "{}").await;
        desk.commit("order-2", "{}").await;
        desk.log_in(TOKEN).await;
        browser.go("#/deliveries?state=pending&destination=crm").await;
        browser.holds("[...document.querySelectorAll('td[data-name=Attempts]')].filter((cell) => cell.innerText.trim() === '1').length === 2").await;
        browser.press("All that match").await;
        browser.press("Retry now…").await;
        browser.shows("Now: 2 hurried.").await;
        browser.fill("Reason, for the audit", "they are back").await;
        browser.press("Retry 2 deliveries now").await;
        browser.shows("Done: 2 hurried.").await;
        assert_eq!(desk.world.number("select count(*) from aftercommit.owed where due_at > now()").await, 0);
        desk.finish(&[]).await;
    }

    async fn behind_an_open_breaker_all_go_on_by_themselves_and_a_dialog_says_why_none_would_change(backend: Backend) {
        let failing = [Rule::always(Fault::Fail { status: 500 })];
        let breaker = format!("{PATIENT}\n[destinations.crm.breaker]\nmin_requests = 1\nopen_for = \"1h\"");
        let desk = desk_with(backend, failing, &breaker).await;
        let browser = &desk.browser;
        desk.commit("order-1", "{}").await;
        desk.log_in(TOKEN).await;
        browser.shows("Every request to crm has failed for ").await;
        for number in 2..=4 {
            desk.commit(&format!("order-{number}"), "{}").await;
        }
        browser.shows("4 wait, and go on by themselves once it works. None dies of waiting").await;
        browser.shows("0 due now, 3 waiting, 1 due later").await;
        browser.go("#/destinations/crm").await;
        browser.shows("a single delivery looks every 1 h whether it is back").await;
        browser.shows("4 wait, and go on by themselves once their receiver works").await;
        browser.go("#/deliveries?row_key=order-2").await;
        browser.shows("waits, and goes on by itself once its receiver works").await;
        browser.go("#/deliveries/2/crm").await;
        browser.shows("The breaker of crm is open since ").await;
        browser.shows("every 1h a single row looks").await;
        browser.go("#/destinations/crm").await;
        // What was tried itself is due at once; of the others none waits for a time.
        browser.press("Retry all now crm").await;
        browser.shows("Now: 1 hurried, 3 left alone.").await;
        browser.fill("Reason, for the audit", "they are back").await;
        browser.press("Retry 1 delivery now").await;
        browser.shows("Done: 1 hurried, 3 left alone.").await;
        browser.press("Retry all now crm").await;
        browser.shows("None would change, since none waits for a later time").await;
        browser.shows("What is owed to crm waits, and goes on by itself once its receiver works.").await;
        desk.finish(&[]).await;
    }

    async fn what_arrived_after_all_is_marked_with_its_evidence_which_the_audit_shows(backend: Backend) {
        let lost = [Rule::next(2, Fault::ProcessedThenDropped)];
        let desk = desk_with(backend, lost, "uncertain_policy = \"hold\"").await;
        let browser = &desk.browser;
        desk.commit("order-1", "{}").await;
        desk.commit("order-2", "{}").await;
        desk.log_in(TOKEN).await;
        browser.press("Trouble").await;
        browser.press("2 deliveries").await;
        browser.view("Deliveries").await;
        browser.press("All that match").await;
        browser.press("Mark delivered…").await;
        browser.shows("Now: 2 marked.").await;
        browser.fill("Reason, for the audit", "they have both").await;
        browser.press("Mark 2 deliveries delivered").await;
        let open = browser.script("return document.querySelector('dialog').open", json!([])).await;
        assert_eq!(open, true, "nothing is done without evidence");
        browser.fill("How do you know that they arrived?", "their orders 98 and 99").await;
        browser.press("Mark 2 deliveries delivered").await;
        browser.shows("Done: 2 marked.").await;
        browser.shows("No such deliveries.").await;
        browser.press("Audit").await;
        browser.view("Audit").await;
        browser.shows("they have both evidence: their orders 98 and 99; uncertain deliveries to crm").await;
        browser.shows("outbox rows 1, 2").await;
        browser.press("2 deliveries to crm").await;
        browser.view("Deliveries").await;
        browser.shows("orders / order-2").await;
        assert_eq!(desk.receiver.counts().requests, 2, "nothing is sent again");
        desk.finish(&[]).await;
    }

    async fn more_than_one_request_does_are_counted_and_hurried_to_the_last(backend: Backend) {
        let desk = Desk::new(backend).await;
        let browser = &desk.browser;
        desk.command(&["pause", "crm", "--reason", "they are migrating"]).await;
        let hour = match backend { Backend::Postgres => "now() + interval '1 hour'", Backend::Sqlite => "now() + 3600000000" };
        desk.world.execute(&format!("insert into aftercommit.outbox (topic, row_key, op, payload)
            with recursive number (i) as (select 1 union all select i + 1 from number where i < 20500)
            select 'orders', 'order-' || i, 'event', '{{}}' from number;
            update aftercommit.owed set due_at = {hour}")).await;
        desk.log_in(TOKEN).await;
        // Each answer is kept, to see that there are several.
        browser.script("window.answers = []; const ask = window.fetch; window.fetch = async (asked) => {
            const answer = await ask(asked);
            if (asked.url.includes('/deliveries/retry-now')) window.answers.push(await answer.clone().json());
            return answer;
        }", json!([])).await;
        browser.go("#/deliveries?state=pending&destination=crm").await;
        browser.press("All that match").await;
        browser.press("Retry now…").await;
        browser.fill("Reason, for the audit", "they are done").await;
        browser.press("Retry 20,500 deliveries now").await;
        browser.shows("Done: 20,500 hurried.").await;
        let nexts = browser.script("return window.answers.map(({ next }) => next)", json!([])).await;
        assert_eq!(nexts, json!(["20000:crm", null, "20000:crm", null]));
        assert_eq!(desk.world.number("select count(*) from aftercommit.owed where due_at <= now()").await, 20_500);
        desk.finish(&[]).await;
    }
}
