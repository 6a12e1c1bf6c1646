//! The bodies of HubSpot's answers, as far as anything here depends on them. Nothing is decided here.
//!
//! What HubSpot leaves out or sends as `null` is read as empty, and what it adds is passed over: its answers drift.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::core::secrets::Secrets;
use crate::destination::answer::Answer;

/// The answer to a batch call, see [`BatchAnswer::read`].
#[derive(Debug, Default, Deserialize)]
pub(super) struct BatchAnswer {
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) results: Vec<Record>,
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) errors: Vec<Problem>,
}

impl BatchAnswer {
    /// Reads the body of an answer; none if it is something else.
    pub(super) fn read(answer: &Answer) -> Option<Self> {
        let mut read: Self = serde_json::from_slice(&answer.body).ok()?;
        for problem in &mut read.errors {
            problem.redact(&answer.secrets);
        }
        Some(read)
    }
}

/// One record in it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Record {
    pub(super) id: String,
    #[serde(default)]
    pub(super) object_write_trace_id: Option<String>,
    /// Whether an upsert created it; for people to read.
    #[serde(default)]
    new: Option<Value>,
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) properties: BTreeMap<String, Value>,
}

impl Record {
    /// What it says of an upsert, in few words: `{"id":"123","new":false}`.
    pub(super) fn words(&self) -> String {
        let id = Value::from(self.id.as_str());
        let new = self.new.as_ref().map(|new| format!(",\"new\":{new}"));
        format!("{{\"id\":{id}{}}}", new.unwrap_or_default())
    }
}

/// What HubSpot says when something is wrong: the body of a refused call, or one of `errors` beside the results.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Problem {
    #[serde(default)]
    pub(super) category: Option<String>,
    #[serde(default, deserialize_with = "or_empty")]
    pub(super) message: String,
    /// Which limit a 429 is about.
    #[serde(default)]
    pub(super) policy_name: Option<String>,
    /// Named lists, `objectWriteTraceId` and `ids` among them.
    #[serde(default, deserialize_with = "or_empty")]
    context: BTreeMap<String, Value>,
    #[serde(default, deserialize_with = "or_empty")]
    errors: Vec<Detail>,
}

/// One of the single things that are wrong.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Detail {
    #[serde(default)]
    code: Option<String>,
    #[serde(default, deserialize_with = "or_empty")]
    context: BTreeMap<String, Value>,
}

/// A property that was not taken, and HubSpot's code for why. Its value stays out of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Complaint {
    pub(super) property: String,
    pub(super) code: String,
}

/// What stands before the list of properties in a message.
const LIST_IN_MESSAGE: &str = "Property values were not valid: ";

impl Problem {
    /// Reads the body of a refused call; none if it is not HubSpot's JSON, a gateway's page for example.
    pub(super) fn read(answer: &Answer) -> Option<Self> {
        let mut problem: Self = serde_json::from_slice(&answer.body).ok()?;
        problem.redact(&answer.secrets);
        let says_something = problem.category.is_some() || !problem.message.is_empty();
        says_something.then_some(problem)
    }

    /// Takes the secrets out of whatever of it goes into sentences: before any of them is cut. What rows are told by, its own
    /// context, goes into none and stays as it is.
    fn redact(&mut self, secrets: &Secrets) {
        let details = self.errors.iter_mut();
        let own = [&mut self.category, &mut self.policy_name].into_iter().flatten();
        let texts = details.flat_map(|detail| {
            let told = detail.context.values_mut().flat_map(texts_in);
            detail.code.iter_mut().chain(told)
        });
        for text in own.chain([&mut self.message]).chain(texts) {
            *text = secrets.without(text);
        }
    }

    /// The list `name` of its context.
    pub(super) fn listed(&self, name: &str) -> Vec<&str> {
        texts(&self.context, name)
    }

    /// The scopes that the token lacks.
    pub(super) fn missing_scopes(&self) -> Vec<&str> {
        let details = self.errors.iter();
        let mut scopes: Vec<&str> = details
            .flat_map(|detail| {
                let granular = texts(&detail.context, "requiredGranularScopes");
                granular
                    .into_iter()
                    .chain(texts(&detail.context, "missingScopes"))
            })
            .collect();
        scopes.sort_unstable();
        scopes.dedup();
        scopes
    }

    /// The properties that it is about: those of a refused call stand in `errors`, those of one input in its message.
    pub(super) fn complaints(&self) -> Vec<Complaint> {
        let of_detail = |detail: &Detail| {
            let code = detail.code.clone()?;
            let property = texts(&detail.context, "propertyName")
                .first()
                .copied()?
                .to_owned();
            Some(Complaint { property, code })
        };
        let in_errors: Vec<_> = self.errors.iter().filter_map(of_detail).collect();
        if in_errors.is_empty() {
            self.in_message()
        } else {
            in_errors
        }
    }

    fn in_message(&self) -> Vec<Complaint> {
        #[derive(Deserialize)]
        struct Listed {
            name: String,
            error: String,
        }
        let list = self.message.strip_prefix(LIST_IN_MESSAGE).unwrap_or_default();
        let listed: Vec<Listed> = serde_json::from_str(list).unwrap_or_default();
        let complaint = |Listed { name, error }| Complaint {
            property: name,
            code: error,
        };
        listed.into_iter().map(complaint).collect()
    }
}

/// The texts under `name`, whether it holds a list of them or one.
fn texts<'a>(context: &'a BTreeMap<String, Value>, name: &str) -> Vec<&'a str> {
    match context.get(name) {
        Some(Value::Array(values)) => values.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(text)) => vec![text],
        _ => vec![],
    }
}

fn texts_in(value: &mut Value) -> Vec<&mut String> {
    match value {
        Value::Array(values) => values.iter_mut().flat_map(texts_in).collect(),
        Value::String(text) => vec![text],
        _ => vec![],
    }
}

fn or_empty<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}
