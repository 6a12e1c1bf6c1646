//! The words for nothing, for waiting and for failure, and who hears of them: every view has them.

use serde_json::{Value, json};

use super::browser::Browser;
use super::desk::{Desk, TOKEN};
use crate::store::world::{Backend, on_both};

/// Where a view is, and what it says on a database that holds nothing.
const EMPTY: [(&str, &str); 8] = [
    ("#/", "All is well: nothing waits for a person."),
    ("#/trouble", "No delivery is dead or uncertain."),
    ("#/deliveries", "No such deliveries."),
    ("#/destinations", "working"),
    (
        "#/destinations/crm",
        "No delivery that is owed or in trouble has an error.",
    ),
    ("#/replays", "There was no replay yet."),
    ("#/replays/new?state=dead", "Nothing to replay"),
    ("#/audit", "Nobody has changed anything yet."),
];
/// Views of one thing, which there is or is not.
const OF_ONE: [&str; 2] = ["#/deliveries/1/crm", "#/replays/1"];

/// From now on the API answers this way.
async fn answer(browser: &Browser, answer: &str) {
    browser
        .script(&format!("window.fetch = () => {answer}"), json!([]))
        .await;
}

/// The roles of the elements that this selector finds.
async fn roles(browser: &Browser, selector: &str) -> Vec<String> {
    let mut roles = vec![];
    for element in browser.all(selector).await {
        roles.push(browser.role_of(&element).await);
    }
    roles
}

/// That something of this role, which stood there before, says this.
fn said(role: &str, words: &str) -> String {
    format!(
        "[...document.querySelectorAll('[role={role}]')].some((one) => one.before && one.innerText.includes('{words}'))"
    )
}

on_both! {
    async fn every_view_has_words_for_nothing(backend: Backend) {
        let desk = Desk::new(backend).await;
        desk.log_in(TOKEN).await;
        for (hash, words) in EMPTY {
            desk.browser.go(hash).await;
            desk.browser.shows(words).await;
        }
        for hash in OF_ONE {
            desk.browser.go(hash).await;
            desk.browser.shows("There is no").await;
        }
        desk.browser.go("#/nowhere").await;
        desk.browser.shows("There is no such view. Back to the overview").await;
        desk.finish(&["404"]).await;
    }

    async fn every_view_says_that_it_looks_and_what_went_wrong(backend: Backend) {
        let desk = Desk::new(backend).await;
        let browser = &desk.browser;
        desk.log_in(TOKEN).await;
        let views = EMPTY.iter().map(|(hash, _)| *hash).chain(OF_ONE);
        answer(browser, "new Promise(() => {})").await;
        for hash in views.clone().filter(|hash| *hash != "#/") {
            browser.go(hash).await;
            browser.shows("Looking…").await;
        }
        answer(browser, "Promise.resolve(new Response('<html>', { status: 502 }))").await;
        for hash in views {
            browser.go(hash).await;
            browser.shows("The server answered 502. The server answered 502 and gave no reason; the log of the daemon may.").await;
            browser.lacks("Looking…").await;
        }
        answer(browser, "Promise.reject(new TypeError('no'))").await;
        browser.go("#/trouble").await;
        browser.shows("The server does not answer. Is the daemon running, and can this machine reach it?").await;
        desk.finish(&[]).await;
    }

    async fn a_screen_reader_finds_landmarks_and_hears_what_is_done_and_what_goes_wrong(backend: Backend) {
        let desk = Desk::new(backend).await;
        let browser = &desk.browser;
        desk.commit("order-1", "{}").await;
        desk.log_in(TOKEN).await;
        assert_eq!(roles(browser, "body > *").await, ["link", "banner", "main", "status"]);
        assert_eq!(roles(browser, "header > nav").await, ["navigation"]);
        let current = "return [...document.querySelectorAll('header nav [aria-current=page]')].map((one) => one.innerText)";
        assert_eq!(browser.script(current, json!([])).await, json!(["Overview"]));
        // Where something will be said stands there before it is: what comes with its words is not heard.
        let mark = "for (const one of document.querySelectorAll('[role=status], [role=alert], [aria-live]')) one.before = true;";
        browser.go("#/destinations").await;
        browser.view("Destinations").await;
        browser.script(mark, json!([])).await;
        browser.press("Pause crm").await;
        browser.fill("Reason, for the audit", "they are migrating").await;
        browser.press("Pause").await;
        browser.holds(&said("status", "crm is paused.")).await;
        browser.go("#/deliveries").await;
        browser.view("Deliveries").await;
        browser.script(mark, json!([])).await;
        answer(browser, "Promise.resolve(new Response('<html>', { status: 502 }))").await;
        browser.holds(&said("alert", "The server answered 502")).await;
        let headings = browser.script("return document.querySelectorAll('h1').length", json!([])).await;
        assert_eq!(headings, Value::from(1));
        desk.finish(&[]).await;
    }
}
