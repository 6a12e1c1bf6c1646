//! Each view, as everybody meets it: named for a screen reader, whole on a phone, without a complaint of the browser.
//!
//! With `AFTERCOMMIT_SCREENSHOTS=docs/page` the walk also keeps a picture of each view there.

use std::path::Path;

use aftercommit::mock::receiver::{Fault, Rule};
use serde_json::json;

use super::browser::Browser;
use super::desk::{Desk, TOKEN};
use crate::store::world::{Backend, on_both};

/// The name of a picture, where the view is, and its title.
const VIEWS: [(&str, &str, &str); 10] = [
    ("overview", "#/", "Overview"),
    ("trouble", "#/trouble", "Trouble"),
    ("deliveries", "#/deliveries", "Deliveries"),
    ("delivery", "#/deliveries/1/hook", "Outbox row 1 to hook"),
    (
        "new-replay",
        "#/replays/new?state=dead&destination=hook",
        "New replay",
    ),
    ("replays", "#/replays", "Replays"),
    ("replay", "#/replays/1", "Replay 1"),
    ("destinations", "#/destinations", "Destinations"),
    ("destination", "#/destinations/hook", "hook"),
    ("audit", "#/audit", "Audit"),
];

/// Whatever can have the focus.
const CONTROLS: &str = "a[href], button, input, select, summary, [tabindex='0'], svg[role=img], nav, table[role=table], dialog[open]";

/// Something for each view to show.
async fn lived_in(desk: &Desk) {
    desk.receiver
        .script([Rule::next(2, Fault::Fail { status: 422 })])
        .unwrap();
    desk.commit("order-1", r#"{"order": 1, "total": "19.90"}"#).await;
    desk.commit("order-2", r#"{"order": 2, "total": "7.00"}"#).await;
    desk.receiver.received(2).await;
    desk.commit("order-3", r#"{"order": 3, "total": "1.20"}"#).await;
    desk.receiver.received(3).await;
}

/// Asks for a replay, and waits until it is done.
async fn replayed(browser: &Browser) {
    browser.go("#/replays/new?id=2:hook").await;
    browser
        .fill("Reason, for the audit", "they know the field now")
        .await;
    browser.press("Replay 1 delivery").await;
    browser.shows("done 1 delivery is due again.").await;
}

async fn assert_everything_has_a_name(browser: &Browser, view: &str) {
    for element in browser.all(CONTROLS).await {
        let name = browser.name_of(&element).await;
        assert!(
            !name.trim().is_empty(),
            "{view}: no name: {}",
            browser.markup_of(&element).await
        );
    }
}

async fn assert_no_scrolling_sideways(browser: &Browser, view: &str) {
    let script = "return [...document.querySelectorAll('body *')].filter((one) => one.checkVisibility()
                      && !one.closest('pre, .skip, thead') && one.getBoundingClientRect().right > innerWidth + 0.5)
                      .map((one) => one.outerHTML.slice(0, 200))";
    assert_eq!(
        browser.script(script, json!([])).await,
        json!([]),
        "{view} is wider than a phone"
    );
    let wide = "return document.documentElement.scrollWidth > innerWidth";
    assert_eq!(
        browser.script(wide, json!([])).await,
        false,
        "{view} scrolls sideways"
    );
}

/// Keeps a picture, if somebody wants it.
async fn keep(browser: &Browser, name: &str) {
    if let Some(folder) = std::env::var_os("AFTERCOMMIT_SCREENSHOTS") {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{name}.png")), browser.screenshot().await).unwrap();
    }
}

on_both! {
    async fn every_view_has_names_for_everything_and_fits_a_phone_and_is_free_of_complaints(backend: Backend) {
        let desk = Desk::new(backend).await;
        let browser = &desk.browser;
        lived_in(&desk).await;
        browser.open(&desk.url).await;
        browser.control("Token").await;
        assert_everything_has_a_name(browser, "log in").await;
        desk.log_in(TOKEN).await;
        browser.shows("2 deliveries are dead").await;
        replayed(browser).await;
        for (name, hash, title) in VIEWS {
            browser.go(hash).await;
            browser.view(title).await;
            browser.holds("!document.querySelector('main [data-key=loading]')").await;
            assert_everything_has_a_name(browser, name).await;
            keep(browser, name).await;
            browser.resize(360, 740).await;
            assert_no_scrolling_sideways(browser, name).await;
            browser.resize(1280, 900).await;
        }
        browser.prefer("dark").await;
        browser.go("#/").await;
        browser.view("Overview").await;
        keep(browser, "overview-dark").await;
        browser.resize(360, 740).await;
        browser.go("#/trouble").await;
        browser.view("Trouble").await;
        keep(browser, "trouble-phone").await;
        desk.finish(&[]).await;
    }
}
