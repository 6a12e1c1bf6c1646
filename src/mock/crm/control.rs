//! A mock's own paths, beside those of the CRM. Requests to them are not in the journal and meet no fault.
//!
//! | path | |
//! |---|---|
//! | `GET`, `POST`, `DELETE /faults` | the armed rules; arms those of the body (text, see [`super::fault`]); takes all back |
//! | `GET`, `DELETE /journal` | the requests, from `?after=NUMBER` on; forgets them |
//! | `GET /dump` | all records as canonical JSON |
//! | `GET /counts` | how many requests there have been, and how many records there are |
//! | `POST /expire` | lets every token expire |
//! | `POST /advance?seconds=COUNT` | sets the mock's clock forward |
//! | `POST /reset` | forgets records, tokens, faults and journal |

use std::time::Duration;

use axum::http::Method;
use serde_json::json;

use super::Crm;
use super::fault::{Rule, VendorFault, parse_rules};
use super::faults::Faults;
use super::journal::{Entry, Journal};
use super::request::{Answer, Request};
use super::server::{Shared, State};
use crate::core::canonical::canonical;

/// The answer, if the path is one of the mock's own.
pub(super) fn answer<C: Crm>(request: &Request, shared: &Shared<C>) -> Option<Answer> {
    let method = &request.method;
    let mut state = shared.state();
    let answer = match request.path.as_str() {
        "/faults" if method == Method::GET => rules(&state.faults),
        "/faults" if method == Method::POST => arm(&mut state, &request.body),
        "/faults" if method == Method::DELETE => done(|| state.faults.clear()),
        "/journal" if method == Method::GET => entries(&state.journal, request),
        "/journal" if method == Method::DELETE => done(|| state.journal.clear()),
        "/dump" if method == Method::GET => Answer::of(200, "application/json", state.dump()),
        "/counts" if method == Method::GET => counts(&state),
        "/expire" if method == Method::POST => done(|| state.crm.expire_tokens()),
        "/advance" if method == Method::POST => advance(shared, request),
        "/reset" if method == Method::POST => done(|| state.reset()),
        "/faults" | "/journal" | "/dump" | "/counts" | "/expire" | "/advance" | "/reset" => {
            error(405, &format!("this path does not take {method}"))
        }
        _ => return None,
    };
    Some(answer)
}

impl<C: Crm> State<C> {
    /// All records as canonical JSON: an object for each kind, a list of `{"id", "fields"}` in it.
    pub(super) fn dump(&self) -> String {
        let text = serde_json::to_string(&self.crm.store().dump()).unwrap_or_default();
        // What nests too deep or is too long for the canonical form is shown as it is.
        canonical(&text).unwrap_or(text)
    }
}

fn rules<V: VendorFault>(faults: &Faults<V>) -> Answer {
    let shown = |rule: &Rule<V>| {
        json!({
            "fault": rule.fault.to_string(),
            "rule": rule.to_string(),
        })
    };
    Answer::json(200, &faults.rules().map(shown).collect::<Vec<_>>())
}

fn arm<C: Crm>(state: &mut State<C>, body: &[u8]) -> Answer {
    match parse_rules(&String::from_utf8_lossy(body)) {
        Ok(armed) => {
            state.faults.arm(armed);
            rules(&state.faults)
        }
        Err(message) => error(400, &message.to_string()),
    }
}

fn entries(journal: &Journal, request: &Request) -> Answer {
    let after = request.query("after").unwrap_or_else(|| "0".into());
    let Ok(after) = after.parse::<u64>() else {
        return error(400, &format!("`after` must be a number, not `{after}`"));
    };
    let newer = journal.entries().filter(|entry| entry.number > after);
    Answer::json(200, &newer.map(AsRef::as_ref).collect::<Vec<&Entry>>())
}

fn counts<C: Crm>(state: &State<C>) -> Answer {
    let (requests, records) = (state.journal.count(), state.crm.store().len());
    Answer::json(200, &json!({ "requests": requests, "records": records }))
}

fn advance<C: Crm>(shared: &Shared<C>, request: &Request) -> Answer {
    let seconds = request.query("seconds").and_then(|text| text.parse().ok());
    match seconds {
        Some(seconds) => done(|| shared.clock.advance(Duration::from_secs(seconds))),
        None => error(400, "say by how much: `?seconds=COUNT`"),
    }
}

fn done(act: impl FnOnce()) -> Answer {
    act();
    Answer::empty(204)
}

fn error(status: u16, message: &str) -> Answer {
    Answer::json(status, &json!({ "error": message }))
}
