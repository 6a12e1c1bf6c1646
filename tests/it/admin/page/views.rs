//! Each view, as everybody meets it: named for a screen reader, whole on a phone, without a complaint of the browser.
//!
//! With `AFTERCOMMIT_SCREENSHOTS=docs/page` the walk also keeps a picture of each view there.

use std::path::Path;

use aftercommit::mock::receiver::{Fault, Receiver, ReceiverOptions, Rule};
use serde_json::json;

use super::browser::Browser;
use super::desk::{Desk, TOKEN};
use crate::store::world::{Backend, on_both};

/// The name of a picture, where the view is, and its title.
const VIEWS: [(&str, &str, &str); 10] = [
    ("overview", "#/", "Overview"),
    ("trouble", "#/trouble", "Trouble"),
    ("deliveries", "#/deliveries", "Deliveries"),
    ("delivery", "#/deliveries/1/crm", "Outbox row 1 to crm"),
    (
        "new-replay",
        "#/replays/new?state=dead&destination=crm",
        "New replay",
    ),
    ("replays", "#/replays", "Replays"),
    ("replay", "#/replays/1", "Replay 1"),
    ("destinations", "#/destinations", "Destinations"),
    ("destination", "#/destinations/crm", "crm"),
    ("audit", "#/audit", "Audit"),
];

/// Views of which no picture is kept, and what they are about is longer than a phone is wide.
const UNPICTURED: [(&str, &str); 4] = [
    ("#/replays/new?missing=true&destination=crm", "New replay"),
    ("#/replays/new?missing=true", "New replay"),
    (
        "#/deliveries?topic=a-topic-with-a-name-that-is-longer-than-a-phone-is-wide-whoever-made-it",
        "Deliveries",
    ),
    ("#/nowhere", "Not found"),
];

/// Whatever can have the focus.
const CONTROLS: &str = "a[href], button, input, select, summary, [tabindex='0'], svg[role=img], nav, table[role=table], dialog[open]";

/// The same within a question, which is all that can be reached then.
const WITHIN_QUESTION: &str = "dialog[open], dialog[open] :is(button, input)";

/// Two more destinations: `billing` for invoices, `warehouse` for orders.
fn configuration(receiver: &Receiver) -> String {
    let destination = |name: &str, topic: &str| {
        format!(
            "[destinations.{name}]\ntype = \"webhook\"\nurl = \"{}{name}\"\ntopics = [\"{topic}\"]\nallow_http = true\n\
             allow_networks = [\"127.0.0.0/8\"]\n",
            receiver.url()
        )
    };
    let (billing, warehouse) = (
        destination("billing", "invoices"),
        destination("warehouse", "orders"),
    );
    format!("uncertain_policy = \"hold\"\n[topics.invoices]\nkind = \"event\"\n{billing}{warehouse}")
}

/// Something for each view to show: deliveries in each state, and everything that can need a person.
async fn lived_in(desk: &Desk) {
    let refused = |row_key: &str| Rule::once(Fault::Fail { status: 422 }).for_row_key(row_key);
    let busy = Fault::Throttle {
        status: 503,
        retry_after: "30".to_owned(),
    };
    let rules = [
        refused("order-1"),
        refused("order-2"),
        refused("order-3"),
        Rule::once(Fault::ProcessedThenDropped).for_row_key("order-4"),
        Rule::always(busy).for_path("/billing"),
    ];
    desk.receiver.script(rules).unwrap();
    desk.command(&["pause", "warehouse", "--reason", "they are migrating"])
        .await;
    for number in 1..=9 {
        let payload = format!(
            r#"{{"order": {number}, "customer": "c-{}", "total": "{}9.90"}}"#,
            40 + number,
            number % 4
        );
        desk.commit(&format!("order-{number}"), &payload).await;
    }
    let minute = match desk.world.backend {
        Backend::Postgres => "cast(extract(epoch from now()) as bigint) / 60",
        Backend::Sqlite => "unixepoch() / 60",
    };
    let ago = match desk.world.backend {
        Backend::Postgres => "now() - interval '14 minutes'",
        Backend::Sqlite => "now() - 840000000",
    };
    // A day that nobody waits for, with a bad quarter of an hour at its end.
    desk.world
        .execute(&format!(
            "insert into aftercommit.outbox (topic, row_key, op, payload)
             values ('invoices', 'i-1', 'event', '{{}}'), ('invoices', 'i-2', 'event', '{{}}'), ('refunds', 'r-1', 'event', '{{}}');
             insert into aftercommit.failing (destination, shard, since, dying_from, detail)
             values ('billing', 0, {ago}, {ago}, 'HTTP 503: overloaded');
             insert into aftercommit.tally (minute, destination, delivered, failed)
             with recursive past (i) as (select 1 union all select i + 1 from past where i < 1440)
             select {minute} - i, 'crm', 60 + i % 120 / 4 + i * 7919 % 17, case when i % 29 = 0 then 3 else 0 end from past
             union all
             select {minute} - i, 'billing', case when i < 15 then 0 else 9 + i * 31 % 7 end,
                    case when i < 15 then 4 + i % 3 else 0 end
             from past"
        ))
        .await;
}

/// Asks for a replay, and waits until it is done.
async fn replayed(browser: &Browser) {
    browser.go("#/replays/new?id=2:crm").await;
    browser
        .fill("Reason, for the audit", "they know the field now")
        .await;
    browser.press("Replay 1 delivery").await;
    browser.shows("done 1 delivery was made due again.").await;
}

async fn assert_everything_has_a_name(browser: &Browser, view: &str) {
    assert_each_has_a_name(browser, CONTROLS, view).await;
}

async fn assert_each_has_a_name(browser: &Browser, controls: &str, view: &str) {
    for element in browser.all(controls).await {
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
async fn keep(backend: Backend, browser: &Browser, name: &str) {
    // One database is enough: they look alike.
    if backend == Backend::Sqlite {
        return;
    }
    if let Some(folder) = std::env::var_os("AFTERCOMMIT_SCREENSHOTS") {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{name}.png")), browser.screenshot().await).unwrap();
    }
}

on_both! {
    async fn every_view_has_names_for_everything_and_fits_a_phone_and_is_free_of_complaints(backend: Backend) {
        let receiver = Receiver::start(ReceiverOptions::default()).await.unwrap();
        let (url, more) = (receiver.url(), configuration(&receiver));
        let desk = Desk::at(backend, receiver, &url, &more).await;
        let browser = &desk.browser;
        lived_in(&desk).await;
        browser.open(&desk.url).await;
        browser.control("Token").await;
        assert_everything_has_a_name(browser, "log in").await;
        desk.log_in(TOKEN).await;
        browser.shows("3 deliveries are dead, 1 uncertain").await;
        replayed(browser).await;
        for (name, hash, title) in VIEWS {
            browser.go(hash).await;
            browser.view(title).await;
            browser.holds("!document.querySelector('main [data-key=loading]')").await;
            assert_everything_has_a_name(browser, name).await;
            keep(backend, browser, name).await;
            browser.resize(360, 740).await;
            assert_no_scrolling_sideways(browser, name).await;
            browser.resize(1280, 900).await;
        }
        browser.resize(360, 740).await;
        for (hash, title) in UNPICTURED {
            browser.go(hash).await;
            browser.view(title).await;
            assert_everything_has_a_name(browser, hash).await;
            assert_no_scrolling_sideways(browser, hash).await;
        }
        browser.go("#/destinations/crm").await;
        browser.press("Show the next requests").await;
        browser.press("Test crm").await;
        assert_each_has_a_name(browser, WITHIN_QUESTION, "a question").await;
        assert_no_scrolling_sideways(browser, "a question").await;
        browser.fill("Reason, for the audit", "is it back?").await;
        browser.press("Test").await;
        browser.shows("crm worked").await;
        let lines = "const { height } = document.querySelector('.notice button.plain').getBoundingClientRect(); return Math.round(height / 24)";
        assert_eq!(browser.script(lines, json!([])).await, 1, "its button stands in one line");
        browser.resize(1280, 900).await;
        browser.prefer("dark").await;
        browser.go("#/").await;
        browser.view("Overview").await;
        keep(backend, browser, "overview-dark").await;
        browser.resize(360, 740).await;
        browser.go("#/trouble").await;
        browser.view("Trouble").await;
        keep(backend, browser, "trouble-phone").await;
        desk.finish(&[]).await;
    }
}
