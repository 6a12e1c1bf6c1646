//! What people do at the page, from logging in to seeing that it is done.

use aftercommit::mock::receiver::{Fault, Receiver, ReceiverOptions, Rule};
use serde_json::json;

use super::browser::ENTER;
use super::desk::{Desk, TOKEN};
use crate::store::world::{Backend, on_both};

/// A receiver that refuses the first request for good.
async fn refusing_once() -> Receiver {
    let receiver = Receiver::start(ReceiverOptions::default()).await.unwrap();
    receiver
        .script([Rule::once(Fault::Fail { status: 422 })])
        .unwrap();
    receiver
}

on_both! {
    async fn a_person_logs_in_finds_a_dead_row_replays_it_and_sees_it_delivered(backend: Backend) {
        let desk = Desk::before(backend, refusing_once().await).await;
        let browser = &desk.browser;
        desk.commit("order-7", r#"{"order": 7}"#).await;
        desk.log_in(TOKEN).await;
        browser.press("1 delivery is dead").await;
        browser.view("Trouble").await;
        browser.shows("the receiver refused it for good").await;
        browser.press("orders / order-7").await;
        browser.view("Outbox row 1 to crm").await;
        browser.shows("The receiver refused it · HTTP 422").await;
        browser.shows(r#"{"order": 7}"#).await;

        browser.press("Replay…").await;
        browser.view("New replay").await;
        browser.shows("1 delivery would be due again, of 1 that match.").await;
        browser.fill("Reason, for the audit", "they know the field now").await;
        browser.press("Replay 1 delivery").await;
        browser.view("Replay 1").await;
        browser.shows("done 1 delivery was made due again.").await;
        browser.shows("delivered").await;
        browser.press("orders / order-7").await;
        browser.shows("The receiver took it · HTTP 200").await;
        assert_eq!((desk.receiver.counts().requests, desk.receiver.effects().len()), (2, 1));

        browser.press("Audit").await;
        browser.view("Audit").await;
        browser.shows("they know the field now").await;
        browser.press("replay 1").await;
        browser.view("Replay 1").await;
        desk.finish(&[]).await;
    }

    async fn a_replay_that_is_not_wanted_after_all_is_left_for_where_one_came_from(backend: Backend) {
        let desk = Desk::before(backend, refusing_once().await).await;
        let browser = &desk.browser;
        desk.commit("order-7", "{}").await;
        desk.log_in(TOKEN).await;
        browser.shows("1 delivery is dead").await;
        browser.go("#/deliveries/1/crm").await;
        browser.shows("“Replay…” below or aftercommit replay 1:crm").await;
        browser.press("Replay…").await;
        browser.view("New replay").await;
        browser.press("Leave it").await;
        browser.view("Outbox row 1 to crm").await;
        assert_eq!(desk.world.number("select count(*) from aftercommit.replay").await, 0);
        desk.finish(&[]).await;
    }

    async fn a_filter_of_the_audit_offers_what_is_done_and_is_cleared(backend: Backend) {
        let desk = Desk::new(backend).await;
        let browser = &desk.browser;
        desk.command(&["pause", "crm", "--reason", "they are migrating"]).await;
        desk.log_in(TOKEN).await;
        browser.go("#/audit").await;
        browser.shows("they are migrating").await;
        browser.lacks("Clear filter").await;
        browser.fill("What", "replay").await;
        browser.press("Apply").await;
        browser.shows("Nothing matches this filter.").await;
        let offered = "return [...document.querySelector('[name=action]').list.options].some((one) => one.value === 'pause')";
        assert_eq!(browser.script(offered, json!([])).await, true);
        browser.press("Clear filter").await;
        browser.shows("they are migrating").await;
        desk.finish(&[]).await;
    }

    async fn a_token_that_is_not_accepted_is_asked_for_again_and_a_good_one_is_forgotten_at_log_out(backend: Backend) {
        let desk = Desk::new(backend).await;
        let browser = &desk.browser;
        browser.open(&desk.url).await;
        browser.fill("Token", "a-wrong-one").await;
        browser.press("Log in").await;
        browser.shows("This token is not accepted").await;
        desk.log_in(TOKEN).await;
        browser.press("Log out").await;
        browser.control("Token").await;
        let kept = browser.script("return [sessionStorage.length, localStorage.length, document.cookie]", json!([])).await;
        assert_eq!(kept, json!([0, 0, ""]));
        desk.finish(&["401"]).await;
    }

    async fn a_viewer_sees_everything_and_no_button_that_changes_something(backend: Backend) {
        let desk = Desk::before(backend, refusing_once().await).await;
        let browser = &desk.browser;
        desk.commit("order-7", "{}").await;
        let token = desk.token("grafana", "viewer").await;
        desk.log_in(&token).await;
        browser.shows("grafana viewer").await;
        browser.shows("1 delivery is dead").await;
        for (hash, title) in [
            ("#/trouble", "Trouble"),
            ("#/deliveries?state=dead", "Deliveries"),
            ("#/deliveries/1/crm", "Outbox row 1 to crm"),
            ("#/destinations", "Destinations"),
            ("#/destinations/crm", "crm"),
            ("#/replays", "Replays"),
            ("#/replays/new?state=dead", "New replay"),
            ("#/audit", "Audit"),
        ] {
            browser.go(hash).await;
            browser.view(title).await;
            // What only looks: the form of a filter, and the requests that would come next.
            let left = "return [...document.querySelectorAll('main button, main .button')].map((one) => one.innerText)
                .filter((name) => !['Apply', 'Show the next requests'].includes(name))";
            assert_eq!(browser.script(left, json!([])).await, json!([]), "{title}");
        }
        desk.command(&["token", "revoke", "grafana"]).await;
        browser.shows("This token is not accepted. It may have been revoked").await;
        desk.finish(&["401"]).await;
    }

    async fn a_destination_is_paused_and_resumed_and_each_is_on_the_audit_with_its_reason(backend: Backend) {
        let desk = Desk::new(backend).await;
        let browser = &desk.browser;
        desk.log_in(TOKEN).await;
        browser.press("Destinations").await;
        browser.press("Pause crm").await;
        browser.press("Pause").await;
        let open = browser.script("return document.querySelector('dialog').open", json!([])).await;
        assert_eq!(open, true, "nothing is done without a reason");
        browser.fill("Reason, for the audit", "they are migrating").await;
        browser.press("Pause").await;
        browser.shows("crm is paused.").await;
        browser.press("Resume crm").await;
        browser.fill("Reason, for the audit", "they are done").await;
        browser.press("Resume").await;
        browser.shows("crm goes on.").await;
        browser.press("Audit").await;
        browser.shows("they are migrating").await;
        browser.shows("they are done").await;
        desk.finish(&[]).await;
    }

    async fn a_filter_lives_in_the_address_and_pages_go_on_where_the_last_one_ended(backend: Backend) {
        let desk = Desk::new(backend).await;
        let browser = &desk.browser;
        let rows: Vec<String> = (1..=60).map(|number| format!("('orders', 'order-{number}', 'event', '{{}}')")).collect();
        desk.world.execute(&format!(
            "insert into aftercommit.outbox (topic, row_key, op, payload) values {}", rows.join(", ")
        )).await;
        desk.log_in(TOKEN).await;
        browser.press("Deliveries").await;
        browser.shows("orders / order-60").await;
        browser.press("Older").await;
        browser.shows("orders / order-10").await;
        browser.lacks("orders / order-60").await;
        browser.press("Newest").await;
        browser.shows("orders / order-60").await;
        browser.fill("Row key", "order-7").await;
        browser.press("Apply").await;
        browser.lacks("orders / order-60").await;
        browser.press("delivered").await;
        let address = browser.script("return location.hash", json!([])).await;
        assert_eq!(address, "#/deliveries?state=delivered&row_key=order-7");
        browser.shows("orders / order-7").await;
        browser.script("location.reload()", json!([])).await;
        browser.view("Deliveries").await;
        browser.shows("orders / order-7").await;
        browser.lacks("orders / order-60").await;
        browser.script("history.back()", json!([])).await;
        browser.script("history.back()", json!([])).await;
        browser.shows("orders / order-60").await;
        desk.finish(&[]).await;
    }

    async fn what_is_to_end_is_counted_on_the_button_and_nothing_is_confirmed_by_which_nothing_would_change(backend: Backend) {
        let desk = Desk::new(backend).await;
        let browser = &desk.browser;
        desk.command(&["pause", "crm", "--reason", "they are migrating"]).await;
        desk.commit("order-1", "{}").await;
        desk.commit("order-2", "{}").await;
        desk.log_in(TOKEN).await;
        browser.go("#/deliveries?state=pending&destination=crm").await;
        browser.press("All that match").await;
        browser.press("Mark delivered…").await;
        browser.shows("None would change").await;
        let idle = "return document.querySelector('dialog [type=submit]').disabled";
        assert_eq!(browser.script(idle, json!([])).await, true);
        browser.press("Leave it").await;
        browser.press("Cancel deliveries…").await;
        browser.control("Leave it").await;
        browser.fill("Reason, for the audit", "they were a trial").await;
        browser.press("End 2 deliveries").await;
        browser.shows("No such deliveries.").await;
        browser.lacks("All that match").await;
        browser.shows("Done: 2 ").await;
        browser.press("Close").await;
        browser.lacks("Done: 2 ").await;
        desk.finish(&[]).await;
    }

    async fn a_filter_that_is_refused_is_told_once_and_leaves_nothing_of_the_list(backend: Backend) {
        let desk = Desk::new(backend).await;
        let browser = &desk.browser;
        desk.commit("order-7", "{}").await;
        desk.log_in(TOKEN).await;
        browser.press("Deliveries").await;
        browser.shows("orders / order-7").await;
        // The name of the field begins as that of its group does.
        browser.script("document.querySelector('[name=destination]').focus()", json!([])).await;
        browser.keys(&format!("nowhere{ENTER}")).await;
        browser.shows("known are: crm").await;
        let text = browser.text().await;
        assert_eq!(text.matches("known are").count(), 1, "{text}");
        for gone in ["orders / order-7", "goes on trying", "All that match", "`"] {
            assert!(!text.contains(gone), "{gone}: {text}");
        }
        browser.press("Clear filter").await;
        browser.shows("orders / order-7").await;
        desk.finish(&["404"]).await;
    }

    async fn what_is_shown_stays_and_its_age_is_told_while_the_server_is_away(backend: Backend) {
        let desk = Desk::new(backend).await;
        desk.commit("order-7", "{}").await;
        desk.log_in(TOKEN).await;
        desk.browser.press("Deliveries").await;
        desk.browser.shows("orders / order-7").await;
        desk.daemon.signal("TERM").await;
        desk.browser.shows("The server does not answer").await;
        desk.browser.shows("What you see is from").await;
        desk.browser.shows("orders / order-7").await;
        desk.finish(&["ERR_"]).await;
    }
}
