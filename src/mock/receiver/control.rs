//! The receiver's own paths: `/faults`, `/journal`, `/effects`. Every other path is a webhook's.
//!
//! Requests to these paths are not on record, meet no fault and wait for no gate.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::json;
use url::form_urlencoded;

use super::grammar::parse_rules;
use super::journal::Received;
use super::reader::Request;
use super::reply::Reply;
use super::script::Rule;
use super::shared::Shared;

const JSON: &str = "application/json";
const NDJSON: &str = "application/x-ndjson";

/// The answer, if the path is one of the receiver's own.
pub(super) fn answer(request: &Request<'_>, shared: &Shared) -> Option<Reply<'static>> {
    let (path, query) = request.path_and_query();
    let reply = match (path, request.method) {
        ("/faults", b"GET" | b"HEAD") => rules(shared),
        ("/faults", b"POST") => match read_rules(request.body) {
            Ok(rules) => {
                shared.reception().script.extend(rules);
                self::rules(shared)
            }
            Err(message) => error(400, &message),
        },
        ("/faults", b"DELETE") => {
            shared.reception().script.clear();
            no_content()
        }
        ("/faults", _) => wrong_method("GET, HEAD, POST, DELETE"),
        ("/journal", b"GET" | b"HEAD") => match Page::read(query) {
            Ok(page) => page.render(shared),
            Err(message) => error(400, &message),
        },
        ("/journal", b"DELETE") => {
            shared.reception().reset();
            no_content()
        }
        ("/journal", _) => wrong_method("GET, HEAD, DELETE"),
        ("/effects", b"GET" | b"HEAD") => json(200, &shared.reception().counts()),
        ("/effects", _) => wrong_method("GET, HEAD"),
        _ => return None,
    };
    Some(reply)
}

fn rules(shared: &Shared) -> Reply<'static> {
    let rules: Vec<Rule> = shared.reception().script.rules().cloned().collect();
    json(200, &rules)
}

/// One rule or a list of rules in JSON, or the text form.
fn read_rules(body: &[u8]) -> Result<Vec<Rule>, String> {
    let body = body.trim_ascii();
    let rules = match body.first() {
        Some(b'[') => {
            serde_json::from_slice(body).map_err(|error| format!("not a list of rules: {error}"))?
        }
        Some(b'{') => {
            vec![serde_json::from_slice(body).map_err(|error| format!("not a rule: {error}"))?]
        }
        _ => {
            let text = str::from_utf8(body).map_err(|error| format!("not text: {error}"))?;
            return parse_rules(text).map_err(|error| error.to_string());
        }
    };
    for rule in &rules {
        Rule::check(rule).map_err(|error| error.to_string())?;
    }
    Ok(rules)
}

/// Which part of the journal is asked for.
struct Page {
    after: u64,
    limit: usize,
    format: Format,
}

#[derive(Clone, Copy)]
enum Format {
    Array,
    Ndjson,
}

impl Page {
    fn read(query: &str) -> Result<Self, String> {
        let mut page = Self {
            after: 0,
            limit: usize::MAX,
            format: Format::Array,
        };
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let no_number = |_| format!("`{name}` must be a number, not `{value}`");
            match (&*name, &*value) {
                ("after", _) => page.after = value.parse().map_err(no_number)?,
                ("limit", _) => page.limit = value.parse().map_err(no_number)?,
                ("format", "array") => page.format = Format::Array,
                ("format", "ndjson") => page.format = Format::Ndjson,
                ("format", _) => return Err(format!("`format` must be array or ndjson, not `{value}`")),
                _ => return Err(format!("there is no `{name}` here; use after, limit or format")),
            }
        }
        Ok(page)
    }

    fn render(&self, shared: &Shared) -> Reply<'static> {
        // Copied out (by reference count), so that requests need not wait while a long journal is written.
        let mut reception = shared.reception();
        let kept = reception.journal.kept();
        let first = kept.partition_point(|record| record.number <= self.after);
        let page = kept[first..].iter().take(self.limit).cloned().collect::<Vec<_>>();
        drop(reception);
        let records: Vec<&Received> = page.iter().map(AsRef::as_ref).collect();
        match self.format {
            Format::Array => json(200, &records),
            Format::Ndjson => {
                let lines = records
                    .iter()
                    .flat_map(|record| [to_json(record), b"\n".to_vec()]);
                reply(200, NDJSON, lines.collect::<Vec<_>>().concat())
            }
        }
    }
}

fn json(status: u16, value: &impl Serialize) -> Reply<'static> {
    reply(status, JSON, to_json(value))
}

fn to_json(value: &impl Serialize) -> Vec<u8> {
    // Our own types have no maps with odd keys and no failing `Serialize`, so the fallback is never seen.
    serde_json::to_vec(value).unwrap_or_default()
}

fn error(status: u16, message: &str) -> Reply<'static> {
    json(status, &json!({ "error": message }))
}

fn wrong_method(allowed: &'static str) -> Reply<'static> {
    let mut reply = error(405, &format!("this path takes {allowed}"));
    reply.headers.push(("allow", allowed));
    reply
}

fn no_content() -> Reply<'static> {
    reply(204, JSON, Vec::new())
}

fn reply(status: u16, content_type: &'static str, body: Vec<u8>) -> Reply<'static> {
    Reply {
        status,
        content_type,
        headers: Vec::new(),
        body: Cow::Owned(body),
    }
}
