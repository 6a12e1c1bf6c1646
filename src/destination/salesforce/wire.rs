//! What Salesforce answers, as far as it is read.

use serde::Deserialize;

/// What became of one record.
#[derive(Debug, Deserialize)]
pub(super) struct Written {
    pub(super) success: bool,
    #[serde(default)]
    pub(super) errors: Vec<Problem>,
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
