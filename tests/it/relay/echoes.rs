//! Receivers that repeat what they were sent, secrets included, and what people see of it.

mod echo;

use std::time::Duration;

use aftercommit::admin::AdminSettings;
use aftercommit::clock::Clock;
use aftercommit::relay::assemble;
use aftercommit::relay::receivers::Receivers;
use aftercommit::store::admin::AdminStore;
use echo::{ACCESS_TOKEN, Echo, Login, REFRESH_TOKEN};
use std::sync::Arc;

use super::world::{Backend, SWIFT, World, on_both};
use crate::admin::client::{Client, settings};

/// Every secret that stands in the configuration, in a row, or is given by a receiver.
const SECRETS: [&str; 12] = [
    "9fX4qLwZt7b3ar3r",
    "T024BE7LDQ9w",
    "k3yQ7ue+ry/Z8==",
    "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "x\"quoted\\s3cr3t",
    "r0wT0kenV4lue",
    "cl13ntIdZw8",
    "cl13ntS3cr3tQ",
    "refr3shT0kenY",
    ACCESS_TOKEN,
    REFRESH_TOKEN,
    "0rgS3cr3tW7",
];

const CONFIG: &str = r#"
[destinations.echo]
type = "webhook"
url = "{echo}/hooks/customers/T024BE7LDQ9w?key=k3yQ7ue%2Bry%2FZ8%3D%3D"
topics = ["orders"]
allow_http = true
allow_networks = ["127.0.0.0/8"]
timeout = "1s"
connect_timeout = "1s"
secrets = ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"]
[destinations.echo.headers]
authorization = "Bearer 9fX4qLwZt7b3ar3r"
x-odd = "x\"quoted\\s3cr3t"
[topics.contacts]
kind = "state"
[destinations.crm]
type = "hubspot"
url = "{echo}"
topics = ["contacts"]
object = "contacts"
id_property = "email"
batch_wait = "20ms"
allow_http = true
allow_networks = ["127.0.0.0/8"]
timeout = "1s"
connect_timeout = "1s"
client_id = "cl13ntIdZw8"
client_secret = "cl13ntS3cr3tQ"
refresh_token = "refr3shT0kenY"
fields = { firstname = "name" }
[topics.accounts]
kind = "state"
[destinations.org]
type = "salesforce"
login_url = "{echo}"
topics = ["accounts"]
object = "Account"
external_id = "Ext__c"
batch_wait = "20ms"
allow_http = true
allow_networks = ["127.0.0.0/8"]
timeout = "1s"
connect_timeout = "1s"
client_id = "cl13ntIdZw8"
client_secret = "0rgS3cr3tW7"
fields = { Name = "name" }
[topics.leads]
kind = "state"
[destinations.shut]
type = "salesforce"
login_url = "{shut}"
topics = ["leads"]
object = "Lead"
external_id = "Ext__c"
batch_wait = "20ms"
allow_http = true
allow_networks = ["127.0.0.0/8"]
timeout = "1s"
connect_timeout = "1s"
client_id = "cl13ntIdZw8"
client_secret = "0rgS3cr3tW7"
fields = { Name = "name" }
"#;

/// The first piece of six characters of a secret that stands in `text`.
fn leaked<'a>(text: &str, secret: &'a str) -> Option<&'a str> {
    let pieces = (0..=secret.len() - 6).map(|start| &secret[start..start + 6]);
    pieces.into_iter().find(|piece| text.contains(piece))
}

/// Whoever may look at `world` through the admin API.
async fn viewer(world: &World, config: &str) -> Client {
    let config = world.config(config);
    let clock: Arc<dyn Clock> = world.clock.clone();
    let destinations = assemble::destinations(&config, &clock).unwrap();
    let settings = AdminSettings {
        receivers: Receivers::of(&config, &destinations, &clock),
        ..settings()
    };
    let store = AdminStore::new(world.base.database.clone(), Duration::from_secs(30));
    Client::before(store, settings).await
}

on_both! {
    async fn nothing_that_people_see_holds_a_secret_that_a_receiver_has_repeated(backend: Backend) {
        let (echo, shut) = (Echo::start(Login::Good).await, Echo::start(Login::Refused).await);
        let config = format!("{SWIFT}{CONFIG}").replace("{echo}", &echo.url()).replace("{shut}", &shut.url());
        let world = World::with(backend, &config).await;
        let relay = world.relay(&config).await;
        world.base.execute(
            r#"insert into aftercommit.outbox (topic, row_key, op, payload, headers) values
               ('orders', 'o-1', 'event', '{"n": 1}', '{"x-session-token": "r0wT0kenV4lue", "x-tenant": "acme"}'),
               ('contacts', 'a@b.co', 'upsert', '{"name": "A"}', null),
               ('accounts', 'a-1', 'upsert', '{"name": "A"}', null),
               ('leads', 'l-1', 'upsert', '{"name": "A"}', null)"#,
        ).await;
        world.until(&[("dead", 3), ("delivered", 1), ("pending", 1)]).await;
        world.until_number("select count(*) from aftercommit.destination_state where pause_reason is not null", 1).await;

        let client = viewer(&world, &config).await;
        let mut seen = String::new();
        for path in [
            "/v1/deliveries/1/echo", "/v1/deliveries/1/echo/request", "/v1/deliveries/2/crm", "/v1/deliveries/3/org",
            "/v1/deliveries/4/shut", "/v1/trouble", "/v1/destinations", "/v1/status", "/v1/audit",
        ] {
            let answer = client.get(path).await;
            assert_eq!(answer.status, 200, "{path}: {}", answer.body());
            seen += answer.body();
        }
        for destination in ["echo", "crm", "org", "shut"] {
            let path = format!("/v1/destinations/{destination}/test");
            seen += client.post(&path, r#"{"reason": "r"}"#).await.body();
        }
        for secret in SECRETS {
            assert_eq!(leaked(&seen, secret), None, "{secret} in {seen}");
        }
        let signatures = echo.signatures();
        assert!(!signatures.is_empty());
        for signature in &signatures {
            assert_eq!(leaked(&seen, signature.strip_prefix("v1,").unwrap()), None, "{seen}");
        }

        // What is no secret is there: the excerpts were kept.
        for told in ["x-tenant: acme", "authorization: Bearer (secret)", "HTTP 409, (secret)", "HTTP 400, (secret)"] {
            assert!(seen.contains(told), "{told:?} is not in {seen}");
        }
        assert!(seen.contains("invalid_client from the token endpoint (bad (secret)"), "{seen}");
        world.finish([relay]).await;
    }
}
