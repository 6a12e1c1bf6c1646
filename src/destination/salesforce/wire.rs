//! What Salesforce answers, as far as it is read.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::core::secrets::Secrets;
use crate::destination::answer::Answer;

/// What became of one record.
#[derive(Debug, Deserialize)]
pub(super) struct Written<'a> {
    pub(super) success: bool,
    #[serde(default)]
    errors: Vec<Problem>,
    /// For people to read, so whatever it is.
    #[serde(default, borrow)]
    id: Option<&'a RawValue>,
    /// The same. Up to version 45 it is absent.
    #[serde(default, borrow)]
    created: Option<&'a RawValue>,
}

impl Written<'_> {
    /// Why it was not written: the first error.
    pub(super) fn problem(&self, secrets: &Secrets) -> Problem {
        self.errors.first().cloned().unwrap_or_default().without(secrets)
    }

    /// A success in Salesforce's words: `{"id":"001…","success":true,"errors":[],"created":true}`.
    pub(super) fn success_words(&self) -> String {
        let member = |name: &str, value: Option<&RawValue>| {
            let value = value.map(RawValue::get);
            value.map(|value| format!("\"{name}\":{value}"))
        };
        let fixed = Some("\"success\":true,\"errors\":[]".to_owned());
        let members = [member("id", self.id), fixed, member("created", self.created)];
        let members: Vec<String> = members.into_iter().flatten().collect();
        format!("{{{}}}", members.join(","))
    }
}

/// One error: of a record (`statusCode`) or of a request (`errorCode`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Problem {
    #[serde(default, alias = "statusCode", rename = "errorCode")]
    pub(super) code: String,
    #[serde(default)]
    pub(super) message: String,
    #[serde(default)]
    pub(super) fields: Vec<String>,
}

impl Problem {
    /// The same with the secrets taken out of whatever goes into sentences: before any of them is cut.
    pub(super) fn without(self, secrets: &Secrets) -> Self {
        Self {
            code: secrets.without(&self.code),
            message: secrets.without(&self.message),
            fields: self.fields.iter().map(|field| secrets.without(field)).collect(),
        }
    }
}

/// The first error in the body of a refused request: an array of them, or, against the documents, a single one. Of an HTML
/// page there is none.
pub(super) fn problem(answer: &Answer) -> Option<Problem> {
    let body = answer.body.as_slice();
    let first: Option<Problem> = if body.trim_ascii_start().starts_with(b"{") {
        serde_json::from_slice(body).ok()
    } else {
        let several = serde_json::from_slice::<Vec<Problem>>(body).ok();
        several.and_then(|problems| problems.into_iter().next())
    };
    let first = first.filter(|problem| !problem.code.is_empty())?;
    Some(first.without(&answer.secrets))
}
