//! A collector that takes OTLP over HTTP and keeps the spans, read from protobuf as far as the stories need.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// Listens until it is dropped.
pub(super) struct Collector {
    address: SocketAddr,
    spans: Arc<Mutex<Vec<Span>>>,
    _task: JoinSet<()>,
}

/// A span as it arrived; ids in lower-case hex.
#[derive(Debug, Clone, Default)]
pub(super) struct Span {
    pub(super) trace: String,
    pub(super) id: String,
    pub(super) parent: String,
    pub(super) name: String,
    texts: BTreeMap<String, String>,
    numbers: BTreeMap<String, i64>,
}

impl Collector {
    pub(super) async fn start() -> Self {
        let spans: Arc<Mutex<Vec<Span>>> = Arc::default();
        let kept = spans.clone();
        let take = move |body: Bytes| async move {
            let found = read(&body);
            kept.lock().unwrap().extend(found);
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().route("/v1/traces", post(take));
        let mut task = JoinSet::new();
        task.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self {
            address,
            spans,
            _task: task,
        }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/v1/traces", self.address)
    }

    pub(super) fn spans(&self) -> Vec<Span> {
        self.spans.lock().unwrap().clone()
    }
}

impl Span {
    pub(super) fn text(&self, attribute: &str) -> Option<&str> {
        self.texts.get(attribute).map(String::as_str)
    }

    pub(super) fn number(&self, attribute: &str) -> Option<i64> {
        self.numbers.get(attribute).copied()
    }
}

/// A field of a message: its number, and either what it holds or its number.
enum Field<'a> {
    Bytes(u64, &'a [u8]),
    Number(u64, u64),
}

/// `ExportTraceServiceRequest`: resource spans (1), scope spans (2), spans (2).
fn read(request: &[u8]) -> Vec<Span> {
    let within = |message: &[u8], wanted: u64| -> Vec<Vec<u8>> {
        let fields = fields(message).into_iter();
        let found = fields.filter_map(|field| match field {
            Field::Bytes(number, bytes) if number == wanted => Some(bytes.to_vec()),
            _ => None,
        });
        found.collect()
    };
    let resources = within(request, 1);
    let scopes = resources.iter().flat_map(|resource| within(resource, 2));
    let spans: Vec<Vec<u8>> = scopes.flat_map(|scope| within(&scope, 2)).collect();
    spans.iter().map(|bytes| span(bytes)).collect()
}

fn span(message: &[u8]) -> Span {
    let mut span = Span::default();
    for field in fields(message) {
        match field {
            Field::Bytes(1, bytes) => span.trace = hex(bytes),
            Field::Bytes(2, bytes) => span.id = hex(bytes),
            Field::Bytes(4, bytes) => span.parent = hex(bytes),
            Field::Bytes(5, bytes) => span.name = text(bytes),
            Field::Bytes(9, bytes) => attribute(bytes, &mut span),
            _ => {}
        }
    }
    span
}

/// `KeyValue`: a key (1) and a value (2), of which a text (1) or an integer (3) is read.
fn attribute(message: &[u8], span: &mut Span) {
    let mut key = String::new();
    for field in fields(message) {
        match field {
            Field::Bytes(1, bytes) => key = text(bytes),
            Field::Bytes(2, value) => match fields(value).first() {
                Some(Field::Bytes(1, bytes)) => {
                    span.texts.insert(key.clone(), text(bytes));
                }
                Some(Field::Number(3, number)) => {
                    span.numbers.insert(key.clone(), number.cast_signed());
                }
                _ => {}
            },
            _ => {}
        }
    }
}

fn fields(mut message: &[u8]) -> Vec<Field<'_>> {
    let mut fields = vec![];
    while !message.is_empty() {
        let tag = varint(&mut message);
        match tag & 7 {
            0 => fields.push(Field::Number(tag >> 3, varint(&mut message))),
            1 => message = &message[8..],
            2 => {
                let length = usize::try_from(varint(&mut message)).unwrap();
                let (bytes, rest) = message.split_at(length);
                fields.push(Field::Bytes(tag >> 3, bytes));
                message = rest;
            }
            5 => message = &message[4..],
            other => panic!("wire type {other}"),
        }
    }
    fields
}

fn varint(message: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = message.split_first().unwrap();
        *message = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return value;
        }
    }
    panic!("a number without an end")
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
