//! Rules and server of the mock CRMs, on the smallest CRM that there can be.

use std::sync::Arc;

use axum::http::Method;
use jiff::Timestamp;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::*;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    Full,
    Locked,
}

impl VendorFault for Trouble {
    const ALL: &'static [(&'static str, Self)] = &[("full", Self::Full), ("locked", Self::Locked)];

    fn scope(self) -> Scope {
        match self {
            Self::Full => Scope::Request,
            Self::Locked => Scope::Record,
        }
    }
}

/// Stores each body as a record.
#[derive(Debug)]
struct Heap(Store);

impl Crm for Heap {
    type Fault = Trouble;

    fn answer(&mut self, request: &Request, faults: &mut Faults<Trouble>, now: Timestamp) -> Answer {
        let fields: Fields = request.json().unwrap_or_default();
        if faults.at_record(request, None, &fields).is_some() {
            return Answer::empty(409);
        }
        let id = self.0.next_number().to_string();
        self.0.insert("Thing", id, fields, now);
        Answer::empty(201)
    }

    fn refuse(&mut self, _: &Request, _: Trouble) -> Answer {
        Answer::empty(507)
    }

    fn failure(&self, status: u16) -> Answer {
        Answer::empty(status)
    }

    fn store(&self) -> &Store {
        &self.0
    }

    fn expire_tokens(&mut self) {}

    fn reset(&mut self) {
        self.0.clear();
    }
}

async fn heap(rules: &str) -> MockServer<Heap> {
    let schema = Schema::parse("[Thing]\nprefix = \"t\"\nfields.n = { type = \"number\" }").unwrap();
    let options = ServerOptions {
        faults: parse_rules(rules).unwrap(),
        ..ServerOptions::default()
    };
    MockServer::start(Heap(Store::new(Arc::new(schema))), options)
        .await
        .unwrap()
}

/// Sends a request and returns the first line of what comes back; nothing if the connection was closed.
async fn send(server: &MockServer<Heap>, method: &str, target: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let request = format!(
        "{method} {target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n\
         {:x}\r\n{body}\r\n0\r\n\r\n",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    // A connection that was cut may end in a reset.
    let _ = stream.read_to_string(&mut answer).await;
    answer
}

#[test]
fn an_unknown_fault_is_refused_with_the_list_of_those_that_there_are() {
    let message = |text: &str| parse_rules::<Trouble>(text).unwrap_err().to_string();
    assert_eq!(
        message("ful:2"),
        "there is no fault `ful`; there are drop, drop-hang, drop-fail, reset, hang, fail, delay, not-json, full, locked"
    );
    assert_eq!(
        message("fail=200"),
        "`fail=200` needs a status from 300 to 599 after the `=`"
    );
    assert_eq!(
        message("full=3"),
        "`full=3` needs nothing but how often, after a `:`"
    );
    assert!(message("full:0").contains("would never fire"));
    assert!(message("full:seldom").starts_with("`seldom` says not how often"));
    assert!(message("full@n").starts_with("`@n` is no condition"));
}

#[test]
fn each_fault_is_shown_by_the_name_that_arms_it() {
    for name in fault_names::<Trouble>() {
        let text = match name {
            "fail" | "drop-fail" => format!("{name}=500"),
            "delay" => format!("{name}=1s"),
            _ => name.to_owned(),
        };
        let rules = parse_rules::<Trouble>(&text).unwrap();
        assert_eq!(rules[0].fault.to_string(), name);
        for times in ["always", "once", "3", "every-2", "once-per-key", "0.05", "1.0"] {
            let rule = format!("{text}:{times}@path=/a@method=POST@email=ann@b.co");
            let rules = parse_rules::<Trouble>(&rule).unwrap();
            assert_eq!(parse_rules(&rules[0].to_string()), Ok(rules), "{rule}");
        }
    }
}

#[test]
fn a_fault_meets_the_next_so_many_records_that_its_trigger_names() {
    let rules = parse_rules("locked:2@n=7,full:1@path=/a@method=post").unwrap();
    let mut faults: Faults<Trouble> = Faults::new(rules, 1);
    let mut strikes = |n: &str| {
        let fields = Fields::from([("n".to_owned(), Value::Number(n.to_owned()))]);
        let request = Request::new(Method::POST, "/a", "");
        faults.at_record(&request, None, &fields)
    };
    assert_eq!(
        ["8", "7", "7", "7"].map(&mut strikes),
        [None, Some(Trouble::Locked), Some(Trouble::Locked), None]
    );
    let mut asked = |method, path: &str| faults.at_request(&Request::new(method, path, ""));
    assert_eq!(asked(Method::GET, "/a"), None);
    assert_eq!(asked(Method::POST, "/b"), None);
    assert_eq!(asked(Method::POST, "/a/b"), Some(Fault::Vendor(Trouble::Full)));
    assert_eq!(asked(Method::POST, "/a/b"), None);
}

#[test]
fn a_trigger_takes_an_address_for_a_value() {
    let rule: Rule<Trouble> = "locked:2@email=ann@b.co@path=/a".parse().unwrap();
    let value = Trigger::Field {
        field: "email".into(),
        value: "ann@b.co".into(),
    };
    assert_eq!(rule.triggers, [value, Trigger::Path("/a".into())]);
}

#[tokio::test]
async fn a_commit_can_be_followed_by_a_closed_connection() {
    let server = heap("drop:1,reset:1").await;
    assert_eq!(send(&server, "POST", "/things", r#"{"n":1}"#).await, "");
    assert_eq!(server.dump(), r#"{"Thing":[{"fields":{"n":1},"id":"1"}]}"#);
    assert_eq!(send(&server, "POST", "/things", r#"{"n":2}"#).await, "");
    assert!(
        send(&server, "POST", "/things", r#"{"n":3.50}"#)
            .await
            .starts_with("HTTP/1.1 201")
    );
    let dump = send(&server, "GET", "/dump", "").await;
    assert!(
        dump.ends_with(r#"{"Thing":[{"fields":{"n":1},"id":"1"},{"fields":{"n":3.5},"id":"2"}]}"#),
        "{dump}"
    );
    let journal: Vec<_> = server.with(|_, _, journal| journal.entries().cloned().collect());
    let statuses: Vec<_> = journal
        .iter()
        .map(|entry| (entry.status, entry.fault.as_deref()))
        .collect();
    assert_eq!(
        statuses,
        [(None, Some("drop")), (None, Some("reset")), (Some(201), None)]
    );
    server.shutdown().await;
}

#[tokio::test]
async fn faults_journal_and_records_are_steered_over_http() {
    let server = heap("").await;
    let refused = send(&server, "POST", "/faults", "explode").await;
    assert!(
        refused.starts_with("HTTP/1.1 400") && refused.contains("there are drop"),
        "{refused}"
    );
    let armed = send(&server, "POST", "/faults", "full:1@n=1,fail=503:1").await;
    let rules = r#"[{"fault":"full","rule":"full:once@n=1"},{"fault":"fail","rule":"fail=503:once"}]"#;
    assert!(armed.ends_with(rules), "{armed}");
    for (body, status) in [(r#"{"n":2}"#, 503), (r#"{"n":1}"#, 507), (r#"{"n":1}"#, 201)] {
        let answer = send(&server, "POST", "/things", body).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
    }
    let journal = send(&server, "GET", "/journal?after=2", "").await;
    assert!(
        journal.contains(r#""number":3"#) && !journal.contains(r#""number":2"#),
        "{journal}"
    );
    let counts = send(&server, "GET", "/counts", "").await;
    assert!(counts.ends_with(r#"{"records":1,"requests":3}"#), "{counts}");
    assert!(
        send(&server, "PUT", "/dump", "")
            .await
            .starts_with("HTTP/1.1 405")
    );
    assert!(
        send(&server, "POST", "/reset", "")
            .await
            .starts_with("HTTP/1.1 204")
    );
    assert_eq!(server.dump(), r#"{"Thing":[]}"#);
    server.shutdown().await;
}

#[tokio::test]
async fn what_is_held_is_processed_when_it_is_released() {
    let server = heap("").await;
    server.hold();
    let held = send(&server, "POST", "/things", "{}");
    let looking = async {
        // A control path is never held, and this one answers only after the look.
        assert!(
            send(&server, "GET", "/dump", "")
                .await
                .ends_with(r#"{"Thing":[]}"#)
        );
        server.release();
        server.until(|journal| journal.count() == 1).await;
    };
    let (answer, ()) = tokio::join!(held, looking);
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
}
