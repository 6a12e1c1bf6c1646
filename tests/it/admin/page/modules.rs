//! The page's modules by themselves, in the browser that runs them: what each returns, and what it does to a document.
//!
//! The cases are written in JavaScript, since that is what they are about: each is an expression and what it must be.

use serde_json::{Value, json};

use super::browser::Browser;
use super::desk::{Desk, TOKEN};
use crate::store::world::{Backend, on_both};

/// What is evaluated, and what it must come to.
type Cases = &'static [(&'static str, &'static str)];

const FORMAT: Cases = &[
    ("count(1234567)", "'1,234,567'"),
    (
        "[0, 1, 2].map((n) => counted(n, 'row', 'rows'))",
        "['0 rows', '1 row', '2 rows']",
    ),
    (
        "[0, 59.9, 60, 3599, 3600, 172799, 172800].map(span)",
        "['0 s', '59 s', '1 min', '59 min', '1 h', '47 h', '2 days']",
    ),
    (
        "[-90, -1.4, 0, 1.4, 90].map((s) => relative(new Date(9e11 + s * 1000).toISOString(), 9e11))",
        "['1 min ago', 'just now', 'now', 'now', 'in 1 min']",
    ),
    (
        "exact('2026-11-29T18:05:37.123456Z')",
        "'2026-11-29 18:05:37.123 UTC'",
    ),
    ("exact('2026-11-29T18:05:37Z')", "'2026-11-29 18:05:37 UTC'"),
    (
        "[999, 1000, 9999999, 10000000].map(duration)",
        "['999 µs', '1 ms', '10,000 ms', '10 s']",
    ),
    (
        "[1, 1023, 1024, 1048575, 1048576].map(size)",
        "['1 byte', '1,023 bytes', '1.0 KiB', '1024.0 KiB', '1.0 MiB']",
    ),
    (
        r"visible('a\tb\nc\u202ed\u0000e\ufefff\u200bg')",
        r"'a\tb\nc\\u202ed\\u0000e\\ufefff\\u200bg'",
    ),
];

const ROUTE: Cases = &[
    (
        "to(['deliveries', 7, 'a/b?c#d'])",
        "'#/deliveries/7/a%2Fb%3Fc%23d'",
    ),
    (
        "to(['x'], { state: ['dead', 'uncertain'], none: null, not: undefined, empty: '', zero: 0 })",
        "'#/x?state=dead&state=uncertain&zero=0'",
    ),
    ("to(['x'], new URLSearchParams('a=1&b=&a=2'))", "'#/x?a=1&a=2'"),
    (
        "below(['replays', 7, 'states'], { a: 1 })",
        "'/replays/7/states?a=1'",
    ),
    (
        "(history.replaceState(null, '', '#/a%2Fb//c%zz?x=1?y&z=%26'), [here().path, [...here().query]])",
        "[['a/b', 'c%zz'], [['x', '1?y'], ['z', '&']]]",
    ),
    (
        "(history.replaceState(null, '', '#'), [here().path, [...here().query]])",
        "[[], []]",
    ),
];

const FILTER: Cases = &[
        (
            "String(filterOf(new URLSearchParams('state=dead&after=7&topic=&id=1&row_key=r')))",
            "'state=dead&row_key=r'",
        ),
        (
            "bodyOf(new URLSearchParams('state=dead&state=uncertain&http_status=422&row_key=7&first_outbox_id=1&last_outbox_id=9'))",
            "({ states: ['dead', 'uncertain'], http_status: 422, row_key: '7', first_outbox_id: 1, last_outbox_id: 9 })",
        ),
        ("bodyOf(new URLSearchParams('topic=t'))", "({ topic: 't' })"),
        (
            "selectionOf(new URLSearchParams('id=7:a:b&id=8:c&state=dead'))",
            "({ ids: [{ outbox_id: 7, destination: 'a:b' }, { outbox_id: 8, destination: 'c' }] })",
        ),
        (
            "selectionOf(new URLSearchParams('missing=true&destination=crm'))",
            "({ missing: { destination: 'crm' } })",
        ),
        ("selectionOf(new URLSearchParams('destination=crm'))", "({ filter: { destination: 'crm' } })"),
        (
            "[selected({ all: true }), selected({ missing: { destination: 'crm' } }), selected({ filter: { states: ['dead'], topic: 't' } })]",
            "['every delivery', 'rows that were never owed to crm', 'dead deliveries of the topic t']",
        ),
        (
            "[3, 4].map((n) => selected({ ids: Array.from({ length: n }, (_, i) => ({ outbox_id: i, destination: 'd' })) }))",
            "['outbox row 0 to d, outbox row 1 to d, outbox row 2 to d', 'outbox row 0 to d, outbox row 1 to d, outbox row 2 to d and 1 more']",
        ),
        (
            "inWords(new URLSearchParams('state=dead&state=uncertain&destination=crm&row_key=r&http_status=401&since=2026-11-29T18:05:00Z&first_outbox_id=3&reason=refused'))",
            "'dead or uncertain deliveries to crm of the row r last answered 401 written since 2026-11-29 18:05:00 UTC from outbox row 3 (the receiver refused it for good)'",
        ),
        (
            "(() => { let said; const form = filterForm(new URLSearchParams('since=2026-11-29T18:05:00Z&topic= t '), [], (now) => { said = String(now); });
                form.dispatchEvent(new Event('change')); return [form.elements.since.value, said]; })()",
            "['2026-11-29T18:05', 'topic=t&since=2026-11-29T18%3A05%3A00Z']",
        ),
];

const WAITS: Cases = &[
    (
        "[{ name: '' }, { name: 'a' }, { name: 'a', configured: true, pause: {} }, { name: 'a', configured: true, failing: {} }, { name: 'a', configured: true }].map((one) => shares({ ...one, owed: 9, due: 8, in_flight: 1 })[0])",
        "[['held', 7], ['held', 7], ['held', 7], ['waiting', 7], ['due now', 7]]",
    ),
    (
        "[[614, 613, 1], [5, 2, 3], [0, 0, 0]].map(([owed, due, in_flight]) => shares({ name: 'a', configured: true, owed, due, in_flight }).map(([, number]) => number))",
        "[[612, 1, 1], [0, 2, 3], [0, 0, 0]]",
    ),
    (
        "[{ name: '' }, { name: 'a' }, { name: 'a', configured: true, pause: {}, failing: {} }, { name: 'a', configured: true, failing: {} }, { name: 'a', configured: true }].map((one) => waitsFor(one))",
        "['held until its topic has a route', 'held until its destination is configured', 'held until its destination is resumed', 'waits, and goes on by itself once its receiver works', null]",
    ),
    (
        "waitsFor({ name: 'a', configured: true, failing: {} }, 464)",
        "'wait, and go on by themselves once their receiver works'",
    ),
    (
        "[{ owed: 0 }, { owed: 1 }].map((one) => meanwhile({ ...one, failing: {} }))",
        "['nothing is owed to it.', '1 waits for the next attempt, and goes on by itself once it works. Each failure uses up an attempt.']",
    ),
    (
        "[{}, { limits: { breaker_open_seconds: 15 } }].map((one) => meanwhile({ ...one, owed: 464, failing: { breaker_opened_at: '2026-11-29T18:05:00Z' } }).match(/^464 wait, and go on by themselves once it works. None dies of waiting.*looks( every 15 s)? whether it is back.$/)?.[1] ?? null)",
        "[null, ' every 15 s']",
    ),
];

const NEEDS: Cases = &[
        (
            "[{ name: '' }, { name: 'a' }, { name: 'a', configured: true, pause: {}, failing: {} }, { name: 'a', configured: true, failing: {} },
              { name: 'a', configured: true, settled: { dead: 0, uncertain: 1 } }, { name: 'a', configured: true, settled: { dead: 0, uncertain: 0 } }].map((one) => standing(one).innerText)",
            "['unrouted', 'not configured', 'paused', 'failing', 'working, with trouble', 'working']",
        ),
        (
            "needs({ relays: [{ alive: false }], destinations: [], unrouted_topics: [] }, { then: false }).innerText.includes('No relay is alive')",
            "true",
        ),
        (
            "needs({ relays: [{ alive: false }, { alive: true }], destinations: [], unrouted_topics: [] }, { then: false }).innerText",
            "'All is well: nothing waits for a person.'",
        ),
        (
            "[0, 1].map((owed) => needs({ relays: [{ alive: true }], destinations: [{ name: 'a', owed, settled: { dead: 0, uncertain: 0 } }], unrouted_topics: [] }, { then: false }).innerText.includes('is not in the configuration'))",
            "[false, true]",
        ),
        (
        "needs({ relays: [{ alive: true }], destinations: [{ name: 'a', configured: true, settled: { dead: 0, uncertain: 1 } }], unrouted_topics: [] }, { then: false }).innerText",
        "'a: 1 uncertain'",
    ),
    (
            "[false, () => {}].map((then) => needs({ relays: [{ alive: true }], destinations: [], unrouted_topics: [{ topic: 't', rows: 2 }] }, { then }).querySelectorAll('a').length)",
            "[0, 1]",
        ),
        (
            "[null, 'a', 'b'].map((name) => obstacles({ destinations: [{ name: 'a', configured: true, failing: { since: '2026-11-29T18:05:00Z' }, settled: { dead: 3, uncertain: 0 } }] }, name, { then: false })?.childElementCount ?? 0)",
            "[1, 1, 0]",
        ),
        (
            "troubles({ name: 'a', settled: { dead: 2, uncertain: 1 } }).map((one) => one.hash ?? one)",
            "['#/deliveries?state=dead&destination=a', ', ', '#/deliveries?state=uncertain&destination=a']",
        ),
];

/// What a live update leaves as it is, and what it changes. `list(…)` draws an item for each key.
const PATCH: &str = "
    const { patch } = await import('/assets/patch.js');
    const { h } = await import('/assets/dom.js');
    const region = h('div');
    document.body.append(region);
    const seen = {};
    const list = (...keys) => h('ul', null, keys.map((key) => h('li', { 'data-key': key }, `${key}`)));
    const keys = () => [...region.querySelectorAll('li')].map((one) => one.dataset.key).join('');
    patch(region, list('a', 'b', 'c'));
    const [a, b, c] = region.querySelectorAll('li');
    patch(region, list('c', 'd', 'a'));
    seen.order = keys();
    seen.same = region.querySelector('[data-key=a]') === a && region.querySelector('[data-key=c]') === c;
    seen.gone = b.isConnected;
    patch(region, list());
    seen.emptied = keys();
    patch(region, [h('div', { 'data-key': 'gone' }), h('p', null, 'stays')]);
    const stays = region.querySelector('p');
    patch(region, h('p', null, 'stays'));
    seen.after_gone = region.querySelector('p') === stays;

    let clicked = '';
    const view = (word, more) => [
        h('p', more, word),
        h('button', { onclick: () => { clicked += word; }, class: word, disabled: word === 'two' }, 'go'),
        h('input', { value: word, placeholder: word }),
        h('details', { open: true }, h('summary', null, 'more'), word),
        h('input', { value: word, checked: word === 'two' }),
    ];
    patch(region, view('one', { title: 'one' }));
    const [p, button, input, details, untouched] = region.children;
    const text = p.firstChild;
    input.focus();
    input.value = 'mine';
    details.open = false;
    button.click();
    patch(region, view('two', null));
    button.disabled = false;
    button.click();
    seen.kept = [...region.children].every((one, index) => one === [p, button, input, details, untouched][index]) && p.firstChild === text;
    seen.text = p.textContent;
    seen.clicked = clicked;
    seen.attributes = [p.hasAttribute('title'), button.className, input.placeholder];
    seen.theirs = [input.value, details.open, document.activeElement === input, untouched.value, untouched.checked];
    patch(region, h('section', null, 'three'));
    seen.replaced = region.innerHTML;
    region.remove();
    return seen;";

/// When a view looks, and what it shows after which answer. `answers` are given one by one, by hand.
const LIVE: &str = "
    const { live } = await import('/assets/live.js');
    const { Problem } = await import('/assets/api.js');
    const { h } = await import('/assets/dom.js');
    const region = document.createElement('div');
    document.body.append(region);
    const leave = new AbortController();
    const waits = [];
    const [set, clear] = [window.setTimeout, window.clearTimeout];
    window.setTimeout = (_, after) => { waits.push(after); return waits.length; };
    window.clearTimeout = () => {};
    const asked = [];
    const settled = () => new Promise((done) => set(done, 0));
    const view = live(region, leave.signal, () => new Promise((told, refused) => asked.push({ told, refused })), (word) => (word === 'button' ? h('button', null, word) : word));
    const seen = { loading: [region.innerText, region.getAttribute('aria-busy')] };
    const problem = (status) => new Problem(status, `title ${status}`, `detail ${status}`);
    void view.look();
    asked[1].told('new');
    await settled();
    asked[0].told('old');
    await settled();
    seen.overtaken = [region.innerText.trim(), region.getAttribute('aria-busy'), waits.length];
    for (const status of [0, 500, 429, 404]) {
        void view.look();
        asked.at(-1).refused(problem(status));
        await settled();
        seen[status] = [region.innerText.includes('new'), region.innerText.includes('The page goes on trying'), region.innerText.includes(`title ${status}`), waits.length];
    }
    void view.look();
    asked.at(-1).told('well');
    await settled();
    seen.well = region.innerText.trim();
    const hide = (hidden) => {
        Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
    };
    const before = asked.length;
    hide(true);
    seen.hidden = [asked.length - before];
    hide(false);
    seen.hidden.push(asked.length - before);
    asked.at(-1).told('button');
    await settled();
    region.querySelector('button').focus();
    void view.look();
    asked.at(-1).told('well');
    await settled();
    seen.focus = document.activeElement.innerText;
    void view.look();
    leave.abort();
    asked.at(-1).told('left');
    await settled();
    seen.left = [region.innerText.trim(), waits.length];
    seen.pauses = [...new Set(waits)];
    [window.setTimeout, window.clearTimeout] = [set, clear];
    region.remove();
    return seen;";

async fn hold(browser: &Browser, module: &str, names: &str, cases: Cases) {
    for (expression, expected) in cases {
        let script = format!(
            "const {{ {names} }} = await import('/assets/{module}.js');
             return [{expression}, {expected}];"
        );
        let both = seen(browser, &script).await;
        assert_eq!(both[0], both[1], "{module}.js: {expression}");
    }
}

async fn seen(browser: &Browser, script: &str) -> Value {
    let script = format!("return (async () => {{ {script} }})()");
    browser.script(&script, json!([])).await
}

on_both! {
    async fn the_modules_of_the_page_keep_to_their_word(backend: Backend) {
        let desk = Desk::new(backend).await;
        let browser = &desk.browser;
        desk.log_in(TOKEN).await;
        hold(browser, "format", "count, counted, span, relative, exact, duration, size, visible", FORMAT).await;
        hold(browser, "route", "to, below, here", ROUTE).await;
        hold(browser, "filter", "filterOf, bodyOf, selectionOf, selected, inWords, filterForm", FILTER).await;
        hold(browser, "waits", "shares, waitsFor, meanwhile", WAITS).await;
        hold(browser, "needs", "standing, needs, obstacles, troubles", NEEDS).await;
        desk.finish(&[]).await;
    }

    async fn an_update_changes_what_differs_and_leaves_what_is_the_person_s(backend: Backend) {
        let desk = Desk::new(backend).await;
        desk.log_in(TOKEN).await;
        let expected = json!({
            "order": "cda", "same": true, "gone": false, "emptied": "", "after_gone": true, "kept": true, "text": "two", "clicked": "onetwo",
            "attributes": [false, "two", "two"], "theirs": ["mine", false, true, "one", false], "replaced": "<section>three</section>",
        });
        assert_eq!(seen(&desk.browser, PATCH).await, expected);
        desk.finish(&[]).await;
    }

    async fn a_view_shows_the_newest_answer_and_goes_on_trying_but_not_what_is_refused(backend: Backend) {
        let desk = Desk::new(backend).await;
        desk.log_in(TOKEN).await;
        // No other view looks meanwhile.
        desk.browser.go("#/nowhere").await;
        desk.browser.view("Not found").await;
        let expected = json!({
            "loading": ["Looking…", "true"],
            // What was asked first and answered last is old.
            "overtaken": ["new", "false", 1],
            // What was shown stays; whether it goes on trying; the title is said where the server did not refuse; how often it waits.
            "0": [true, true, true, 2],
            "500": [true, true, true, 3],
            "429": [true, true, false, 4],
            "404": [false, false, false, 4],
            "well": "well",
            "hidden": [0, 1],
            // What had the focus is gone: it begins again at the heading.
            "focus": "Not found",
            "left": ["well", 7],
            "pauses": [3000],
        });
        assert_eq!(seen(&desk.browser, LIVE).await, expected);
        desk.finish(&[]).await;
    }
}
