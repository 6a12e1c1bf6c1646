//! Receivers that hang, break, flood or lie.

use std::time::Duration;

use super::listener::{Connection, Listener};
use super::*;

const TRUNCATED: &str = "accepted, but the response body broke off: ";

fn detail(report: &Report) -> &str {
    report.detail.as_deref().unwrap_or_default()
}

/// Unknown, with a sentence that says why and gives nothing of the URL away.
fn assert_unknown(report: &Report, why: &str) {
    assert_eq!(report.outcome, Outcome::Unknown, "{report:?}");
    assert_eq!(report.http_status, None);
    assert!(detail(report).contains(why), "{report:?}");
    assert!(
        detail(report).ends_with("the request may have arrived"),
        "{report:?}"
    );
    assert!(!detail(report).contains("canary"), "{report:?}");
}

fn assert_ended_at_the_deadline(report: &Report) {
    assert!(report.duration >= Duration::from_millis(200), "{report:?}");
    assert!(report.duration < Duration::from_secs(10), "{report:?}");
}

#[tokio::test]
async fn a_receiver_that_hangs_is_left_at_the_deadline() {
    let listener = Listener::run(|connection| {
        connection.read_request();
        connection.hang();
    });
    let report = deliver_to(&config(&at(listener.address))).await;
    assert_unknown(&report, "by the deadline");
    assert_ended_at_the_deadline(&report);
}

#[tokio::test]
async fn a_head_that_trickles_is_left_at_the_deadline() {
    let listener = Listener::run(|connection| {
        connection.read_request();
        connection.write(b"HTTP/1.1 200 OK\r\nx-slow: ");
        connection.trickle(b"a");
    });
    let report = deliver_to(&config(&at(listener.address))).await;
    assert_unknown(&report, "by the deadline");
    assert_ended_at_the_deadline(&report);
}

#[tokio::test]
async fn a_success_whose_body_trickles_is_delivered_by_the_deadline() {
    let listener = Listener::run(|connection| {
        connection.read_request();
        connection.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n");
        connection.trickle(b"a");
    });
    // Time enough for the head to arrive on a busy machine.
    let timeout = Duration::from_secs(1);
    let report = deliver_to(&WebhookConfig {
        timeout,
        ..config(&at(listener.address))
    })
    .await;
    assert_eq!(report.outcome, Outcome::Accepted);
    assert_eq!(
        detail(&report),
        "accepted, but the response body had not ended at the deadline"
    );
    assert_ended_at_the_deadline(&report);
}

#[tokio::test]
async fn interim_answers_without_end_are_left_at_the_deadline() {
    for interim in [
        &b"HTTP/1.1 100 Continue\r\n\r\n"[..],
        b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n",
    ] {
        let listener = Listener::run(move |connection| {
            connection.read_request();
            connection.trickle(interim);
        });
        let report = deliver_to(&config(&at(listener.address))).await;
        assert_unknown(&report, "by the deadline");
        assert_ended_at_the_deadline(&report);
    }
}

#[tokio::test]
async fn a_connection_that_is_reset_leaves_the_outcome_unknown() {
    let listener = Listener::run(Connection::read_a_little);
    assert_unknown(&deliver_to(&patient(&at(listener.address))).await, "no answer");
}

#[tokio::test]
async fn a_request_that_is_processed_and_then_dropped_is_unknown_and_was_sent_once() {
    let listener = Listener::run(|connection| {
        connection.read_request();
    });
    assert_unknown(&deliver_to(&patient(&at(listener.address))).await, "no answer");
    listener.only_request();
}

#[tokio::test]
async fn a_kept_connection_that_is_dropped_under_a_request_is_unknown_and_nothing_is_sent_twice() {
    let listener = Listener::run(|connection| {
        connection.read_request();
        connection.write(OK);
        connection.read_request();
    });
    let webhook = webhook(&patient(&at(listener.address)));
    assert_eq!(
        deliver(&webhook, &outgoing(row("1"))).await.outcome,
        Outcome::Accepted
    );
    assert_unknown(&deliver(&webhook, &outgoing(row("2"))).await, "no answer");
    let bodies: Vec<_> = listener.seen().into_iter().map(|seen| seen.body).collect();
    assert_eq!(bodies, [b"1", b"2"]);
}

#[tokio::test]
async fn a_connection_is_kept_for_the_next_request() {
    let connections = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let counter = Arc::clone(&connections);
    let listener = Listener::run(move |connection| {
        counter.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        while connection.read_request() {
            connection.write(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ndone");
        }
    });
    let webhook = webhook(&patient(&at(listener.address)));
    for _ in 0..5 {
        assert_eq!(
            deliver(&webhook, &outgoing(row("1"))).await.excerpt.as_deref(),
            Some("done")
        );
    }
    assert_eq!(connections.load(std::sync::atomic::Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_body_without_end_is_cut_at_its_cap_and_its_connection_dropped() {
    let (sender, mut dropped) = tokio::sync::mpsc::unbounded_channel();
    let listener = Listener::run(move |connection| {
        connection.read_request();
        connection
            .write(b"HTTP/1.1 200 OK\r\nconnection: keep-alive\r\ncontent-length: 100000000000\r\n\r\n");
        connection.write_for_ever(&[b'a'; 16 * 1024]);
        sender.send(()).unwrap();
    });
    let report = deliver_to(&patient(&at(listener.address))).await;
    assert_eq!(report.outcome, Outcome::Accepted);
    assert_eq!(
        detail(&report),
        "accepted, but the response body went on beyond 65536 bytes"
    );
    assert_eq!(report.excerpt.as_deref(), Some(&*"a".repeat(100)));
    tokio::time::timeout(Duration::from_secs(20), dropped.recv())
        .await
        .expect("the connection was dropped");
}

#[tokio::test]
async fn a_body_of_just_the_cap_is_read_whole() {
    let mut answer = b"HTTP/1.1 200 OK\r\ncontent-length: 65536\r\n\r\n".to_vec();
    answer.resize(answer.len() + 65536, b'a');
    let listener = Listener::answering(answer);
    let report = deliver_to(&patient(&at(listener.address))).await;
    assert_eq!((report.outcome.clone(), detail(&report)), (Outcome::Accepted, ""));
}

#[tokio::test]
async fn a_head_of_4_mib_is_not_taken() {
    let listener = Listener::run(|connection| {
        connection.read_request();
        connection.write(b"HTTP/1.1 200 OK\r\nx-huge: ");
        connection.write(&vec![b'a'; 4 * 1024 * 1024]);
        connection.write(b"\r\n\r\n");
    });
    assert_unknown(&deliver_to(&patient(&at(listener.address))).await, "no answer");
}

#[tokio::test]
async fn a_success_whose_body_breaks_off_is_delivered_and_the_break_is_noted() {
    for head in [
        "content-length: 100\r\n\r\nhalf",
        "transfer-encoding: chunked\r\n\r\n4\r\nhalf\r\nzz",
    ] {
        let listener = Listener::run(move |connection| {
            connection.read_request();
            connection.write(format!("HTTP/1.1 201 Created\r\n{head}").as_bytes());
        });
        let report = deliver_to(&patient(&at(listener.address))).await;
        assert_eq!(
            (report.outcome.clone(), report.http_status),
            (Outcome::Accepted, Some(201))
        );
        assert!(detail(&report).starts_with(TRUNCATED), "{report:?}");
        assert_eq!(report.excerpt.as_deref(), Some("half"));
    }
}

#[tokio::test]
async fn refused_credentials_are_told_with_the_settings_that_they_stand_in_and_without_their_values() {
    let listener = Listener::run(|connection| {
        connection.read_request();
        connection.write(b"HTTP/1.1 401 No\r\ncontent-length: 0\r\n\r\n");
    });
    let known_by_headers = WebhookConfig {
        headers: vec![("authorization".to_owned(), "Bearer canary".into())],
        ..patient(&at(listener.address))
    };
    let report = deliver_to(&known_by_headers).await;
    let told = detail(&report);
    assert!(
        told.starts_with("HTTP 401: ") && told.contains("`destinations.crm.headers`"),
        "{told}"
    );
    assert!(!told.contains("secrets") && !told.contains("canary"), "{told}");
    let known_by_nothing = deliver_to(&patient(&at(listener.address))).await;
    let told = detail(&known_by_nothing);
    assert!(
        told.contains("`destinations.crm.url`") && !told.contains("canary"),
        "{told}"
    );
}

#[tokio::test]
async fn a_refusal_whose_body_breaks_off_is_still_a_refusal() {
    let listener = Listener::run(|connection| {
        connection.read_request();
        connection.write(b"HTTP/1.1 422 Unprocessable\r\ncontent-length: 100\r\n\r\nno");
    });
    let report = deliver_to(&patient(&at(listener.address))).await;
    assert_eq!(report.outcome, Outcome::Refused(Refusal::Final));
    assert!(
        detail(&report).starts_with("HTTP 422; the response body broke off: "),
        "{report:?}"
    );
}

#[tokio::test]
async fn what_is_no_http_leaves_the_outcome_unknown() {
    for answer in [
        &b"SSH-2.0-OpenSSH_9.9\r\n\r\n"[..],
        b"\0\0\0\0\0\0\0\0\r\n\r\n",
        b"HTTP/1.1 20x OK\r\n\r\n",
    ] {
        let listener = Listener::answering(answer);
        assert_unknown(&deliver_to(&patient(&at(listener.address))).await, "no answer");
    }
}

#[tokio::test]
async fn a_switch_of_protocols_is_no_success() {
    let listener = Listener::answering(
        &b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n"[..],
    );
    assert_eq!(
        deliver_to(&patient(&at(listener.address))).await.outcome,
        Outcome::Unknown
    );
}

#[tokio::test]
async fn bytes_that_are_no_text_reach_neither_database_nor_log_as_such() {
    let listener = Listener::answering(
        &b"HTTP/1.1 500 \xff\r\nx-name: caf\xe9\r\nretry-after: \xfc\r\ncontent-length: 6\r\n\r\na\0\xffb\x1bc"[..],
    );
    let report = deliver_to(&patient(&at(listener.address))).await;
    assert_eq!(report.outcome, Outcome::Refused(Refusal::Retryable));
    assert_eq!(report.excerpt.as_deref(), Some("a\u{fffd}\u{fffd}b\u{fffd}c"));
}

#[tokio::test]
async fn a_compressed_body_is_kept_as_it_came_and_never_unpacked() {
    let bomb = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, b'b', b'o', b'm', b'b'];
    let mut answer = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 14\r\n\r\n".to_vec();
    answer.extend(bomb);
    let listener = Listener::answering(answer);
    let report = deliver_to(&patient(&at(listener.address))).await;
    assert!(report.excerpt.unwrap().ends_with("bomb"));
    assert_eq!(listener.only_request().header("accept-encoding"), None);
}

#[tokio::test]
async fn a_throttled_answer_carries_its_wait() {
    let listener = Listener::answering(
        &b"HTTP/1.1 429 Slow\r\nretry-after: 5\r\nretry-after: 120\r\ncontent-length: 0\r\n\r\n"[..],
    );
    let report = deliver_to(&patient(&at(listener.address))).await;
    let wait = Some(Duration::from_mins(2));
    let scope = Scope::Destination;
    assert_eq!(
        report.outcome,
        Outcome::Throttled {
            scope,
            retry_after: wait
        }
    );
    assert_eq!((report.http_status, detail(&report)), (Some(429), "HTTP 429"));
}
