//! The bodies that HubSpot was seen to send, and what each means.

mod planning;
mod reading;
mod refusals;
mod tokens;

use std::sync::Arc;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::request::UpsertRow;
use crate::core::canonical::RowHash;
use crate::core::key::{IdempotencyKey, KeyFacts};
use crate::core::row::{Op, OutboxRow, RowId};
use crate::core::secrets::Secrets;
use crate::core::time::Timestamp;
use crate::destination::Outgoing;
use crate::destination::answer::Answer;

/// 2027-01-15T08:00:00Z
const NOW: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

/// An answer of HubSpot.
fn answer(status: u16, body: &str) -> Answer {
    Answer {
        status,
        headers: HeaderMap::new(),
        excerpt: Some(Secrets::none().excerpt(body.as_bytes(), body.len())),
        body: body.as_bytes().to_vec(),
        secrets: Secrets::none(),
        trouble: None,
    }
}

fn with_header(mut answer: Answer, name: &'static str, value: &'static str) -> Answer {
    let (name, value) = (HeaderName::from_static(name), HeaderValue::from_static(value));
    answer.headers.insert(name, value);
    answer
}

/// Rows of an upsert by e-mail address, by their trace ids.
fn rows(traces: &[&str]) -> Vec<UpsertRow> {
    let row = |trace: &&str| UpsertRow {
        trace: (*trace).to_owned(),
        id: format!("{trace}@b.co"),
        properties: [("email".to_owned(), format!("{trace}@b.co"))].into(),
    };
    traces.iter().map(row).collect()
}

fn outgoing(row_key: &str, op: Op, payload: &str) -> Outgoing {
    let row_hash = RowHash::of(payload).unwrap();
    let key = IdempotencyKey::derive(&KeyFacts {
        namespace: "n",
        destination: "crm",
        topic: "customers",
        row_key,
        op,
        version: None,
        row_hash,
        epoch: 0,
    });
    Outgoing {
        row: OutboxRow {
            id: 1,
            row: RowId::new("customers", row_key),
            row_version: None,
            generation: 1,
            op,
            payload: Arc::from(payload),
            headers: None,
            created_at: NOW,
        },
        key,
        attempt: 1,
        now: NOW,
        traceparent: None,
    }
}
