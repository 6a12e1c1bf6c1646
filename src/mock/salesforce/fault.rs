//! The faults of a mock org, as a table: every code that a client must tell apart can be made to happen.

use serde_json::{Value as Json, json};

use super::error::{Detail, RecordError, refusal};
use crate::mock::crm::{Answer, Request, Scope, VendorFault};

/// Something that Salesforce refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SalesforceFault {
    status: u16,
    code: &'static str,
    message: &'static str,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A request to the data interface.
    Data,
    /// The same, answered with a page for people.
    Page,
    /// The same, answered with the URLs of records that match.
    Several,
    /// A request for a token.
    Token,
    /// A record.
    Record,
    /// A record that resembles another; a client may insist on it by a header.
    Duplicate,
    /// A record of a bulk job at which the job ends.
    Job,
}

const fn data(status: u16, code: &'static str, message: &'static str) -> SalesforceFault {
    SalesforceFault {
        status,
        code,
        message,
        kind: Kind::Data,
    }
}

const fn token(code: &'static str, message: &'static str) -> SalesforceFault {
    SalesforceFault {
        status: 400,
        code,
        message,
        kind: Kind::Token,
    }
}

const fn record(code: &'static str, message: &'static str) -> SalesforceFault {
    SalesforceFault {
        status: 400,
        code,
        message,
        kind: Kind::Record,
    }
}

const fn other(kind: Kind, status: u16, code: &'static str, message: &'static str) -> SalesforceFault {
    SalesforceFault {
        status,
        code,
        message,
        kind,
    }
}

const LOCK: &str = "unable to obtain exclusive access to this record";
const FLOW: &str = "UNABLE_TO_LOCK_ROW, unable to obtain exclusive access to this record";

impl VendorFault for SalesforceFault {
    const ALL: &'static [(&'static str, Self)] = &[
        (
            "request-limit",
            data(403, "REQUEST_LIMIT_EXCEEDED", "TotalRequests Limit exceeded."),
        ),
        (
            "long-request-limit",
            data(
                403,
                "REQUEST_LIMIT_EXCEEDED",
                "ConcurrentPerOrgLongTxn Limit exceeded",
            ),
        ),
        (
            "concurrent-limit",
            data(
                403,
                "CONCURRENT_REQUESTS_LIMIT_EXCEEDED",
                "ConcurrentRequests Limit exceeded.",
            ),
        ),
        (
            "invalid-session",
            data(401, "INVALID_SESSION_ID", "Session expired or invalid"),
        ),
        (
            "invalid-auth-header",
            data(401, "INVALID_AUTH_HEADER", "INVALID_HEADER_TYPE"),
        ),
        (
            "invalid-jwt",
            data(401, "INVALID_JWT_FORMAT", "INVALID_JWT_FORMAT"),
        ),
        (
            "insufficient-access",
            data(
                403,
                "INSUFFICIENT_ACCESS",
                "insufficient access rights on cross-reference id",
            ),
        ),
        (
            "api-disabled",
            data(
                403,
                "API_DISABLED_FOR_ORG",
                "The REST API is not enabled for this Organization.",
            ),
        ),
        (
            "storage-limit",
            data(403, "STORAGE_LIMIT_EXCEEDED", "storage limit exceeded"),
        ),
        (
            "server-unavailable",
            data(503, "SERVER_UNAVAILABLE", "Service temporarily unavailable"),
        ),
        (
            "server-error",
            data(500, "UNKNOWN_EXCEPTION", "An unexpected error occurred."),
        ),
        (
            "not-found",
            data(404, "NOT_FOUND", "The requested resource does not exist"),
        ),
        (
            "no-such-record",
            data(404, "INVALID_CROSS_REFERENCE_KEY", "invalid cross reference id"),
        ),
        (
            "parser-error",
            data(
                400,
                "JSON_PARSER_ERROR",
                "Unexpected character at [line:1, column:2]",
            ),
        ),
        (
            "maintenance",
            other(Kind::Page, 503, "", "We are down for maintenance."),
        ),
        ("several-match", other(Kind::Several, 300, "", "")),
        (
            "invalid-client",
            token("invalid_client", "invalid client credentials"),
        ),
        (
            "invalid-client-id",
            token("invalid_client_id", "client identifier invalid"),
        ),
        ("invalid-grant", token("invalid_grant", "authentication failure")),
        (
            "expired-grant",
            token("invalid_grant", "expired access/refresh token"),
        ),
        (
            "not-approved",
            token("invalid_grant", "user hasn't approved this consumer"),
        ),
        ("unable-to-lock-row", record("UNABLE_TO_LOCK_ROW", LOCK)),
        ("flow-lock", record("CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY", FLOW)),
        (
            "too-many-queries",
            record(
                "CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY",
                "Too many SOQL queries: 101",
            ),
        ),
        (
            "trigger-error",
            record(
                "CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY",
                "execution of BeforeInsert",
            ),
        ),
        (
            "query-timeout",
            record("QUERY_TIMEOUT", "Your query request was running for too long."),
        ),
        (
            "running-too-long",
            record(
                "REQUEST_RUNNING_TOO_LONG",
                "Your request was running for too long",
            ),
        ),
        (
            "metering",
            record(
                "TXN_SECURITY_METERING_ERROR",
                "transaction security metering failed",
            ),
        ),
        (
            "unknown-exception",
            record("UNKNOWN_EXCEPTION", "An unexpected error occurred."),
        ),
        (
            "validation-rule",
            record("FIELD_CUSTOM_VALIDATION_EXCEPTION", "the validation rule says no"),
        ),
        ("deleted-entity", record("ENTITY_IS_DELETED", "entity is deleted")),
        (
            "cross-reference",
            record("INVALID_CROSS_REFERENCE_KEY", "invalid cross reference id"),
        ),
        ("invalid-field", record("INVALID_FIELD", "No such column 'Name'")),
        (
            "not-writable",
            record(
                "INVALID_FIELD_FOR_INSERT_UPDATE",
                "Unable to create/update fields: Name.",
            ),
        ),
        (
            "duplicate-value",
            record(
                "DUPLICATE_VALUE",
                "duplicate value found: Name duplicates value on record with id: 001",
            ),
        ),
        (
            "duplicates-detected",
            other(
                Kind::Duplicate,
                400,
                "DUPLICATES_DETECTED",
                "Use one of these records?",
            ),
        ),
        (
            "bulk-failed",
            other(
                Kind::Job,
                200,
                "",
                "InternalServerError : the job could not go on",
            ),
        ),
    ];

    fn scope(self) -> Scope {
        match self.kind {
            Kind::Data | Kind::Page | Kind::Several | Kind::Token => Scope::Request,
            Kind::Record | Kind::Duplicate | Kind::Job => Scope::Record,
        }
    }

    fn can_meet(self, request: &Request) -> bool {
        match self.kind {
            Kind::Token => request.path.starts_with("/services/oauth2/"),
            Kind::Job => request.path.contains("/jobs/ingest"),
            _ => request.path.starts_with("/services/data"),
        }
    }
}

/// What becomes of a record that met a fault.
#[derive(Debug)]
pub(super) enum Strike {
    /// It is refused.
    Refused(RecordError),
    /// It is written all the same: the client insists.
    Harmless,
    /// The bulk job ends here, with this message.
    JobFails(&'static str),
}

impl SalesforceFault {
    /// What is answered to a request that met the fault as a whole.
    pub(super) fn answer(self, request: &Request) -> Answer {
        match self.kind {
            Kind::Page => page(self.status, self.message),
            Kind::Several => {
                let url = |id: &str| format!("{}/{id}", request.path);
                Answer::json(self.status, &["aaa", "bbb"].map(url))
            }
            Kind::Token => {
                let body = json!({ "error": self.code, "error_description": self.message });
                Answer::json(self.status, &body)
            }
            _ => refusal(self.status, self.code, self.message),
        }
    }

    /// What becomes of a record of this object.
    pub(super) fn strike(self, object: &str, request: &Request) -> Strike {
        match self.kind {
            Kind::Job => Strike::JobFails(self.message),
            Kind::Duplicate if insists(request) => Strike::Harmless,
            Kind::Duplicate => Strike::Refused(RecordError {
                detail: Detail::Duplicates(duplicates(object)),
                ..RecordError::of(self.code, self.message, &[])
            }),
            _ => Strike::Refused(RecordError::of(self.code, self.message, &[])),
        }
    }
}

/// A page for people, as the servers before an org show it.
pub(super) fn page(status: u16, message: &str) -> Answer {
    let html = format!(
        "<!DOCTYPE html>\n<html><head><title>Salesforce</title></head><body>{message}</body></html>\n"
    );
    Answer::of(status, "text/html;charset=UTF-8", html)
}

fn insists(request: &Request) -> bool {
    let header = request.header("sforce-duplicate-rule-header").unwrap_or_default();
    let mut parts = header.split(';').filter_map(|part| part.split_once('='));
    // The bulk interface does not honour it.
    !request.path.contains("/jobs/")
        && parts.any(|(name, value)| name.trim() == "allowSave" && value.trim().eq_ignore_ascii_case("true"))
}

fn duplicates(object: &str) -> Json {
    json!({
        "allowSave": true,
        "duplicateRule": format!("{object}s_DR"),
        "duplicateRuleEntityType": object,
        "errorMessage": "You're creating a duplicate record. We recommend you use an existing record instead.",
        "matchResults": [{
            "entityType": object,
            "errors": [],
            "matchEngine": "FuzzyMatchEngine",
            "matchRecords": [{
                "additionalInformation": [],
                "fieldDiffs": [],
                "matchConfidence": 100.0,
                "record": { "attributes": { "type": object }, "Id": null },
            }],
            "rule": format!("Standard_{object}_Match_Rule"),
            "size": 1,
            "success": true,
        }],
    })
}
