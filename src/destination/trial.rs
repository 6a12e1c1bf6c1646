//! A destination that is tried out: what a person wants to know before rows go there again.
//!
//! A webhook gets a ping, which is a request like any other but about no row; a CRM is logged in to and looked at.

use std::sync::Arc;

use serde::Serialize;
use uuid::Uuid;

use super::Outgoing;
use super::preflight::{Finding, Grade};
use crate::core::canonical::{NotCanonical, RowHash};
use crate::core::key::{IdempotencyKey, KeyFacts};
use crate::core::outcome::{Outcome, Report};
use crate::core::row::{Op, OutboxRow, RowId};
use crate::core::spoken::beside_status;
use crate::core::time::Timestamp;

/// The topic that a ping says it is of. Its row key is random, so that no row of anybody shares its key.
pub const PING_TOPIC: &str = "aftercommit.ping";

/// What a trial came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Tried {
    /// Whether rows can be expected to be taken.
    pub ok: bool,
    /// What was found, without secrets.
    pub sentence: String,
    /// The HTTP status that a ping met, if one arrived.
    pub http_status: Option<u16>,
}

impl Tried {
    /// Of what was found by a look.
    pub(super) fn of_findings(findings: &[Finding]) -> Self {
        let of_grade = |grade| {
            let found = findings.iter().filter(move |finding| finding.grade == grade);
            found.map(|finding| finding.sentence.as_str()).collect::<Vec<_>>()
        };
        let (good, unclear) = (of_grade(Grade::Good), of_grade(Grade::Unclear));
        let refused = of_grade(Grade::Refused);
        let ok = refused.is_empty() && !good.is_empty();
        // What is wrong stands first; where something is, what is good is left out.
        let told = if ok {
            [unclear, good].concat()
        } else {
            [refused, unclear].concat()
        };
        let sentence = if told.is_empty() {
            "there is nothing to look at".to_owned()
        } else {
            told.join("; ")
        };
        Self {
            ok,
            sentence,
            http_status: None,
        }
    }

    /// Of a ping.
    pub(super) fn of_ping(report: &Report) -> Self {
        let ok = report.outcome == Outcome::Accepted;
        let status = report
            .http_status
            .map_or_else(String::new, |status| format!(" with HTTP {status}"));
        let said = beside_status(report.http_status, report.detail.as_deref());
        let met = match report.outcome {
            Outcome::Accepted => "was taken",
            Outcome::Throttled { .. } => "was asked to wait",
            Outcome::Refused(_) => "was refused",
            Outcome::Unreachable => "did not reach the receiver",
            Outcome::Unknown => "may have arrived, but nothing came back",
        };
        Self {
            ok,
            sentence: format!("the ping {met}{status}{said}"),
            http_status: report.http_status,
        }
    }
}

/// A ping to `destination`: an event that no outbox holds. `id` is random, and makes its key. Its payload is canonical, so
/// it fails for nobody.
pub fn ping(namespace: &str, destination: &str, id: Uuid, now: Timestamp) -> Result<Outgoing, NotCanonical> {
    let row_key = id.to_string();
    let payload: Arc<str> = format!(r#"{{"ping":"{row_key}"}}"#).into();
    let row_hash = RowHash::of(&payload)?;
    let key = IdempotencyKey::derive(&KeyFacts {
        namespace,
        destination,
        topic: PING_TOPIC,
        row_key: &row_key,
        op: Op::Event,
        version: None,
        row_hash,
        epoch: 0,
    });
    Ok(Outgoing {
        row: OutboxRow {
            id: 0,
            row: RowId::new(PING_TOPIC, &row_key),
            row_version: None,
            generation: 1,
            op: Op::Event,
            payload,
            headers: None,
            created_at: now,
        },
        key,
        attempt: 1,
        now,
        traceparent: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_is_good_only_if_something_was_seen_and_nothing_is_refused() {
        let good = Finding::good("a is there");
        let unclear = Finding::unclear("b cannot be seen");
        let refused = Finding::refused("c is missing");
        let tried = |findings: &[Finding]| {
            let tried = Tried::of_findings(findings);
            (tried.ok, tried.sentence)
        };
        assert_eq!(
            tried(std::slice::from_ref(&good)),
            (true, "a is there".to_owned())
        );
        assert_eq!(
            tried(&[good.clone(), unclear.clone()]),
            (true, "b cannot be seen; a is there".to_owned())
        );
        assert_eq!(
            tried(std::slice::from_ref(&unclear)),
            (false, "b cannot be seen".to_owned())
        );
        assert_eq!(
            tried(&[good, refused, unclear]),
            (false, "c is missing; b cannot be seen".to_owned())
        );
    }

    #[test]
    fn two_pings_never_share_a_key() {
        let now = Timestamp::from_micros(0);
        let ping = |id| ping("test", "hook", Uuid::from_u128(id), now).unwrap();
        assert_ne!(ping(1).key, ping(2).key);
        assert_eq!(ping(1).key, ping(1).key);
    }
}
