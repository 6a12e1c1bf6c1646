//! The receiver's own paths.

use super::super::{Counts, Fault, Received, Rule};
use super::{Client, header, post, receiver_with};

fn post_faults(rules: &str) -> String {
    format!(
        "POST /faults HTTP/1.1\r\ncontent-length: {}\r\n\r\n{rules}",
        rules.len()
    )
}

#[tokio::test]
async fn faults_are_set_over_http_as_json_or_as_text() {
    let receiver = receiver_with([]).await;
    let mut client = Client::connect(&receiver).await;
    for rules in [
        r#"{"fault": {"fail": {"status": 500}}, "times": {"next": 1}}"#,
        r#"[{"fault": {"fail": {"status": 500}}, "times": {"next": 1}, "only": {"topic": "orders"}}]"#,
        "fail=500:once\n",
    ] {
        let answer = client.ask(&post_faults(rules)).await;
        assert_eq!(
            (answer.status, answer.json().as_array().map(Vec::len)),
            (200, Some(1)),
            "{rules}"
        );
        assert_eq!(client.ask(&post("k", "{}")).await.status, 500);
        assert_eq!(client.ask(&post("k", "{}")).await.status, 200);
    }
}

#[tokio::test]
async fn faults_can_be_listed_and_taken_back() {
    let rule = Rule::always(Fault::Hang).for_topic("orders");
    let receiver = receiver_with([rule.clone()]).await;
    let mut client = Client::connect(&receiver).await;
    let listed = client.ask("GET /faults HTTP/1.1\r\n\r\n").await.json();
    assert_eq!(serde_json::from_value::<Vec<Rule>>(listed).unwrap(), [rule]);
    assert_eq!(client.ask("DELETE /faults HTTP/1.1\r\n\r\n").await.status, 204);
    assert_eq!(client.ask(&post("k", "{}")).await.status, 200);
}

#[tokio::test]
async fn faults_that_make_no_sense_are_refused_with_the_reason_and_change_nothing() {
    let receiver = receiver_with([]).await;
    let mut client = Client::connect(&receiver).await;
    for (rules, reason) in [
        ("fial=500", "did you mean `fail`"),
        (r#"{"fault": "explode"}"#, "unknown variant `explode`"),
        (
            r#"[{"fault": "hang"}, {"fault": {"fail": {"status": 200}}}]"#,
            "give one from 300 to 599",
        ),
        (
            r#"{"fault": "hang", "times": {"chance": 2}}"#,
            "2 is not a probability",
        ),
    ] {
        let answer = client.ask(&post_faults(rules)).await;
        assert_eq!(answer.status, 400);
        assert!(
            answer.json()["error"].as_str().unwrap().contains(reason),
            "{:?}",
            answer.json()
        );
    }
    assert_eq!(client.ask("GET /faults HTTP/1.1\r\n\r\n").await.body, b"[]");
}

#[tokio::test]
async fn the_journal_is_read_whole_or_from_a_number_on() {
    let receiver = receiver_with([]).await;
    let mut client = Client::connect(&receiver).await;
    for key in ["a", "b", "c"] {
        client.ask(&post(key, "{}")).await;
    }
    let whole = client.ask("GET /journal HTTP/1.1\r\n\r\n").await;
    let whole: Vec<Received> = serde_json::from_slice(&whole.body).unwrap();
    assert!(whole.iter().eq(receiver.requests().iter().map(AsRef::as_ref)));

    let page = client
        .ask("GET /journal?after=1&limit=1&format=ndjson HTTP/1.1\r\n\r\n")
        .await;
    assert_eq!(header(&page.head, "content-type"), Some("application/x-ndjson"));
    let lines = String::from_utf8(page.body).unwrap();
    let records: Vec<Received> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        records.iter().map(|record| record.number).collect::<Vec<_>>(),
        [2]
    );

    for query in ["after=x", "format=xml", "before=1"] {
        assert_eq!(
            client
                .ask(&format!("GET /journal?{query} HTTP/1.1\r\n\r\n"))
                .await
                .status,
            400,
            "{query}"
        );
    }
}

#[tokio::test]
async fn effects_are_counted_and_a_reset_forgets_them() {
    let receiver = receiver_with([]).await;
    let mut client = Client::connect(&receiver).await;
    client.ask(&post("a", "{}")).await;
    client.ask(&post("a", "{}")).await;
    receiver.idle().await;
    let counts = client.ask("GET /effects HTTP/1.1\r\n\r\n").await.json();
    assert_eq!(
        serde_json::from_value::<Counts>(counts).unwrap(),
        receiver.counts()
    );
    assert_eq!(receiver.counts().effects, 1);

    assert_eq!(client.ask("DELETE /journal HTTP/1.1\r\n\r\n").await.status, 204);
    assert_eq!(receiver.counts(), Counts::default());
    assert!(!client.ask(&post("a", "{}")).await.is_from_memory());
    assert_eq!(receiver.requests()[0].number, 3, "numbers go on");
}

#[tokio::test]
async fn head_is_get_without_the_body() {
    let receiver = receiver_with([]).await;
    let mut client = Client::connect(&receiver).await;
    let get = client.ask("GET /effects HTTP/1.1\r\n\r\n").await;
    client
        .send("HEAD /effects HTTP/1.1\r\n\r\nGET /effects HTTP/1.1\r\n\r\n")
        .await;
    assert_eq!(client.head().await, (200, get.head.clone()));
    assert_eq!(
        client.answer().await,
        get,
        "the next answer follows the head at once"
    );
}

#[tokio::test]
async fn only_the_listed_paths_are_the_receivers_own() {
    let receiver = receiver_with([Rule::always(Fault::Fail { status: 500 })]).await;
    receiver.hold();
    let mut client = Client::connect(&receiver).await;
    let answer = client.ask("PUT /effects HTTP/1.1\r\n\r\n").await;
    assert_eq!(
        (answer.status, header(&answer.head, "allow")),
        (405, Some("GET, HEAD"))
    );
    assert_eq!(client.ask("PUT /journal HTTP/1.1\r\n\r\n").await.status, 405);
    assert_eq!(client.ask("PUT /faults HTTP/1.1\r\n\r\n").await.status, 405);
    assert_eq!(
        receiver.counts(),
        Counts::default(),
        "neither on record, nor held, nor at fault"
    );
    receiver.release();
    for path in ["/", "/journal/", "/faults/1", "/Effects"] {
        assert_eq!(
            client.ask(&format!("GET {path} HTTP/1.1\r\n\r\n")).await.status,
            500,
            "{path}"
        );
    }
}
