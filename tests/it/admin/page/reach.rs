//! Without a mouse, without eyes, on a phone.

use aftercommit::mock::receiver::{Fault, Rule};
use serde_json::json;

use super::browser::{ENTER, ESCAPE, TAB};
use super::desk::{Desk, TOKEN};
use crate::store::world::{Backend, on_both};

on_both! {
    async fn a_dead_row_is_found_and_replayed_by_the_keyboard_alone(backend: Backend) {
        let desk = Desk::new(backend).await;
        let browser = &desk.browser;
        desk.receiver.script([Rule::once(Fault::Fail { status: 422 })]).unwrap();
        desk.commit("order-7", "{}").await;
        browser.open(&desk.url).await;
        assert_eq!(browser.focused().await, "Token");
        browser.keys(&format!("{TOKEN}{ENTER}")).await;
        browser.view("Overview").await;
        assert_eq!(browser.focused().await, "Overview", "a view is come to at its heading");
        browser.shows("1 delivery is dead").await;
        browser.tab_to("1 delivery is dead").await;
        browser.keys(&ENTER.to_string()).await;
        browser.view("Trouble").await;
        browser.shows("Replay…").await;
        browser.tab_to("Replay…").await;
        browser.keys(&ENTER.to_string()).await;
        browser.shows("1 delivery would be due again").await;
        browser.tab_to("Reason, for the audit").await;
        browser.keys(&format!("by keyboard{ENTER}")).await;
        browser.shows("done 1 delivery was made due again.").await;
        assert_eq!(browser.focused().await, "Replay 1");
        desk.finish(&[]).await;
    }

    async fn a_page_that_is_loaded_begins_before_the_navigation_and_a_view_at_its_heading(backend: Backend) {
        let desk = Desk::new(backend).await;
        let browser = &desk.browser;
        desk.log_in(TOKEN).await;
        browser.go("#/deliveries").await;
        browser.view("Deliveries").await;
        browser.script("location.reload()", json!([])).await;
        browser.shows("No such deliveries.").await;
        browser.keys(&TAB.to_string()).await;
        assert_eq!(browser.focused().await, "Skip to the content");
        browser.tab_to("Audit").await;
        browser.keys(&ENTER.to_string()).await;
        browser.view("Audit").await;
        assert_eq!(browser.focused().await, "Audit");
        desk.finish(&[]).await;
    }

    async fn a_question_holds_the_focus_and_gives_it_back(backend: Backend) {
        let desk = Desk::new(backend).await;
        let browser = &desk.browser;
        desk.log_in(TOKEN).await;
        browser.press("Destinations").await;
        browser.control("Pause crm").await;
        browser.tab_to("Pause crm").await;
        browser.keys(&ENTER.to_string()).await;
        assert_eq!(browser.focused().await, "Reason, for the audit");
        browser.tab_to("Leave it").await;
        browser.keys(&ESCAPE.to_string()).await;
        assert_eq!(browser.focused().await, "Pause crm");
        browser.keys(&ENTER.to_string()).await;
        browser.keys(&format!("a trial{ENTER}")).await;
        browser.control("Resume crm").await;
        assert_eq!(browser.focused().await, "Resume crm");
        desk.finish(&[]).await;
    }

    async fn a_live_update_leaves_the_focus_where_it_is(backend: Backend) {
        let desk = Desk::new(backend).await;
        let browser = &desk.browser;
        desk.commit("order-1", "{}").await;
        desk.log_in(TOKEN).await;
        browser.press("Deliveries").await;
        browser.control("orders / order-1").await;
        browser.tab_to("orders / order-1").await;
        desk.commit("order-2", "{}").await;
        browser.shows("orders / order-2").await;
        assert_eq!(browser.focused().await, "orders / order-1");
        desk.finish(&[]).await;
    }

    async fn a_hidden_page_asks_nothing_and_looks_at_once_when_it_is_seen_again(backend: Backend) {
        let desk = Desk::new(backend).await;
        let browser = &desk.browser;
        desk.log_in(TOKEN).await;
        browser.press("Deliveries").await;
        browser.shows("No such deliveries.").await;
        // A clock that only says whether the page waits for its next look.
        let clock = "window.setTimeout = () => { document.body.dataset.waits = 'yes'; return 1; };
                     window.clearTimeout = () => { document.body.dataset.waits = 'no'; };";
        let hide = "Object.defineProperty(document, 'hidden', { value: arguments[0], configurable: true });
                    document.dispatchEvent(new Event('visibilitychange'));
                    return document.body.dataset.waits;";
        browser.script(clock, json!([])).await;
        browser.script(hide, json!([false])).await;
        browser.holds("document.body.dataset.waits === 'yes'").await;
        assert_eq!(browser.script(hide, json!([true])).await, "no", "a hidden page waits for nothing");
        desk.commit("order-1", "{}").await;
        browser.script(hide, json!([false])).await;
        browser.shows("orders / order-1").await;
        desk.finish(&[]).await;
    }
}
