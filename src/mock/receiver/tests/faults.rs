//! Each fault, as a client meets it.

use std::io::ErrorKind;
use std::time::Duration;

use super::super::{Effect, Fault, Receiver, Rule};
use super::{Client, header, post, receiver_with};

const MINUTE: Duration = Duration::from_mins(1);

/// Asks again with the same key: whether the answer comes from memory says whether the first took effect.
async fn took_effect(receiver: &Receiver, key: &str) -> bool {
    let answer = Client::connect(receiver).await.ask(&post(key, "{}")).await;
    assert_eq!(answer.status, 200);
    answer.is_from_memory()
}

/// Meets the fault once and gives the client, its request sent.
async fn meet(fault: Fault) -> (Receiver, Client) {
    let receiver = receiver_with([Rule::once(fault)]).await;
    let mut client = Client::connect(&receiver).await;
    client.send(&post("k", "{}")).await;
    (receiver, client)
}

fn time_between_requests(receiver: &Receiver) -> Duration {
    let requests = receiver.requests();
    requests[1].elapsed.saturating_sub(requests[0].elapsed)
}

#[tokio::test]
async fn a_failure_has_no_effect_and_is_forgotten() {
    let (receiver, mut client) = meet(Fault::Fail { status: 503 }).await;
    assert_eq!(client.answer().await.status, 503);
    let record = &receiver.requests()[0];
    assert_eq!(
        (record.status, record.fault.as_deref(), record.effect),
        (Some(503), Some("fail"), Effect::None)
    );
    assert_eq!(
        client.ask(&post("k", "{}")).await.status,
        200,
        "on the same connection"
    );
    assert_eq!(receiver.counts().effects, 1);
}

#[tokio::test]
async fn a_stored_failure_is_answered_from_memory_and_never_takes_effect() {
    let (receiver, mut client) = meet(Fault::StoredFailure { status: 500 }).await;
    assert!(!client.answer().await.is_from_memory());
    let again = client.ask(&post("k", "{}")).await;
    assert_eq!((again.status, again.is_from_memory()), (500, true));
    assert_eq!(receiver.counts().effects, 0);
}

#[tokio::test]
async fn a_throttled_request_is_told_when_to_come_back_whatever_that_means() {
    for value in [
        "120",
        "Wed, 21 Oct 2015 07:28:00 GMT",
        "999999999999999999",
        "-1",
        "soon",
    ] {
        let (receiver, mut client) = meet(Fault::Throttle {
            status: 429,
            retry_after: value.into(),
        })
        .await;
        let answer = client.answer().await;
        assert_eq!(
            (answer.status, header(&answer.head, "retry-after")),
            (429, Some(value))
        );
        assert!(!took_effect(&receiver, "k").await);
    }
}

#[tokio::test]
async fn a_redirect_names_another_place() {
    let location = "http://169.254.169.254/";
    let (receiver, mut client) = meet(Fault::Redirect {
        status: 307,
        location: location.into(),
    })
    .await;
    let answer = client.answer().await;
    assert_eq!(
        (answer.status, header(&answer.head, "location")),
        (307, Some(location))
    );
    assert!(!took_effect(&receiver, "k").await);
}

#[tokio::test]
async fn a_request_that_hangs_occupies_its_key_until_the_client_goes() {
    let (receiver, client) = meet(Fault::Hang).await;
    receiver.received(1).await;
    assert_eq!(
        Client::connect(&receiver)
            .await
            .ask(&post("k", "{}"))
            .await
            .status,
        409
    );
    assert_eq!(receiver.requests()[0].status, None);
    drop(client);
    receiver.idle().await;
    assert!(!took_effect(&receiver, "k").await);
}

#[tokio::test]
async fn a_reset_comes_before_or_after_processing() {
    for (fault, processed) in [(Fault::Reset, false), (Fault::ProcessedThenReset, true)] {
        let (receiver, mut client) = meet(fault).await;
        assert_eq!(
            client.rest().await.unwrap_err().kind(),
            ErrorKind::ConnectionReset
        );
        assert_eq!(took_effect(&receiver, "k").await, processed);
    }
}

#[tokio::test]
async fn a_request_can_be_processed_and_its_answer_lost() {
    let (receiver, mut client) = meet(Fault::ProcessedThenDropped).await;
    assert_eq!(client.rest().await.unwrap(), b"");
    let record = &receiver.requests()[0];
    assert_eq!(
        (record.effect, record.status, record.is_accepted()),
        (Effect::First, None, false)
    );
    assert!(took_effect(&receiver, "k").await);
}

#[tokio::test]
async fn a_request_can_be_processed_and_its_answer_never_come() {
    let (receiver, client) = meet(Fault::ProcessedThenHung).await;
    receiver.received(1).await;
    assert!(took_effect(&receiver, "k").await);
    assert_eq!(receiver.counts().in_flight, 1);
    drop(client);
    receiver.idle().await;
}

#[tokio::test(start_paused = true)]
async fn a_delayed_answer_takes_its_time_and_is_the_usual_one() {
    let (receiver, mut client) = meet(Fault::Delay { time: MINUTE }).await;
    let answer = client.answer().await;
    assert_eq!((answer.status, answer.is_from_memory()), (200, false));
    assert!(client.ask(&post("k", "{}")).await.is_from_memory());
    assert!(time_between_requests(&receiver) >= MINUTE);
}

#[tokio::test(start_paused = true)]
async fn a_slow_answer_comes_byte_by_byte_and_is_the_usual_one() {
    let usual = Client::connect(&receiver_with([]).await)
        .await
        .ask(&post("k", "{}"))
        .await;
    for (fault, bytes) in [
        (Fault::SlowHead { gap: MINUTE }, usual.head.len()),
        (Fault::SlowBody { gap: MINUTE }, usual.body.len()),
    ] {
        let (receiver, mut client) = meet(fault).await;
        assert_eq!(client.answer().await, usual);
        client.ask(&post("k", "{}")).await;
        let took = time_between_requests(&receiver);
        assert!(
            took >= MINUTE * u32::try_from(bytes).unwrap(),
            "{bytes} bytes in {took:?}"
        );
    }
}

#[tokio::test]
async fn a_head_can_be_huge() {
    let (receiver, mut client) = meet(Fault::HugeHead { bytes: 1 << 20 }).await;
    let (status, head) = client.head().await;
    assert_eq!(status, 200);
    assert!(head.len() > 1 << 20);
    assert!(took_effect(&receiver, "k").await);
}

#[tokio::test]
async fn a_body_can_be_huge() {
    let (receiver, mut client) = meet(Fault::HugeBody { bytes: 3_000_001 }).await;
    assert_eq!(client.answer().await.body.len(), 3_000_001);
    assert!(took_effect(&receiver, "k").await);
}

#[tokio::test]
async fn a_body_can_be_endless() {
    let (receiver, mut client) = meet(Fault::EndlessBody).await;
    let (status, head) = client.head().await;
    assert_eq!(
        (status, header(&head, "transfer-encoding")),
        (200, Some("chunked"))
    );
    client.fill_to(3_000_000).await;
    assert!(took_effect(&receiver, "k").await);
    drop(client);
    receiver.idle().await;
}

#[tokio::test]
async fn interim_answers_can_be_endless() {
    let (receiver, mut client) = meet(Fault::Endless1xx).await;
    for _ in 0..1000 {
        assert_eq!(client.head().await.0, 103);
    }
    assert_eq!(receiver.requests()[0].status, None);
    drop(client);
    receiver.idle().await;
}

#[tokio::test]
async fn a_truncated_answer_promises_more_than_it_gives() {
    let (receiver, mut client) = meet(Fault::Truncated).await;
    let (status, head) = client.head().await;
    let promised: usize = header(&head, "content-length").unwrap().parse().unwrap();
    assert_eq!(status, 200);
    assert!(client.rest().await.unwrap().len() < promised);
    assert!(took_effect(&receiver, "k").await);
}

#[tokio::test]
async fn bodies_and_headers_can_be_odd() {
    let (_receiver, mut client) = meet(Fault::InvalidUtf8).await;
    assert!(String::from_utf8(client.answer().await.body).is_err());
    let (_receiver, mut client) = meet(Fault::NulBody).await;
    assert!(client.answer().await.body.contains(&0));
    let (_receiver, mut client) = meet(Fault::NonAsciiHeader).await;
    assert!(!client.answer().await.head.is_ascii());
}

#[tokio::test]
async fn a_gzip_bomb_is_a_hundred_times_smaller_than_what_it_holds() {
    let (receiver, mut client) = meet(Fault::GzipBomb { mebibytes: 8 }).await;
    let answer = client.answer().await;
    assert_eq!(header(&answer.head, "content-encoding"), Some("gzip"));
    assert!(answer.body.starts_with(b"\x1f\x8b"));
    assert!(answer.body.len() < (8 << 20) / 100);
    assert!(took_effect(&receiver, "k").await);
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_is_closed_without_a_word() {
    for after in [Duration::ZERO, MINUTE] {
        let (receiver, mut client) = meet(Fault::CloseIdle { after }).await;
        let answer = client.answer().await;
        assert_eq!((answer.status, header(&answer.head, "connection")), (200, None));
        assert_eq!(client.rest().await.unwrap(), b"");
        assert!(took_effect(&receiver, "k").await);
    }
}

#[tokio::test]
async fn a_connection_that_is_used_in_time_stays_open() {
    let (_receiver, mut client) = meet(Fault::CloseIdle { after: 60 * MINUTE }).await;
    client.answer().await;
    assert!(client.ask(&post("k", "{}")).await.is_from_memory());
}

#[tokio::test]
async fn a_fault_among_requests_that_arrive_together_keeps_the_order_of_answers() {
    let receiver = receiver_with([Rule::always(Fault::Fail { status: 503 }).for_key("b")]).await;
    let mut client = Client::connect(&receiver).await;
    client
        .send(&["a", "b", "c"].map(|key| post(key, "{}")).concat())
        .await;
    let statuses = [
        client.answer().await.status,
        client.answer().await.status,
        client.answer().await.status,
    ];
    assert_eq!(statuses, [200, 503, 200]);
}
