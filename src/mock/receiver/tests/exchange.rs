//! Plain requests: effects, keys, and HTTP/1.1 as it is on the wire.

use super::super::{
    Concurrent, Counts, Detail, Effect, JournalOptions, Receiver, ReceiverOptions, RequestLimits,
};
use super::{Client, header, post, receiver_with};

#[tokio::test]
async fn the_first_request_with_a_key_takes_effect_and_the_second_is_answered_from_memory() {
    let receiver = receiver_with([]).await;
    let mut client = Client::connect(&receiver).await;
    let first = client.ask(&post("k1", "{}")).await;
    let second = client.ask(&post("\"k1\"", "{}")).await;
    assert_eq!((first.status, first.is_from_memory()), (200, false));
    assert_eq!(
        (second.status, second.is_from_memory()),
        (200, true),
        "the quoted form is the same key"
    );
    assert_eq!(first.body, second.body);

    let counts = receiver.counts();
    assert_eq!(
        (counts.requests, counts.effects, counts.keys, counts.remembered),
        (2, 1, 1, 1)
    );
    let effects = receiver.effects();
    assert_eq!(effects.len(), 1);
    let effect = &effects[0];
    assert_eq!(
        (effect.topic(), effect.row_key(), effect.row_version()),
        (Some("orders"), Some("row-k1"), Some("7"))
    );
}

#[tokio::test]
async fn a_record_says_what_was_sent_and_what_was_answered() {
    let receiver = receiver_with([]).await;
    Client::connect(&receiver).await.ask(&post("k1", "abc")).await;
    let record = &receiver.requests()[0];
    assert_eq!(
        (record.number, record.method.as_str(), record.target.as_str()),
        (1, "POST", "/hook?x=1")
    );
    assert_eq!(
        (record.path(), record.header("host"), record.key.as_deref()),
        ("/hook", Some("test"), Some("k1"))
    );
    assert_eq!(
        (record.body.as_deref(), record.body_bytes),
        (Some(b"abc".as_slice()), 3)
    );
    assert!(record.sha256.as_deref().unwrap().starts_with("ba7816bf"));
    assert_eq!(
        (record.effect, record.status, record.fault.as_deref()),
        (Effect::First, Some(200), None)
    );
    assert!(record.is_accepted());
}

#[tokio::test]
async fn a_key_with_another_body_is_refused() {
    let receiver = receiver_with([]).await;
    let mut client = Client::connect(&receiver).await;
    client.ask(&post("k1", "one")).await;
    assert_eq!(client.ask(&post("k1", "two")).await.status, 422);
    assert_eq!(client.ask(&post("k1", "one")).await.status, 200);
    let counts = receiver.counts();
    assert_eq!((counts.effects, counts.other_body, counts.remembered), (1, 1, 1));
}

#[tokio::test]
async fn requests_without_a_key_take_effect_each_time() {
    let receiver = receiver_with([]).await;
    let mut client = Client::connect(&receiver).await;
    for _ in 0..2 {
        client.ask("PUT / HTTP/1.1\r\ncontent-length: 2\r\n\r\nhi").await;
    }
    assert_eq!((receiver.counts().effects, receiver.counts().keys), (2, 0));
}

#[tokio::test]
async fn a_key_that_is_being_worked_on_is_a_conflict() {
    let receiver = receiver_with([]).await;
    receiver.hold();
    let mut first = Client::connect(&receiver).await;
    first.send(&post("k1", "{}")).await;
    receiver.received(1).await;
    assert_eq!(
        Client::connect(&receiver)
            .await
            .ask(&post("k1", "{}"))
            .await
            .status,
        409
    );
    receiver.release();
    assert_eq!(first.answer().await.status, 200);
    receiver.idle().await;
    assert!(first.ask(&post("k1", "{}")).await.is_from_memory());
    assert_eq!((receiver.counts().effects, receiver.counts().conflicts), (1, 1));
}

#[tokio::test]
async fn where_concurrent_keys_are_answered_the_second_gets_what_the_first_will_get() {
    let options = ReceiverOptions {
        concurrent: Concurrent::Answer,
        ..ReceiverOptions::default()
    };
    let receiver = Receiver::start(options).await.unwrap();
    receiver.hold();
    let mut clients = [Client::connect(&receiver).await, Client::connect(&receiver).await];
    for (client, number) in clients.iter_mut().zip(1..) {
        client.send(&post("k1", "{}")).await;
        receiver.received(number).await;
    }
    receiver.release();
    assert!(!clients[0].answer().await.is_from_memory());
    assert!(clients[1].answer().await.is_from_memory());
    assert_eq!(receiver.counts().effects, 1);
}

#[tokio::test]
async fn requests_that_arrive_together_are_answered_in_their_order() {
    let receiver = receiver_with([]).await;
    let mut client = Client::connect(&receiver).await;
    client
        .send(&[post("a", "1"), post("a", "2"), post("b", "3"), post("a", "1")].concat())
        .await;
    let mut statuses = Vec::new();
    for _ in 0..4 {
        let answer = client.answer().await;
        statuses.push((answer.status, answer.is_from_memory()));
    }
    assert_eq!(statuses, [(200, false), (422, false), (200, false), (200, true)]);
}

#[tokio::test]
async fn a_chunked_body_is_put_together() {
    let receiver = receiver_with([]).await;
    let mut client = Client::connect(&receiver).await;
    client
        .send("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
        .await;
    let answer = client.ask("2\r\nde\r\n0\r\n\r\n").await;
    assert_eq!(answer.status, 200);
    assert_eq!(receiver.requests()[0].body.as_deref(), Some(b"abcde".as_slice()));
    assert_eq!(
        client.ask(&post("k", "")).await.status,
        200,
        "the connection is in step afterwards"
    );
}

#[tokio::test]
async fn a_client_that_expects_it_is_told_to_continue() {
    let receiver = receiver_with([]).await;
    let mut client = Client::connect(&receiver).await;
    client
        .send("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        .await;
    assert_eq!(client.head().await.0, 100);
    assert_eq!(receiver.counts().requests, 0, "half a request is none");
    assert_eq!(client.ask("hi").await.status, 200);
}

#[tokio::test]
async fn the_connection_closes_when_the_client_asks_for_it() {
    let receiver = receiver_with([]).await;
    for request in [
        "GET / HTTP/1.0\r\n\r\n",
        "GET / HTTP/1.1\r\nConnection: close\r\n\r\n",
    ] {
        let mut client = Client::connect(&receiver).await;
        let answer = client.ask(request).await;
        assert_eq!(header(&answer.head, "connection"), Some("close"));
        assert_eq!(client.rest().await.unwrap(), b"");
    }
}

#[tokio::test]
async fn what_is_too_large_or_no_request_is_answered_so_and_is_not_on_record() {
    let limits = RequestLimits { head: 1000, body: 10 };
    let receiver = Receiver::start(ReceiverOptions {
        limits,
        ..ReceiverOptions::default()
    })
    .await
    .unwrap();
    let long_head = format!("GET / HTTP/1.1\r\na: {}\r\n\r\n", "b".repeat(2000));
    for (request, status) in [
        (post("k", "12345678901").as_str(), 413),
        ("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nff\r\n", 413),
        (&long_head, 431),
        ("GET / HTTP/3\r\n\r\n", 505),
        ("PUT / HTTP/1.1\r\ntransfer-encoding: gzip\r\n\r\n", 501),
        ("\0\r\n\r\n", 400),
    ] {
        let mut client = Client::connect(&receiver).await;
        let answer = client.ask(request).await;
        assert_eq!(
            (answer.status, header(&answer.head, "connection")),
            (status, Some("close"))
        );
        assert_eq!(client.rest().await.unwrap(), b"");
    }
    assert_eq!(
        receiver.counts(),
        Counts {
            malformed: 6,
            ..Counts::default()
        }
    );
}

#[tokio::test]
async fn where_only_counts_are_kept_the_ledger_still_tells_keys_apart() {
    let journal = JournalOptions {
        detail: Detail::Counts,
        ..JournalOptions::default()
    };
    let receiver = Receiver::start(ReceiverOptions {
        journal,
        ..ReceiverOptions::default()
    })
    .await
    .unwrap();
    let mut client = Client::connect(&receiver).await;
    for key in ["a", "b", "a"] {
        client.ask(&post(key, "{}")).await;
    }
    assert_eq!(client.ask(&post("a", "other")).await.status, 422);
    let counts = receiver.counts();
    assert_eq!((counts.requests, counts.effects, counts.keys), (4, 2, 2));
    assert!(receiver.requests().is_empty());
}

#[tokio::test]
async fn hundreds_of_clients_can_be_in_flight_at_once() {
    let receiver = receiver_with([]).await;
    receiver.hold();
    let mut clients = Vec::new();
    for number in 0..200 {
        let mut client = Client::connect(&receiver).await;
        client.send(&post(&format!("k{number}"), "{}")).await;
        clients.push(client);
    }
    receiver.until_counts(|counts| counts.in_flight == 200).await;
    receiver.release();
    for client in &mut clients {
        assert_eq!(client.answer().await.status, 200);
    }
    receiver.idle().await;
    assert_eq!(
        (receiver.counts().effects, receiver.counts().peak_in_flight),
        (200, 200)
    );
}

#[tokio::test]
async fn a_client_that_sends_too_much_still_gets_to_read_why_it_was_refused() {
    let limits = RequestLimits { head: 1000, body: 10 };
    let receiver = Receiver::start(ReceiverOptions {
        limits,
        ..ReceiverOptions::default()
    })
    .await
    .unwrap();
    let mut client = Client::connect(&receiver).await;
    client.send(&post("k", &"x".repeat(1 << 20))).await;
    assert_eq!(client.answer().await.status, 413);
    assert_eq!(client.rest().await.unwrap(), b"", "closed, not reset");
}
