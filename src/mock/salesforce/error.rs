//! What Salesforce says when it refuses: a request as a whole, or one record of it, in the forms of each interface.

use std::borrow::Cow;

use serde_json::{Value as Json, json};

use crate::mock::crm::Answer;

/// Why a record is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RecordError {
    pub(super) code: &'static str,
    pub(super) message: Cow<'static, str>,
    pub(super) fields: Vec<String>,
    pub(super) detail: Detail,
}

/// What else the answer tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Detail {
    Nothing,
    /// The value was not understood at all, so the record's fields were not looked at.
    Unparsed,
    /// There is no such record.
    NoRecord,
    /// A duplicate rule found these.
    Duplicates(Json),
    /// Several records match; their URLs' ends.
    Matches(Vec<String>),
}

impl RecordError {
    /// A refusal after the record was understood.
    pub(super) fn of(code: &'static str, message: impl Into<Cow<'static, str>>, fields: &[&str]) -> Self {
        Self {
            code,
            message: message.into(),
            fields: fields.iter().map(|&field| field.to_owned()).collect(),
            detail: Detail::Nothing,
        }
    }

    /// A refusal because the record was not understood.
    pub(super) fn unparsed(code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            detail: Detail::Unparsed,
            ..Self::of(code, message, &[])
        }
    }

    /// The whole answer where a request holds one record.
    pub(super) fn answer(&self) -> Answer {
        if let Detail::Matches(urls) = &self.detail {
            return Answer::json(300, urls);
        }
        let status = match (&self.detail, self.code) {
            (Detail::NoRecord, _) | (_, "NOT_FOUND") => 404,
            _ => 400,
        };
        let mut error = json!({ "message": self.message, "errorCode": self.code });
        match &self.detail {
            Detail::Unparsed => {}
            // Misspelt by the vendor, and never mended.
            Detail::Duplicates(found) => error["duplicateResut"] = found.clone(),
            Detail::Nothing | Detail::NoRecord | Detail::Matches(_) => error["fields"] = json!(self.fields),
        }
        Answer::json(status, &[error])
    }

    /// The record's part of an answer that speaks of many.
    pub(super) fn result(&self) -> Json {
        let mut error = json!({ "statusCode": self.code, "message": self.message, "fields": self.fields });
        if let Detail::Duplicates(found) = &self.detail {
            error["duplicateResut"] = found.clone();
        }
        json!({ "success": false, "errors": [error] })
    }

    /// The value of `sf__Error` in a bulk job's results.
    pub(super) fn csv(&self) -> String {
        let fields = self.fields.join(", ");
        let gap = if fields.is_empty() { "" } else { " " };
        format!("{}:{}:{fields}{gap}--", self.code, self.message)
    }
}

/// A refusal of a request as a whole.
pub(super) fn refusal(status: u16, code: &str, message: &str) -> Answer {
    Answer::json(status, &[json!({ "message": message, "errorCode": code })])
}

pub(super) fn not_found() -> Answer {
    refusal(404, "NOT_FOUND", "The requested resource does not exist")
}

pub(super) fn wrong_method(method: &str, allowed: &str) -> Answer {
    let message = format!("HTTP Method '{method}' not allowed. Allowed are {allowed}");
    refusal(405, "METHOD_NOT_ALLOWED", &message)
}

pub(super) fn unreadable(error: &serde_json::Error) -> Answer {
    refusal(400, "JSON_PARSER_ERROR", &error.to_string())
}
