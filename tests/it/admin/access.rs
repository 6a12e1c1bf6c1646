//! Who may do what: viewers look, operators change things, and a token that has ended opens nothing.

use std::time::Duration;

use aftercommit::admin::AdminSettings;
use aftercommit::store::admin::{Actor, AdminError, Role, TokenText};
use serde_json::json;

use super::client::{Client, settings};
use super::openapi::{Operation, document};
use super::world::{Backend, World, on_both};

/// Makes a token; `seed` stands for chance.
pub(super) async fn token(world: &World, name: &str, role: Role, seed: u8) -> TokenText {
    ending(world, name, role, seed, None).await
}

async fn ending(world: &World, name: &str, role: Role, seed: u8, after: Option<Duration>) -> TokenText {
    let text = TokenText::of([seed; 32]);
    let (name, tester) = (name.parse().unwrap(), tester());
    let made = world.admin.create_token(&name, role, after, &text, &tester);
    made.await.unwrap();
    text
}

fn tester() -> Actor {
    Actor::new("tester", "a test")
}

on_both! {
    async fn a_viewer_looks_at_everything_and_changes_nothing(backend: Backend) {
        let world = World::new(backend).await;
        let client = Client::of(&world).await;
        let viewer = token(&world, "grafana", Role::Viewer, 1).await;
        let operator = token(&world, "ada", Role::Operator, 2).await;
        let before = world.number("select count(*) from aftercommit.audit").await;
        for operation in Operation::all(&document(&client).await) {
            let (method, path) = (operation.method.as_str(), operation.somewhere());
            let seen = client.send_as(&viewer, method, &path, "{}").await;
            if method == "GET" {
                assert_ne!(seen.status, 403, "{path}");
            } else {
                let detail = seen.problem(403);
                assert!(detail.contains("the token `grafana` is a viewer's"), "{path}: {detail}");
                assert_ne!(client.send_as(&operator, method, &path, "{}").await.status, 403, "{path}");
            }
        }
        assert_eq!(world.number("select count(*) from aftercommit.audit").await, before);
    }

    async fn whose_token_it_is_can_be_asked(backend: Backend) {
        let world = World::new(backend).await;
        let client = Client::of(&world).await;
        let viewer = token(&world, "grafana", Role::Viewer, 1).await;
        assert_eq!(client.send_as(&viewer, "GET", "/v1/session", "").await.json(), json!({"name": "grafana", "role": "viewer"}));
        assert_eq!(client.get("/v1/session").await.json(), json!({"name": "config", "role": "operator"}));
        // Whoever takes the token out of the configuration leaves the others as they are.
        client.server.reload(AdminSettings { token: None, ..settings() });
        client.get("/v1/session").await.problem(401);
        assert_eq!(client.send_as(&viewer, "GET", "/v1/session", "").await.status, 200);
    }

    async fn a_token_opens_nothing_once_it_has_ended(backend: Backend) {
        let world = World::new(backend).await;
        let client = Client::of(&world).await;
        let short = ending(&world, "short", Role::Viewer, 1, Some(Duration::ZERO)).await;
        client.send_as(&short, "GET", "/v1/session", "").await.problem(401);
        let long = ending(&world, "long", Role::Viewer, 2, Some(Duration::from_hours(1))).await;
        assert_eq!(client.send_as(&long, "GET", "/v1/session", "").await.status, 200);
        world.admin.revoke_token("long", &tester()).await.unwrap();
        client.send_as(&long, "GET", "/v1/session", "").await.problem(401);
        client.send_as(&TokenText::of([3; 32]), "GET", "/v1/session", "").await.problem(401);
    }

    async fn a_name_is_given_once_and_a_token_is_revoked_once(backend: Backend) {
        let world = World::new(backend).await;
        token(&world, "ada", Role::Operator, 1).await;
        let first = world.admin.revoke_token("ada", &tester()).await.unwrap();
        let again = world.admin.revoke_token("ada", &tester()).await.unwrap();
        assert_eq!((first.revoked_at.is_some(), first.revoked_at), (true, again.revoked_at));
        let name = "ada".parse().unwrap();
        let taken = world.admin.create_token(&name, Role::Viewer, None, &TokenText::of([2; 32]), &tester()).await;
        assert!(matches!(taken, Err(AdminError::TokenExists(_))), "{taken:?}");
        let unknown = world.admin.revoke_token("eve", &tester()).await;
        assert!(matches!(unknown, Err(AdminError::UnknownToken(_))), "{unknown:?}");
        assert_eq!(world.text("select min(action || ' ' || subject || ' from ' || origin) from aftercommit.audit").await,
            "create operator token ada from a test");
        assert_eq!(world.text("select max(action || ' ' || subject || ' by ' || actor) from aftercommit.audit").await,
            "revoke token ada by tester");
        assert_eq!(world.number("select count(*) from aftercommit.audit").await, 2);
    }

    async fn where_the_database_is_away_nobody_is_turned_away_as_a_stranger(backend: Backend) {
        let world = World::new(backend).await;
        let client = Client::of(&world).await;
        let operator = token(&world, "ada", Role::Operator, 1).await;
        world.admin.database().close().await;
        let away = client.send_as(&operator, "GET", "/v1/session", "").await;
        away.problem(503);
        assert_eq!(away.header("retry-after"), Some("5"));
        assert_eq!(client.get("/v1/session").await.status, 200, "the configuration's needs no database");
    }
}
