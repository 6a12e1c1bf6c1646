//! Answers to whole requests that are no success.

use std::time::Duration;

use super::super::classify::{Judgement, Met, refused};
use super::super::wire::Problem;
use super::{NOW, answer, with_header};
use crate::core::outcome::{Outcome, Refusal, Scope};
use crate::core::time::Timestamp;
use crate::destination::answer::Answer;

fn judged(answer: &Answer) -> Judgement {
    judged_at(answer, NOW)
}

fn judged_at(answer: &Answer, now: Timestamp) -> Judgement {
    let problem = Problem::read(answer);
    refused(answer.status, &answer.headers, problem.as_ref(), now)
}

fn wait(judgement: &Judgement) -> (Scope, Option<Duration>) {
    match &judgement.met {
        Met::Outcome(Outcome::Throttled { scope, retry_after }) => (*scope, *retry_after),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn assert_pauses(answer: &Answer, sentence: &str) {
    let judgement = judged(answer);
    assert_eq!(judgement.met, Met::Outcome(Outcome::Refused(Refusal::Gone)));
    let detail = judgement.detail.unwrap();
    assert!(detail.contains(sentence) && detail.contains("resume"), "{detail}");
}

#[test]
fn a_batch_that_is_refused_for_one_of_its_rows_is_refused_together() {
    for (status, body, detail) in [
        (
            400,
            r#"{"status":"error","message":"Duplicate IDs found in batch input: [12877907025]. IDs must be unique","correlationId":"c","context":{"ids":["12877907025"]},"category":"VALIDATION_ERROR"}"#,
            "HTTP 400, VALIDATION_ERROR",
        ),
        (
            400,
            r#"{"status":"error","message":"Property values were not valid: []","correlationId":"c","errors":[{"message":"Email address not-an-email is invalid","code":"INVALID_EMAIL","context":{"propertyName":["email"]}}],"category":"VALIDATION_ERROR"}"#,
            "HTTP 400, VALIDATION_ERROR: email (INVALID_EMAIL)",
        ),
        (
            400,
            r#"{"status":"error","message":"Invalid input JSON on line 3, column 9: x","correlationId":"c"}"#,
            "HTTP 400, refused",
        ),
        (
            409,
            r#"{"status":"error","message":"Contact already exists. Existing ID: 123","correlationId":"c","category":"CONFLICT"}"#,
            "HTTP 409, CONFLICT",
        ),
        (
            409,
            r#"{"status":"error","message":"Contact already exists","category":"OBJECT_ALREADY_EXISTS","error":"CONTACT_EXISTS"}"#,
            "HTTP 409, OBJECT_ALREADY_EXISTS",
        ),
        (400, "<html></html>", "HTTP 400"),
        (414, "", "HTTP 414"),
    ] {
        let judgement = judged(&answer(status, body));
        assert_eq!(judgement.met, Met::RefusedTogether, "{body}");
        assert_eq!(judgement.detail.as_deref(), Some(detail));
    }
}

#[test]
fn what_is_wrong_for_every_row_pauses_the_destination_with_a_way_out() {
    let not_unique = r#"{"status":"error","message":"Unable to perform update/upsert by non-unique 0-2 property name in portal ID 1","correlationId":"c","category":"VALIDATION_ERROR"}"#;
    assert_pauses(&answer(400, not_unique), "id_property");
    let scopes = r#"{"status":"error","message":"This app hasn't been granted all required scopes","correlationId":"c","errors":[{"message":"One or more of the following scopes are required.","context":{"requiredGranularScopes":["crm.objects.contacts.write"]}}],"category":"MISSING_SCOPES"}"#;
    assert_pauses(&answer(403, scopes), "crm.objects.contacts.write");
    let unknown = r#"{"status":"error","message":"Unable to infer object type from: thing","category":"OBJECT_NOT_FOUND"}"#;
    for status in [400, 404] {
        assert_pauses(&answer(status, unknown), "object");
    }
}

#[test]
fn each_limit_has_its_wait_and_a_longer_one_that_is_asked_for_is_kept() {
    let limited = |policy: &str| {
        let body = format!(
            r#"{{"status":"error","message":"You have reached your limit.","errorType":"RATE_LIMIT","correlationId":"c","policyName":"{policy}","groupName":"publicapi:private-apps:oauth-1"}}"#
        );
        answer(429, &body)
    };
    let seconds = |seconds| (Scope::Destination, Some(Duration::from_secs(seconds)));
    assert_eq!(wait(&judged(&limited("TEN_SECONDLY_ROLLING"))), seconds(10));
    assert_eq!(wait(&judged(&limited("SECONDLY"))), seconds(1));
    assert_eq!(wait(&judged(&limited("UNHEARD_OF"))), (Scope::Destination, None));
    let asked = with_header(limited("SECONDLY"), "retry-after", "25");
    assert_eq!(wait(&judged(&asked)), seconds(25));
    let asked = with_header(limited("TEN_SECONDLY_ROLLING"), "retry-after", "2");
    assert_eq!(wait(&judged(&asked)), seconds(10));
}

#[test]
fn a_day_s_quota_is_looked_for_at_each_full_and_half_hour() {
    let body = r#"{"status":"error","message":"You have reached your daily limit.","errorType":"RATE_LIMIT","policyName":"DAILY"}"#;
    for (after_the_hour, expected) in [(0, 1_800), (600, 1_200), (1_799, 1), (1_800, 1_800)] {
        let now = NOW.plus(Duration::from_secs(after_the_hour));
        let waited = wait(&judged_at(&answer(429, body), now));
        assert_eq!(waited, (Scope::Destination, Some(Duration::from_secs(expected))));
    }
}

#[test]
fn a_locked_object_and_a_portal_on_the_move_are_waited_for() {
    let locked = answer(
        423,
        r#"{"status":"error","message":"locked","category":"RESOURCE_LOCKED"}"#,
    );
    assert_eq!(wait(&judged(&locked)), (Scope::Row, Some(Duration::from_secs(2))));
    let longer = with_header(locked, "retry-after", "7");
    assert_eq!(wait(&judged(&longer)), (Scope::Row, Some(Duration::from_secs(7))));
    let moving = || answer(477, "");
    let hour = Some(Duration::from_hours(1));
    assert_eq!(wait(&judged(&moving())), (Scope::Destination, hour));
    let day = with_header(moving(), "retry-after", "86400");
    assert_eq!(
        wait(&judged(&day)),
        (Scope::Destination, Some(Duration::from_hours(24)))
    );
    let soon = with_header(moving(), "retry-after", "60");
    assert_eq!(
        wait(&judged(&soon)),
        (Scope::Destination, Some(Duration::from_mins(1)))
    );
}

#[test]
fn a_page_of_a_gateway_is_no_answer_of_hubspot() {
    let page = "<!DOCTYPE html><html><head><title>hubapi.com | 502</title></head></html>";
    for status in [502, 504, 520, 522, 524] {
        let met = judged(&answer(status, page)).met;
        assert_eq!(met, Met::Outcome(Outcome::Unknown), "{status}");
    }
    // Nothing reached HubSpot, or a rule of the gateway's own turned it away: later it may not.
    for status in [403, 404, 500, 521, 523, 525] {
        let met = judged(&answer(status, page)).met;
        assert_eq!(
            met,
            Met::Outcome(Outcome::Refused(Refusal::Retryable)),
            "{status}"
        );
    }
    let busy = wait(&judged(&answer(503, page)));
    assert_eq!(busy, (Scope::Destination, None));
}

#[test]
fn a_401_is_about_the_token_and_about_no_row() {
    for body in [
        r#"{"status":"error","message":"The OAuth token used to make this call expired 7 second(s) ago.","correlationId":"c","category":"EXPIRED_AUTHENTICATION"}"#,
        r#"{"status":"error","message":"Authentication credentials not found.","category":"INVALID_AUTHENTICATION"}"#,
        "",
    ] {
        assert_eq!(judged(&answer(401, body)).met, Met::TokenRefused);
    }
}

#[test]
fn only_a_2xx_is_ever_accepted() {
    for status in (0..=999).filter(|status| !(200..300).contains(status)) {
        let met = judged(&answer(status, "{}")).met;
        assert_ne!(met, Met::Outcome(Outcome::Accepted), "{status}");
    }
}
