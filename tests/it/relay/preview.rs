//! What is previewed is what is sent: the same method, body and key, and nothing before. Those of CRMs stand beside their other
//! stories.

use aftercommit::mock::crm::{Crm, MockServer};
use aftercommit::mock::receiver::{Fault, Rule};
use aftercommit::relay::dispatcher::preview::{Outlook, outlook};

use super::world::{Backend, SWIFT, World, on_both};

/// The next `most` deliveries of `destination`.
pub(super) async fn look(world: &World, config: &str, destination: &str, most: usize) -> Outlook {
    let destinations = world.destinations(config);
    outlook(
        &world.base.store,
        "test",
        destination,
        &destinations[destination],
        most,
    )
    .await
    .unwrap()
}

/// Everything that a preview must leave as it is, counted.
async fn rows(world: &World) -> Vec<i64> {
    let tables = [
        "owed",
        "settled",
        "attempt",
        "dispatch",
        "rendering",
        "lease",
        "relay",
        "audit",
    ];
    let mut counts = Vec::new();
    for table in tables {
        counts.push(
            world
                .base
                .number(&format!("select count(*) from aftercommit.{table}"))
                .await,
        );
    }
    counts
}

/// Method, target without the host, and body of each request of an outlook.
pub(super) fn previewed(outlook: &Outlook) -> Vec<(String, String, String)> {
    let request = |request: &aftercommit::relay::dispatcher::preview::NextRequest| {
        let sketch = &request.sketch;
        let target = sketch.url.splitn(4, '/').nth(3).unwrap();
        (
            sketch.method.clone(),
            format!("/{target}"),
            sketch.body.clone().unwrap_or_default(),
        )
    };
    outlook.requests.iter().map(request).collect()
}

/// The same of the requests that a CRM saw, but for logins and looks.
pub(super) fn sent<C: Crm>(mock: &MockServer<C>) -> Vec<(String, String, String)> {
    let is_about_rows = |target: &str| {
        !["/oauth", "/describe", "/properties/"]
            .iter()
            .any(|part| target.contains(part))
    };
    mock.with(|_, _, journal| {
        let entries = journal
            .entries()
            .filter(|entry| is_about_rows(&entry.target) && !entry.body.contains("\"inputs\":[]"));
        entries
            .map(|entry| (entry.method.clone(), entry.target.clone(), entry.body.clone()))
            .collect()
    })
}

on_both! {
    async fn a_preview_of_a_webhook_is_what_is_sent_and_shows_no_secret(backend: Backend) {
        let more = format!("headers = {{ authorization = \"canary\" }}\n{SWIFT}");
        let world = World::with(backend, &more).await;
        world.orders(3, |number| format!("o-{number}")).await;
        world.customer("c-1", 1, r#"{"n": 1.50}"#).await;
        world.customer("c-1", 2, r#"{"n": 2.50}"#).await;
        let before = rows(&world).await;
        let outlook = look(&world, &more, "hook", 10).await;
        assert_eq!(rows(&world).await, before, "nothing is written");
        assert_eq!(world.receiver.counts().requests, 0, "nothing is sent");
        assert_eq!((outlook.requests.len(), outlook.superseded, outlook.looked_at), (4, 1, 5));

        let shown = serde_json::to_string(&outlook).unwrap();
        assert!(!shown.contains("canary") && !shown.contains("v1,"), "{shown}");
        let relay = world.relay(&more).await;
        world.until(&[("delivered", 4), ("superseded", 1)]).await;
        for request in &outlook.requests {
            let [which] = &request.deliveries[..] else { panic!("one row, one request") };
            let requests = world.receiver.requests();
            let sent = requests.iter().find(|sent| sent.row_key() == Some(&which.row_key)).unwrap();
            assert_eq!(sent.key.as_ref(), which.idempotency_key.as_ref());
            assert_eq!(sent.method, request.sketch.method);
            assert_eq!(sent.body.as_deref(), request.sketch.body.as_deref().map(str::as_bytes));
            for (name, value) in request.sketch.headers.iter().filter(|(name, _)| name.starts_with("aftercommit-")) {
                assert_eq!(sent.header(name), Some(value.as_str()), "{name}");
            }
        }
        world.finish([relay]).await;
    }

    async fn a_preview_renders_an_attempted_delivery_as_it_was_rendered_first(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        world.receiver.script([Rule::always(Fault::Fail { status: 500 })]).unwrap();
        world.orders(1, |_| "o-1".into()).await;
        let first = world.relay(SWIFT).await;
        world.until_number("select count(*) from aftercommit.owed where rendering is not null", 1).await;
        first.relay.shutdown(std::time::Duration::from_secs(10)).await.unwrap();
        world.orders(2, |_| "o-2".into()).await;
        let envelope = format!("body = \"envelope\"\n{SWIFT}");
        let outlook = look(&world, &envelope, "hook", 10).await;
        let bodies: Vec<_> = outlook.requests.iter().map(|request| request.sketch.body.clone().unwrap()).collect();
        assert_eq!(bodies.iter().filter(|body| *body == "{\"order\":1}").count(), 1, "{bodies:?}");
        assert!(bodies.iter().any(|body| body.starts_with("{\"type\":\"orders\"")), "{bodies:?}");
        let again = outlook.requests.iter().find(|request| request.deliveries[0].row_key == "o-1").unwrap();
        assert!(again.deliveries[0].attempt > 1);
        world.finish([]).await;
    }

    async fn a_preview_says_why_a_row_is_not_sent(backend: Backend) {
        let world = World::with(backend, SWIFT).await;
        world.orders(2, |number| format!("o-{number}")).await;
        world.base.execute("update aftercommit.owed set unknown_since = owed_at where outbox_id = 1").await;
        let hold = format!("uncertain_policy = \"hold\"\n{SWIFT}");
        let outlook = look(&world, &hold, "hook", 10).await;
        let [unsent] = &outlook.unsent[..] else { panic!("{outlook:?}") };
        assert_eq!((unsent.which.outbox_id, unsent.why.as_str()), (1, "it ends as uncertain (outcome_unknown)"));
        assert_eq!(outlook.requests.len(), 1);
        world.finish([]).await;
    }
}
