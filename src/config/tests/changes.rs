//! What a reload sees: that a destination is another one, secrets included.

use super::{World, destination};

#[test]
fn a_destination_does_not_differ_from_itself() {
    let text = destination("headers = { x-a = \"1\" }");
    let [one, other] = [World::default().read(&text), World::default().read(&text)];
    assert!(!one.destinations["crm"].differs(&other.destinations["crm"]));
}

#[test]
fn a_change_of_any_setting_is_seen() {
    let secret = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let before = World::default()
        .with_variable("TOKEN", "before")
        .read(&destination(
            "headers = { x-a = { env = \"TOKEN\" } }\ntimeout = \"10s\"",
        ));
    let mut texts = vec![destination("headers = { x-a = \"before\" }\ntimeout = \"10s\"")];
    for change in [
        "order = \"independent\"".to_owned(),
        "concurrency = 31".to_owned(),
        "retry = { first = \"1s\" }".to_owned(),
        "retry = { factor = 2 }".to_owned(),
        "rate = \"5/s\"".to_owned(),
        "max_in_flight_bytes = \"1MiB\"".to_owned(),
        "adaptive_concurrency = true".to_owned(),
        "breaker = { enabled = false }".to_owned(),
        "breaker = { failing_share = 0.9 }".to_owned(),
        "breaker = { window = \"1m\" }".to_owned(),
        "breaker = { min_requests = 2 }".to_owned(),
        "breaker = { open_for = \"1m\" }".to_owned(),
        "uncertain_policy = \"hold\"".to_owned(),
        "idempotency_window = \"1h\"".to_owned(),
        "method = \"PUT\"".to_owned(),
        "body = \"envelope\"".to_owned(),
        "idempotency_key = { header = \"x-key\" }".to_owned(),
        "idempotency_key = { form = \"hex\" }".to_owned(),
        format!("secrets = [\"whsec_{secret}\"]"),
        format!("secrets = [\"whsec_{secret}\", \"whsec_{secret}\"]"),
        format!("secrets = [\"whsec_{}\"]", secret.replace('M', "N")),
        "connect_timeout = \"1s\"".to_owned(),
        "allow_http = true".to_owned(),
        "allow_networks = [\"10.0.0.0/8\"]".to_owned(),
        "proxy = \"http://proxy:3128\"".to_owned(),
        "max_response_bytes = 2048".to_owned(),
        "keep_response_bytes = 1".to_owned(),
    ] {
        texts.push(destination(&format!(
            "headers = {{ x-a = \"before\" }}\ntimeout = \"10s\"\n{change}"
        )));
    }
    for change in [
        "timeout = \"10s\"",
        "headers = { x-a = \"before\" }",
        "timeout = \"10s\"\nheaders = { x-a = \"after\" }",
        "timeout = \"10s\"\nheaders = { x-b = \"before\" }",
        "timeout = \"10s\"\nheaders = { x-a = \"before\", x-b = \"more\" }",
    ] {
        texts.push(destination(change));
    }
    texts.push(texts[0].replace("/hook", "/other"));
    texts.push(texts[0].replace("[\"customers\"]", "[\"customers\", \"orders\"]"));

    let destinations: Vec<_> = texts
        .iter()
        .map(|text| World::default().read(text).destinations["crm"].clone())
        .collect();
    assert!(
        !before.destinations["crm"].differs(&destinations[0]),
        "where a secret comes from is no change"
    );
    for (index, one) in destinations.iter().enumerate() {
        for (other_index, other) in destinations.iter().enumerate() {
            assert_eq!(
                one.differs(other),
                index != other_index,
                "{}\n{}",
                texts[index],
                texts[other_index]
            );
        }
    }
}
