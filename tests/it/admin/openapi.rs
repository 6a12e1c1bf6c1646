//! The API's description of itself: whole, and true to the routes.

use std::collections::BTreeSet;

use aftercommit::core::delivery::Reason;
use aftercommit::store::Store as _;
use serde_json::Value;

use super::client::{Client, TOKEN};
use super::destinations;
use super::world::{Backend, TTL, World, on_both};

/// Nobody knows it.
const STRICT: &str = "no-such-parameter";

/// An operation as the document describes it.
pub(super) struct Operation {
    pub(super) method: String,
    pub(super) path: String,
    text: Value,
}

impl Operation {
    pub(super) fn all(document: &Value) -> Vec<Self> {
        let of_path = |(path, item): (&String, &Value)| {
            let methods = item.as_object().unwrap().iter();
            let operation = |(method, text): (&String, &Value)| Self {
                method: method.to_uppercase(),
                path: path.clone(),
                text: text.clone(),
            };
            methods.map(operation).collect::<Vec<_>>()
        };
        document["paths"]
            .as_object()
            .unwrap()
            .iter()
            .flat_map(of_path)
            .collect()
    }

    pub(super) fn id(&self) -> String {
        self.text["operationId"].as_str().unwrap().to_owned()
    }

    /// Where it stands, with something in place of each variable part.
    pub(super) fn somewhere(&self) -> String {
        let part = |part: &str| match part {
            "{outbox_id}" | "{id}" => "1".to_owned(),
            part if part.starts_with('{') => "crm".to_owned(),
            part => part.to_owned(),
        };
        self.path.split('/').map(part).collect::<Vec<_>>().join("/")
    }

    fn names_in(&self, place: &str) -> BTreeSet<String> {
        let parameters = self.text["parameters"].as_array().into_iter().flatten();
        parameters
            .filter(|parameter| parameter["in"] == place)
            .map(|parameter| parameter["name"].as_str().unwrap().to_owned())
            .collect()
    }
}

pub(super) async fn document(client: &Client) -> Value {
    client.ask("GET /openapi.json HTTP/1.1\r\n").await.json()
}

/// Every media type under `text`.
fn contents(text: &Value) -> Vec<(&String, &Value)> {
    text["content"].as_object().into_iter().flatten().collect()
}

on_both! {
    async fn the_document_and_the_routes_are_one(backend: Backend) {
        let world = World::new(backend).await;
        let client = Client::of(&world).await;
        let operations = Operation::all(&document(&client).await);
        assert!(operations.len() > 10);
        for operation in &operations {
            let same_path = operations.iter().filter(|other| other.path == operation.path);
            let mut documented: BTreeSet<&str> = same_path.map(|other| other.method.as_str()).collect();
            if documented.contains("GET") {
                documented.insert("HEAD");
            }
            let refused = client.ask(&format!(
                "PUT {} HTTP/1.1\r\nauthorization: Bearer {}\r\n", operation.somewhere(), TOKEN)).await;
            refused.problem(405);
            let allowed: BTreeSet<&str> = refused.header("allow").unwrap().split(',').collect();
            assert_eq!(documented, allowed, "{}", operation.path);
        }
    }

    async fn what_the_document_says_wants_a_token_does_and_nothing_else_does(backend: Backend) {
        let world = World::new(backend).await;
        let client = Client::of(&world).await;
        for operation in Operation::all(&document(&client).await) {
            let answer = client.ask(&format!("{} {} HTTP/1.1\r\n", operation.method, operation.somewhere())).await;
            let wants_token = operation.text["security"][0]["token"].is_array();
            assert_eq!(answer.status == 401, wants_token, "{}", operation.path);
        }
    }

    async fn a_query_is_read_by_the_names_that_the_document_gives(backend: Backend) {
        let world = World::new(backend).await;
        let client = Client::of(&world).await;
        for operation in Operation::all(&document(&client).await) {
            let names = operation.names_in("query");
            if operation.method == "GET" && !names.is_empty() {
                let refused = client.get(&format!("{}?{STRICT}=1", operation.somewhere())).await;
                refused.problem(400);
                let known: BTreeSet<String> = serde_json::from_value(refused.json()["known"].clone()).unwrap();
                assert_eq!(names, known, "{}", operation.path);
            }
        }
    }
}

on_both! {
    async fn schemathesis_finds_no_request_that_is_not_answered_as_described(backend: Backend) {
        let world = World::new(backend).await;
        world.commit_orders(1, 30).await;
        world.settle("crm", "outbox_id < 10", Reason::Refused).await;
        world.settle("hook", "outbox_id < 10", Reason::OutcomeUnknown).await;
        // Whatever is tried out there reaches nobody.
        let client = destinations::client(&world, &destinations::config(destinations::NOBODY, "")).await;
        world.store.beat(&client.relay, TTL).await.unwrap();
        let url = format!("http://{}/openapi.json", client.address);
        crate::python::run("openapi_test.py", &[&url], &[("TOKEN", TOKEN)]).await;
    }
}

#[tokio::test]
async fn every_operation_is_explained_with_examples_and_with_what_can_go_wrong() {
    let world = World::new(Backend::Sqlite).await;
    let client = Client::of(&world).await;
    let document = document(&client).await;
    assert_eq!(document["openapi"], "3.1.0");
    let known_tags: BTreeSet<&str> = document["tags"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tag| tag["name"].as_str().unwrap())
        .collect();
    let mut ids = BTreeSet::new();
    for operation in Operation::all(&document) {
        let id = operation.id();
        let Operation { method, path, text } = operation;
        let which = format!("{method} {path}");
        assert!(ids.insert(id), "{which}: its operation_id is another's too");
        assert!(
            !text["summary"].as_str().unwrap_or_default().is_empty(),
            "{which}: it has no summary"
        );
        for tag in text["tags"].as_array().unwrap() {
            assert!(
                known_tags.contains(tag.as_str().unwrap()),
                "{which}: nobody explains the tag {tag}"
            );
        }
        for parameter in text["parameters"].as_array().into_iter().flatten() {
            assert!(
                parameter["description"].is_string(),
                "{which}: nobody explains {}",
                parameter["name"]
            );
        }
        for (media_type, content) in contents(&text["requestBody"]) {
            assert!(
                !content["example"].is_null(),
                "{which}: its body in {media_type} has no example"
            );
        }
        let answers = text["responses"].as_object().unwrap();
        for (status, answer) in answers.iter().filter(|(status, _)| status.starts_with('2')) {
            for (_, content) in contents(answer) {
                assert!(
                    !content["example"].is_null(),
                    "{which}: its answer {status} has no example"
                );
            }
        }
        for status in ["401", "503"] {
            assert_eq!(
                answers.contains_key(status),
                path.starts_with("/v1/") || path == "/metrics" || path == "/readyz" && status == "503",
                "{which}: {status}"
            );
        }
        assert_eq!(
            answers.contains_key("403"),
            path.starts_with("/v1/") && method == "POST",
            "{which}"
        );
    }
}
