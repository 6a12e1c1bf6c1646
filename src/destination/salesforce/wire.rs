//! What Salesforce answers, as far as it is read.

use serde::Deserialize;
use serde_json::value::RawValue;

/// What became of one record.
#[derive(Debug, Deserialize)]
pub(super) struct Written<'a> {
    pub(super) success: bool,
    #[serde(default)]
    pub(super) errors: Vec<Problem>,
    /// For people to read, so whatever it is.
    #[serde(default, borrow)]
    id: Option<&'a RawValue>,
    /// The same. Up to version 45 it is absent.
    #[serde(default, borrow)]
    created: Option<&'a RawValue>,
}

impl Written<'_> {
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

/// The first error in the body of a refused request: an array of them, or, against the documents, a single one. Of an HTML
/// page there is none.
pub(super) fn problem(body: &[u8]) -> Option<Problem> {
    let first: Option<Problem> = if body.trim_ascii_start().starts_with(b"{") {
        serde_json::from_slice(body).ok()
    } else {
        let several = serde_json::from_slice::<Vec<Problem>>(body).ok();
        several.and_then(|problems| problems.into_iter().next())
    };
    first.filter(|problem| !problem.code.is_empty())
}
