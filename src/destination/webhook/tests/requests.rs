//! What a request says: body, key, headers, signature.

use sha2::{Digest, Sha256};

use super::listener::{Listener, Seen};
use super::*;
use crate::config::destination::SigningSecret;
use crate::core::signature::SigningKey;

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// Key order, digits, escapes and blanks that no parser gives back unchanged.
const ODD_PAYLOAD: &str =
    "{ \"b\":1.0,\"a\":12345678901234567890,\"u\":\"\\u2028\\/😀\u{2028}\",\n\"e\":1E+2 }";

/// Delivers `outgoing` under a configuration that `change` has changed, and returns the request that arrived.
async fn sent(outgoing: &Outgoing, change: impl FnOnce(&mut WebhookConfig)) -> Seen {
    let listener = Listener::answering(OK);
    let mut config = patient(&at(listener.address));
    change(&mut config);
    let report = deliver(&webhook(&config), outgoing).await;
    assert_eq!(report.outcome, Outcome::Accepted, "{report:?}");
    listener.only_request()
}

fn as_configured(_: &mut WebhookConfig) {}

fn set(name: &str, value: &str) -> (String, secrecy::SecretString) {
    (name.to_owned(), value.into())
}

fn with_headers(headers: &str) -> Outgoing {
    outgoing(OutboxRow {
        headers: Some(headers.into()),
        ..row("{}")
    })
}

#[tokio::test]
async fn the_payload_is_sent_byte_for_byte_and_its_digest_is_on_record() {
    let listener = Listener::answering(OK);
    let report = deliver(
        &webhook(&patient(&at(listener.address))),
        &outgoing(row(ODD_PAYLOAD)),
    )
    .await;
    assert_eq!(listener.only_request().body, ODD_PAYLOAD.as_bytes());
    assert_eq!(report.body_digest, Some(Sha256::digest(ODD_PAYLOAD).into()));
}

#[tokio::test]
async fn a_request_describes_its_row_and_its_attempt() {
    let seen = sent(&outgoing(row("{}")), as_configured).await;
    assert!(
        seen.head.starts_with("POST /in?token=canary HTTP/1.1\r\n"),
        "{}",
        seen.head
    );
    for (name, value) in [
        ("aftercommit-topic", "orders"),
        ("aftercommit-row-key", "acct-7"),
        ("aftercommit-row-version", "42"),
        ("aftercommit-op", "upsert"),
        ("aftercommit-attempt", "3"),
        ("content-type", "application/json"),
        ("content-length", "2"),
        ("idempotency-key", &outgoing(row("{}")).key.wire(KeyForm::Token)),
    ] {
        assert_eq!(seen.header(name), Some(value), "{name}");
    }
    for name in [
        "webhook-id",
        "webhook-timestamp",
        "webhook-signature",
        "cookie",
        "referer",
    ] {
        assert_eq!(seen.header(name), None, "{name}");
    }
}

#[tokio::test]
async fn a_row_without_version_has_no_version_header() {
    let seen = sent(
        &outgoing(OutboxRow {
            row_version: None,
            ..row("{}")
        }),
        as_configured,
    )
    .await;
    assert_eq!(seen.header("aftercommit-row-version"), None);
}

#[tokio::test]
async fn a_row_key_of_any_text_travels_percent_encoded() {
    for (row_key, encoded) in [
        ("plain-7:~", "plain-7:~"),
        ("50% off", "50%25%20off"),
        ("k\u{e4}se\r\nx: y", "k%C3%A4se%0D%0Ax:%20y"),
        ("😀", "%F0%9F%98%80"),
        (" ", "%20"),
        ("a\0", "a%00"),
    ] {
        let row = OutboxRow {
            row: RowId::new("t\u{f6}pic", row_key),
            ..row("{}")
        };
        let seen = sent(&outgoing(row), as_configured).await;
        assert_eq!(seen.header("aftercommit-row-key"), Some(encoded), "{row_key:?}");
        assert_eq!(seen.header("aftercommit-topic"), Some("t%C3%B6pic"));
        assert_eq!(seen.header("x"), None);
    }
}

#[tokio::test]
async fn the_key_goes_out_under_the_name_and_in_the_form_that_the_receiver_wants() {
    for form in [
        KeyForm::Token,
        KeyForm::Quoted,
        KeyForm::Uuid,
        KeyForm::Short,
        KeyForm::Hex,
    ] {
        let outgoing = outgoing(row("{}"));
        let seen = sent(&outgoing, |config| {
            config.key_form = form;
            config.key_header = "x-qonto-idempotency-key".to_owned();
        })
        .await;
        assert_eq!(
            seen.header("x-qonto-idempotency-key"),
            Some(outgoing.key.wire(form).as_str())
        );
        assert_eq!(seen.header("idempotency-key"), None);
    }
}

#[tokio::test]
async fn the_envelope_carries_the_rows_own_time_and_the_payload_byte_for_byte() {
    let row = OutboxRow {
        row: RowId::new("or\"de\\rs\u{1}", "7"),
        ..row(ODD_PAYLOAD)
    };
    let seen = sent(&outgoing(row), |config| config.body = WebhookBody::Envelope).await;
    let head = "{\"type\":\"or\\\"de\\\\rs\\u0001\",\"timestamp\":\"2026-11-29T18:05:37.123456Z\",\"data\":";
    assert_eq!(
        String::from_utf8(seen.body).unwrap(),
        format!("{head}{ODD_PAYLOAD}}}")
    );
}

#[tokio::test]
async fn the_method_is_the_configured_one() {
    for (method, word) in [(WebhookMethod::Put, "PUT"), (WebhookMethod::Patch, "PATCH")] {
        let seen = sent(&outgoing(row("{}")), |config| config.method = method).await;
        assert!(seen.head.starts_with(&format!("{word} /in")), "{}", seen.head);
    }
}

#[tokio::test]
async fn a_signed_request_verifies_over_the_bytes_that_arrived() {
    for body in [WebhookBody::Payload, WebhookBody::Envelope] {
        let seen = sent(&outgoing(row(ODD_PAYLOAD)), |config| {
            config.body = body;
            config.secrets = vec![SigningSecret(SECRET.into())];
        })
        .await;
        let id = seen.header("webhook-id").unwrap();
        assert_eq!(id, outgoing(row(ODD_PAYLOAD)).key.wire(KeyForm::Token));
        assert_eq!(seen.header("webhook-timestamp"), Some("1800000000"));
        let key = SigningKey::parse(SECRET).unwrap();
        assert!(key.verifies(
            id,
            NOW.as_seconds(),
            &seen.body,
            seen.header("webhook-signature").unwrap()
        ));
    }
}

#[tokio::test]
async fn every_attempt_has_the_same_method_body_key_and_id() {
    let first = outgoing(row(ODD_PAYLOAD));
    let later = Outgoing {
        attempt: 9,
        now: NOW.plus(Duration::from_hours(5)),
        traceparent: Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned()),
        ..first.clone()
    };
    let change = |config: &mut WebhookConfig| {
        config.body = WebhookBody::Envelope;
        config.secrets = vec![SigningSecret(SECRET.into())];
    };
    let (first, later) = (sent(&first, change).await, sent(&later, change).await);
    assert_eq!(first.body, later.body);
    assert_eq!(first.head.lines().next(), later.head.lines().next());
    for name in ["idempotency-key", "webhook-id"] {
        assert_eq!(first.header(name), later.header(name), "{name}");
    }
    for name in [
        "aftercommit-attempt",
        "webhook-timestamp",
        "webhook-signature",
        "traceparent",
    ] {
        assert_ne!(first.header(name), later.header(name), "{name}");
    }
}

#[tokio::test]
async fn configured_headers_go_before_those_of_the_row_and_those_before_the_defaults() {
    let outgoing = with_headers(
        r#"{"traceparent":"00-1-2-01","Content-Type":"application/x-row","x-tenant":"row","authorization":"row"}"#,
    );
    let seen = sent(&outgoing, |config| {
        config.headers = vec![set("X-Tenant", "acme"), set("authorization", "Bearer t")];
    })
    .await;
    for (name, value) in [
        ("traceparent", "00-1-2-01"),
        ("content-type", "application/x-row"),
        ("x-tenant", "acme"),
        ("authorization", "Bearer t"),
    ] {
        assert_eq!(seen.header(name), Some(value), "{name}");
    }

    let seen = sent(&outgoing, |config| {
        config.headers = vec![set("content-type", "application/x-conf")];
    })
    .await;
    assert_eq!(seen.header("content-type"), Some("application/x-conf"));
    let agent = concat!("aftercommit/", env!("CARGO_PKG_VERSION"));
    assert_eq!(seen.header("user-agent"), Some(agent));
}

#[tokio::test]
async fn a_row_whose_headers_cannot_be_sent_is_refused_and_nothing_is_sent() {
    let many: Vec<_> = (0..65).map(|number| format!("\"x-{number}\":\"\"")).collect();
    let listener = Listener::answering(OK);
    let webhook = webhook(&patient(&at(listener.address)));
    for (headers, why) in [
        (
            r#"{"idempotency-key":"mine"}"#,
            "not sent: the row's header \"idempotency-key\" is set by the relay itself",
        ),
        (r#"{"Webhook-Id":"mine"}"#, "is set by the relay itself"),
        (r#"{"host":"inside"}"#, "is set by the relay itself"),
        (
            r#"{"x":"a\r\ny: b"}"#,
            "the row's header \"x\" has a value that is not printable ASCII",
        ),
        (r#"{"x y":"a"}"#, "has no valid name"),
        (
            r#"{"x":1}"#,
            "not sent: the row's headers are no JSON object of texts (line 1, column 6)",
        ),
        (r#"["canary"]"#, "no JSON object of texts"),
        ("canary", "no JSON object of texts"),
        (
            &format!("{{{}}}", many.join(",")),
            "the row brings 65 headers; at most 64 can be sent",
        ),
    ] {
        let report = deliver(&webhook, &with_headers(headers)).await;
        assert_eq!(report.outcome, Outcome::Refused(Refusal::Final), "{headers}");
        assert_eq!(
            (report.http_status, report.body_digest, report.duration),
            (None, None, Duration::ZERO)
        );
        let detail = report.detail.unwrap();
        assert!(detail.contains(why) && !detail.contains("canary"), "{detail}");
    }
    assert!(listener.seen().is_empty());
}

#[test]
fn a_configuration_cannot_set_what_the_relay_says_itself() {
    for name in [
        "Idempotency-Key",
        "webhook-signature",
        "aftercommit-topic",
        "content-length",
    ] {
        let config = WebhookConfig {
            headers: vec![set(name, "v")],
            ..config("https://hooks.example/")
        };
        assert!(
            Webhook::new("crm", &config, Arc::new(SystemClock::start())).is_err(),
            "{name}"
        );
    }
    let config = WebhookConfig {
        key_header: "webhook-id".to_owned(),
        ..config("https://hooks.example/")
    };
    assert!(Webhook::new("crm", &config, Arc::new(SystemClock::start())).is_err());
}

#[tokio::test]
async fn every_character_that_a_url_may_hold_can_be_sent() {
    let printable: String = (b' '..=b'~')
        .filter(|byte| *byte != b'#')
        .map(char::from)
        .collect();
    let listener = Listener::answering(OK);
    let url = format!("http://{}/{printable}\u{fc}?{printable}\u{fc}", listener.address);
    assert_eq!(deliver_to(&patient(&url)).await.outcome, Outcome::Accepted);
}

#[tokio::test]
async fn what_was_sent_under_an_older_rendering_is_sent_under_it_again() {
    let listener = Listener::answering(OK);
    let url = at(listener.address);
    let old = WebhookConfig {
        method: WebhookMethod::Put,
        key_header: "x-old".to_owned(),
        ..patient(&url)
    };
    let recorded = webhook(&old).rendering();
    let text = r#"{"body":"payload","key_form":"token","key_header":"x-old","method":"PUT","v":1}"#;
    assert_eq!(recorded.0, text);

    // The new configuration sets a header that was the key's name once.
    let new = WebhookConfig {
        headers: vec![set("x-old", "new")],
        body: WebhookBody::Envelope,
        ..patient(&url)
    };
    let again = webhook(&new).under(&recorded).unwrap();
    let outgoing = outgoing(row("{}"));
    assert_eq!(
        deliver(again.as_ref(), &outgoing).await.outcome,
        Outcome::Accepted
    );
    let seen = listener.only_request();
    assert!(seen.head.starts_with("PUT "), "{}", seen.head);
    assert_eq!(
        seen.header("x-old"),
        Some(outgoing.key.wire(KeyForm::Token).as_str())
    );
    assert_eq!(seen.header("idempotency-key"), None);
    assert_eq!(seen.body, b"{}");
    assert_eq!(again.rendering(), recorded);
}

#[test]
fn a_rendering_of_another_version_is_not_guessed_at() {
    let webhook = webhook(&config("https://hooks.example/"));
    for text in [
        "",
        "{}",
        r#"{"body":"payload","key_form":"token","key_header":"x-old","method":"PUT","v":2}"#,
        r#"{"body":"payload","key_form":"token","key_header":"x-old","method":"PUT","v":1,"more":1}"#,
        r#"{"body":"payload","key_form":"token","key_header":"host","method":"PUT","v":1}"#,
        r#"{"body":"payload","key_form":"token","key_header":"x-old","method":"GET","v":1}"#,
    ] {
        assert!(webhook.under(&Rendering(text.to_owned())).is_err(), "{text}");
    }
}
