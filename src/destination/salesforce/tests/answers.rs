//! What each recorded answer means for the rows of its request.

use reqwest::header::HeaderMap;

use super::super::classify::{Company, Met, of_request};
use super::super::reading::{About, Reading, read};
use super::super::wire::problem;
use super::NOW;
use crate::core::outcome::{Outcome, Refusal, Scope};
use crate::core::secrets::Secrets;
use crate::destination::answer::Answer;

fn answer(status: u16, body: &str) -> Answer {
    Answer {
        status,
        headers: HeaderMap::new(),
        excerpt: None,
        body: body.as_bytes().to_vec(),
        secrets: Secrets::none(),
        trouble: None,
    }
}

/// The outcomes of so many rows that were sent together.
fn outcomes(status: u16, body: &str, about: About) -> Vec<Outcome> {
    let outcome = |met| match met {
        Met::Outcome(outcome) => outcome,
        Met::TokenRefused => panic!("the token was refused"),
    };
    match read(&answer(status, body), about, NOW) {
        Reading::Alike(judgement) => vec![outcome(judgement.met)],
        Reading::Each(judgements) => judgements.into_iter().map(|one| outcome(one.met)).collect(),
    }
}

const FINAL: Outcome = Outcome::Refused(Refusal::Final);
const GONE: Outcome = Outcome::Refused(Refusal::Gone);
const RETRYABLE: Outcome = Outcome::Refused(Refusal::Retryable);
const TOGETHER: Outcome = Outcome::Refused(Refusal::Together);
const ROW_WAITS: Outcome = Outcome::Throttled {
    scope: Scope::Row,
    retry_after: None,
};
const ORG_WAITS: Outcome = Outcome::Throttled {
    scope: Scope::Destination,
    retry_after: None,
};

/// Status, code, message; what they mean for a row that was sent alone, and for one among others.
const CLASSES: [(u16, &str, &str, Outcome, Outcome); 25] = [
    (400, "REQUIRED_FIELD_MISSING", "", FINAL, TOGETHER),
    (
        400,
        "JSON_PARSER_ERROR",
        "Cannot deserialize instance of currency",
        FINAL,
        TOGETHER,
    ),
    (
        400,
        "DUPLICATES_DETECTED",
        "Use one of these records?",
        FINAL,
        TOGETHER,
    ),
    (400, "UNABLE_TO_LOCK_ROW", "", RETRYABLE, RETRYABLE),
    (400, "QUERY_TIMEOUT", "", RETRYABLE, RETRYABLE),
    (
        400,
        "CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY",
        "A: UNABLE_TO_LOCK_ROW",
        RETRYABLE,
        RETRYABLE,
    ),
    (
        400,
        "CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY",
        "Too many SOQL queries: 101",
        RETRYABLE,
        RETRYABLE,
    ),
    (
        400,
        "CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY",
        "validation",
        FINAL,
        TOGETHER,
    ),
    (
        400,
        "INVALID_FIELD",
        "Foreign key external ID: X not found for field Ext__c in entity Account",
        ROW_WAITS,
        TOGETHER,
    ),
    (400, "INVALID_FIELD", "No such column 'Foo'", FINAL, TOGETHER),
    (
        403,
        "REQUEST_LIMIT_EXCEEDED",
        "TotalRequests Limit exceeded.",
        GONE,
        GONE,
    ),
    (
        403,
        "REQUEST_LIMIT_EXCEEDED",
        "ConcurrentPerOrgLongTxn Limit exceeded.",
        ORG_WAITS,
        ORG_WAITS,
    ),
    (
        403,
        "CONCURRENT_REQUESTS_LIMIT_EXCEEDED",
        "",
        ORG_WAITS,
        ORG_WAITS,
    ),
    (403, "API_DISABLED_FOR_ORG", "", GONE, GONE),
    (403, "STORAGE_LIMIT_EXCEEDED", "", GONE, GONE),
    (
        404,
        "NOT_FOUND",
        "Provided external ID field does not exist or is not accessible: Namez",
        GONE,
        GONE,
    ),
    (
        404,
        "INVALID_CROSS_REFERENCE_KEY",
        "invalid cross reference id",
        FINAL,
        GONE,
    ),
    (405, "METHOD_NOT_ALLOWED", "", FINAL, TOGETHER),
    (414, "URI_TOO_LONG", "", FINAL, TOGETHER),
    (420, "", "", ORG_WAITS, ORG_WAITS),
    (429, "", "", ORG_WAITS, ORG_WAITS),
    (500, "UNKNOWN_EXCEPTION", "", RETRYABLE, RETRYABLE),
    (502, "", "", Outcome::Unknown, Outcome::Unknown),
    (503, "SERVER_UNAVAILABLE", "", ORG_WAITS, ORG_WAITS),
    (504, "", "", Outcome::Unknown, Outcome::Unknown),
];

#[test]
fn each_record_of_a_collection_has_its_own_outcome() {
    let body = r#"[{"id":"001","success":true,"errors":[],"created":true},
        {"success":false,"errors":[{"statusCode":"REQUIRED_FIELD_MISSING","message":"Required fields are missing: [Name]","fields":["Name"]}]},
        {"success":false,"errors":[{"statusCode":"UNABLE_TO_LOCK_ROW","message":"unable to obtain exclusive access","fields":[]}]}]"#;
    assert_eq!(
        outcomes(200, body, About::Several(3)),
        [
            Outcome::Accepted,
            Outcome::Refused(Refusal::Final),
            Outcome::Refused(Refusal::Retryable)
        ]
    );
    let Reading::Each(judgements) = read(&answer(200, body), About::Several(3), NOW) else {
        panic!("each has its own");
    };
    assert_eq!(
        judgements[1].detail.as_deref(),
        Some("REQUIRED_FIELD_MISSING (Name)")
    );
    assert_eq!(
        judgements[1].words.as_deref(),
        Some("Required fields are missing: [Name]")
    );
    assert_eq!(
        judgements[0].words.as_deref(),
        Some(r#"{"id":"001","success":true,"errors":[],"created":true}"#)
    );
}

#[test]
fn a_row_without_its_parent_says_what_it_waits_for() {
    let message = "Foreign key external ID: c-99 not found for field Ext__c in entity Account";
    let said = "INVALID_FIELD: a record that it refers to is not there yet, and the row waits for it";
    let among_others = format!(
        r#"[{{"success":true}},{{"success":false,"errors":[{{"statusCode":"INVALID_FIELD","message":"{message}"}}]}}]"#
    );
    let Reading::Each(judgements) = read(&answer(200, &among_others), About::Several(2), NOW) else {
        panic!("each has its own");
    };
    assert_eq!(judgements[1].detail.as_deref(), Some(said));
    assert_eq!(judgements[1].words.as_deref(), Some(message));
    let alone = format!(r#"[{{"errorCode":"INVALID_FIELD","message":"{message}"}}]"#);
    let Reading::Alike(judgement) = read(&answer(400, &alone), About::One, NOW) else {
        panic!("there is one");
    };
    assert_eq!(judgement.detail, Some(format!("HTTP 400, {said}")));
}

#[test]
fn a_success_that_does_not_speak_of_each_row_is_none() {
    assert_eq!(
        outcomes(200, r#"[{"success":true}]"#, About::Several(2)),
        [Outcome::Refused(Refusal::Alone)]
    );
    for (body, about) in [
        ("", About::Several(2)),
        ("<html>", About::Several(2)),
        ("[{\"success\":true", About::Several(1)),
        ("{}", About::One),
    ] {
        assert_eq!(outcomes(200, body, about), [Outcome::Unknown], "{body}");
    }
}

#[test]
fn a_record_that_shares_its_external_id_with_another_of_the_call_comes_again_alone() {
    let twice = r#"{"success":false,"errors":[{"statusCode":"DUPLICATE_VALUE","message":"Duplicate external id specified: a","fields":["Ext__c"]}]}"#;
    let alone = Outcome::Refused(Refusal::Alone);
    let body = format!("[{twice},{twice}]");
    assert_eq!(outcomes(200, &body, About::Several(2)), [alone.clone(), alone]);
    assert_eq!(outcomes(200, &format!("[{twice}]"), About::Several(1)), [FINAL]);
}

#[test]
fn one_record_is_accepted_in_each_of_the_forms_that_versions_have() {
    for (status, body) in [
        (201, r#"{"id":"001","success":true,"errors":[],"created":true}"#),
        (200, r#"{"id":"001","success":true,"errors":[],"created":false}"#),
        (204, ""),
    ] {
        assert_eq!(outcomes(status, body, About::One), [Outcome::Accepted]);
    }
    assert_eq!(outcomes(204, "", About::Deleted), [Outcome::Accepted]);
    let gone = r#"[{"errorCode":"NOT_FOUND","message":"The requested resource does not exist"}]"#;
    assert_eq!(outcomes(404, gone, About::Deleted), [Outcome::Accepted]);
    assert_eq!(
        outcomes(404, gone, About::Known),
        [Outcome::Refused(Refusal::Final)]
    );
    assert_eq!(
        outcomes(404, gone, About::One),
        [Outcome::Refused(Refusal::Gone)],
        "the object is unknown"
    );
    assert_eq!(
        outcomes(404, "<html>", About::Deleted),
        [Outcome::Refused(Refusal::Gone)]
    );
}

#[test]
fn every_code_has_its_class() {
    for (status, code, message, alone, among_others) in CLASSES {
        let body = format!(r#"[{{"errorCode":"{code}","message":"{message}"}}]"#);
        let what = format!("{status} {code} {message}");
        assert_eq!(outcomes(status, &body, About::One), [alone], "{what}");
        assert_eq!(
            outcomes(status, &body, About::Several(2)),
            [among_others],
            "{what}"
        );
    }
    assert_eq!(
        outcomes(300, r#"["/services/data/v23.0/sobjects/X/aaa"]"#, About::One),
        [Outcome::Refused(Refusal::Final)]
    );
}

#[test]
fn the_token_is_to_blame_for_a_401_whatever_stands_in_it() {
    let problem = problem(&answer(
        401,
        r#"[{"message":"Session expired or invalid","errorCode":"INVALID_SESSION_ID"}]"#,
    ));
    let judgement = of_request(401, &HeaderMap::new(), problem.as_ref(), Company::Others, NOW);
    assert_eq!(judgement.met, Met::TokenRefused);
}

#[test]
fn errors_are_read_in_an_array_in_an_object_and_not_in_a_page() {
    let problem = |body| problem(&answer(400, body));
    let bare = problem(r#"{"errorCode":"NOT_FOUND","message":"m"}"#).unwrap();
    assert_eq!(bare.code, "NOT_FOUND");
    let misspelt = r#"[{"duplicateResut":{"allowSave":true},"errorCode":"DUPLICATES_DETECTED","message":"Use one of these records?"}]"#;
    assert_eq!(problem(misspelt).unwrap().code, "DUPLICATES_DETECTED");
    for page in [
        "<html>We are down for maintenance</html>",
        "",
        "[]",
        "{}",
        "[\"/services\"]",
    ] {
        assert_eq!(problem(page), None, "{page}");
    }
}
