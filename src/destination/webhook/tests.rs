//! The webhook destination against raw sockets that answer as no well-behaved receiver would.

mod guards;
mod listener;
mod requests;
mod transport;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::clock::SystemClock;
use crate::config::destination::{WebhookBody, WebhookMethod};
use crate::core::canonical::RowHash;
use crate::core::key::{IdempotencyKey, KeyFacts, KeyForm};
use crate::core::outcome::{Outcome, Refusal, Scope};
use crate::core::row::{Op, OutboxRow, RowId};
use crate::core::time::Timestamp;

/// 2027-01-15T08:00:00Z
const NOW: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

/// A destination that may reach loopback, with a deadline that a test can wait for.
fn config(url: &str) -> WebhookConfig {
    WebhookConfig {
        url: url.parse().unwrap(),
        method: WebhookMethod::Post,
        body: WebhookBody::Payload,
        headers: Vec::new(),
        key_header: "idempotency-key".to_owned(),
        key_form: KeyForm::Token,
        secrets: Vec::new(),
        timeout: Duration::from_millis(200),
        connect_timeout: Duration::from_millis(150),
        allow_http: true,
        allow_networks: vec!["127.0.0.0/8".parse().unwrap()],
        proxy: None,
        max_response_bytes: 64 * 1024,
        keep_response_bytes: 100,
    }
}

/// For tests that must be answered: a slow machine is no reason to fail.
fn patient(url: &str) -> WebhookConfig {
    WebhookConfig {
        timeout: Duration::from_secs(20),
        connect_timeout: Duration::from_secs(10),
        ..config(url)
    }
}

fn at(address: SocketAddr) -> String {
    format!("http://{address}/in?token=canary")
}

fn webhook(config: &WebhookConfig) -> Webhook {
    Webhook::new("crm", config, Arc::new(SystemClock::start())).unwrap()
}

fn row(payload: &str) -> OutboxRow {
    OutboxRow {
        id: 7,
        row: RowId::new("orders", "acct-7"),
        row_version: Some(42),
        generation: 1,
        op: Op::Upsert,
        payload: payload.into(),
        headers: None,
        created_at: Timestamp::from_micros(1_795_975_537_123_456),
    }
}

fn outgoing(row: OutboxRow) -> Outgoing {
    let key = IdempotencyKey::derive(&KeyFacts {
        namespace: "test",
        destination: "crm",
        topic: &row.row.topic,
        row_key: &row.row.row_key,
        op: row.op,
        version: None,
        row_hash: RowHash::of(&row.payload).unwrap(),
        epoch: 0,
    });
    Outgoing {
        row,
        key,
        attempt: 3,
        now: NOW,
        traceparent: None,
    }
}

async fn deliver(webhook: &dyn Destination, outgoing: &Outgoing) -> Report {
    let mut reports = webhook.deliver(std::slice::from_ref(outgoing)).await;
    assert_eq!(reports.len(), 1);
    reports.remove(0)
}

/// Delivers an ordinary row to whatever stands at `address`.
async fn deliver_to(config: &WebhookConfig) -> Report {
    deliver(&webhook(config), &outgoing(row("{}"))).await
}

/// A look-up that answers each name with the same addresses.
struct Names(Vec<IpAddr>);

#[async_trait::async_trait]
impl Lookup for Names {
    async fn addresses(&self, _host: &str) -> std::io::Result<Vec<IpAddr>> {
        Ok(self.0.clone())
    }
}
