//! Answers to batches: which row is delivered, which is refused, and of which nothing is known.

use super::super::classify::{Judgement, Met};
use super::super::reading::{Found, Reading, archive, look_up, upsert};
use super::{NOW, answer, rows};
use crate::core::outcome::{Outcome, Refusal};

const PARTLY: &str = r#"{"completedAt":"2026-06-24T18:05:37.500Z","status":"COMPLETE","startedAt":"2026-06-24T18:05:37.123Z",
 "results":[{"id":"123","properties":{"createdate":"2026-06-24T18:05:37.123Z","email":"a@b.co","hs_object_id":"123","lastmodifieddate":null,"hs_object_source":"INTEGRATION"},"createdAt":"2026-06-24T18:05:37.123Z","updatedAt":"2026-06-24T18:05:37.123Z","archived":false,"objectWriteTraceId":"t1","url":"https://app.hubspot.com/contacts/1/record/0-1/123","new":false}],
 "errors":[{"status":"error","category":"VALIDATION_ERROR","message":"Property values were not valid: [{\"isValid\":false,\"message\":\"Email address not-an-email is invalid\",\"error\":\"INVALID_EMAIL\",\"name\":\"email\"}]","context":{"objectWriteTraceId":["t2"]}}],
 "numErrors":1}"#;

fn each(reading: Reading) -> Vec<Judgement> {
    match reading {
        Reading::Each(judgements) => judgements,
        Reading::Alike(judgement) => panic!("the same of every row: {judgement:?}"),
    }
}

fn alike(reading: Reading) -> Judgement {
    match reading {
        Reading::Alike(judgement) => judgement,
        Reading::Each(judgements) => panic!("{judgements:?}"),
    }
}

#[test]
fn a_207_names_by_trace_id_who_is_delivered_and_who_is_refused() {
    let judged = each(upsert(&answer(207, PARTLY), &rows(&["t2", "t1"]), NOW));
    assert_eq!(judged[0].met, Met::Outcome(Outcome::Refused(Refusal::Final)));
    assert_eq!(
        judged[0].detail.as_deref(),
        Some("VALIDATION_ERROR: email (INVALID_EMAIL)"),
        "no value goes into a log"
    );
    assert!(judged[0].words.as_deref().unwrap().contains("not-an-email"));
    assert_eq!(judged[1].met, Met::Outcome(Outcome::Accepted));
    assert_eq!(judged[1].words.as_deref(), Some(r#"{"id":"123","new":false}"#));
}

#[test]
fn a_row_that_a_2xx_leaves_out_is_not_delivered() {
    let judged = each(upsert(&answer(207, PARTLY), &rows(&["t1", "t2", "t3"]), NOW));
    assert_eq!(judged[2].met, Met::Omitted);
    for body in [
        r#"{"status":"COMPLETE","results":[],"errors":[]}"#,
        r#"{"status":"COMPLETE","results":[]}"#,
        r#"{"status":"COMPLETE","results":null,"errors":null}"#,
        "{}",
    ] {
        for traces in [&["t1"][..], &["t1", "t2"]] {
            let judged = each(upsert(&answer(200, body), &rows(traces), NOW));
            assert!(
                judged.iter().all(|judgement| judgement.met == Met::Omitted),
                "{body}"
            );
        }
    }
}

#[test]
fn a_single_result_for_a_single_row_needs_no_trace_id_and_two_do() {
    let body = r#"{"status":"COMPLETE","results":[{"id":"1","properties":{}}]}"#;
    let one = each(upsert(&answer(200, body), &rows(&["t1"]), NOW));
    assert_eq!(one[0].met, Met::Outcome(Outcome::Accepted));
    let two = each(upsert(&answer(200, body), &rows(&["t1", "t2"]), NOW));
    assert!(two.iter().all(|judgement| judgement.met == Met::Omitted));
}

#[test]
fn a_row_that_a_result_and_an_error_name_is_refused() {
    let body = r#"{"results":[{"id":"1","objectWriteTraceId":"t1","properties":{}},{"id":"2","objectWriteTraceId":"t2","properties":{}}],
        "errors":[{"category":"VALIDATION_ERROR","message":"","context":{"objectWriteTraceId":["t2"]}}],"numErrors":1}"#;
    let judged = each(upsert(&answer(207, body), &rows(&["t1", "t2"]), NOW));
    assert_eq!(judged[0].met, Met::Outcome(Outcome::Accepted));
    assert_eq!(judged[1].met, Met::Outcome(Outcome::Refused(Refusal::Final)));
}

#[test]
fn an_error_without_a_trace_id_is_found_by_its_id() {
    let body = r#"{"status":"COMPLETE","results":[{"id":"1","objectWriteTraceId":"t1","properties":{}}],
        "errors":[{"category":"OBJECT_NOT_FOUND","message":"","context":{"ids":["T2@b.co"]}}],"numErrors":1}"#;
    let judged = each(upsert(&answer(207, body), &rows(&["t1", "t2"]), NOW));
    assert_eq!(judged[0].met, Met::Outcome(Outcome::Accepted));
    assert_eq!(judged[1].met, Met::Outcome(Outcome::Refused(Refusal::Final)));
}

#[test]
fn a_success_that_cannot_be_read_proves_nothing() {
    for body in ["{\"results\":[", "<html></html>", "", "7"] {
        let judged = alike(upsert(&answer(200, body), &rows(&["t1"]), NOW));
        assert_eq!(judged.met, Met::Outcome(Outcome::Unknown), "{body}");
    }
}

#[test]
fn a_look_up_tells_records_from_those_that_are_not_there_and_from_silence() {
    let body = r#"{"status":"COMPLETE","results":[{"id":"7","properties":{"email":"a@b.co"}}],"numErrors":1,
        "errors":[{"status":"error","category":"OBJECT_NOT_FOUND","message":"Could not get some CONTACT objects",
        "context":{"ids":["gone@b.co"]}}]}"#;
    let found = look_up(
        &answer(207, body),
        &["A@b.co", "gone@b.co", "x@b.co"],
        "email",
        NOW,
    );
    assert_eq!(
        found.unwrap(),
        [Found::Record("7".to_owned()), Found::Nothing, Found::Omitted]
    );
    let renamed = r#"{"results":[{"id":"7","properties":{"email":"primary@b.co"}}]}"#;
    assert_eq!(
        look_up(&answer(200, renamed), &["second@b.co"], "email", NOW).unwrap(),
        [Found::Record("7".to_owned())],
        "a contact has several addresses"
    );
}

#[test]
fn an_archive_is_done_at_204() {
    assert_eq!(
        archive(&answer(204, ""), NOW).met,
        Met::Outcome(Outcome::Accepted)
    );
    assert_eq!(archive(&answer(400, "{}"), NOW).met, Met::RefusedTogether);
    let partly = r#"{"results":[],"errors":[{"category":"OBJECT_NOT_FOUND","message":""}]}"#;
    assert_eq!(archive(&answer(207, partly), NOW).met, Met::RefusedTogether);
}
