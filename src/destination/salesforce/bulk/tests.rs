//! The file of a job, its requests, and what its results mean, as values.

use super::super::tests::requests::{delete, rendering, upsert};
use super::calls::{self, Call};
use super::file::{data, name};
use super::results::{Files, problem, read};
use crate::core::outcome::{Outcome, Refusal, Report, Scope};
use crate::core::secrets::Secrets;
use crate::destination::Outgoing;
use crate::destination::bulk::Awaited;

const FIELDS: &str = "fields = { Name = \"name\", Phone = \"phone\", Amount__c = \"amount\", \"Parent__r.Ext__c\" = \"parent\" }";

fn file_of(batch: &[Outgoing]) -> (String, Awaited) {
    let rows: Vec<_> = batch.iter().map(|outgoing| &outgoing.row).collect();
    let data = data(&rendering(FIELDS), &rows);
    (String::from_utf8(data.body.to_vec()).unwrap(), data.awaited)
}

#[test]
fn the_header_holds_every_field_that_a_row_has_and_what_is_absent_stays_empty() {
    let (csv, awaited) = file_of(&[
        upsert("A-1", r#"{"name": "Ä, \"b\"\nc", "phone": null}"#),
        upsert(
            "a-2",
            r#"{"amount": 12345678901234567890.10, "parent": "p", "name": " x "}"#,
        ),
        upsert("a-3", "{}"),
    ]);
    assert_eq!(
        csv,
        "Ext__c,Amount__c,Name,Parent__r.Ext__c,Phone\n\
         A-1,,\"Ä, \"\"b\"\"\nc\",,#N/A\n\
         a-2,12345678901234567890.10, x ,p,\n\
         a-3,,,,\n"
    );
    assert_eq!(
        awaited.names,
        ["a-1", "a-2", "a-3"],
        "matched without regard to case"
    );
}

#[test]
fn what_csv_would_say_otherwise_has_no_line() {
    let rendering = rendering(FIELDS);
    let has_line = |outgoing: &Outgoing| name(&rendering, &outgoing.row).is_some();
    assert!(has_line(&upsert(
        "a",
        r##"{"name": "#n/a", "amount": -1.5, "phone": null}"##
    )));
    for payload in [
        r##"{"name": "#N/A"}"##,
        r#"{"name": ""}"#,
        r#"{"name": "a\rb"}"#,
        r#"{"amount": 1e3}"#,
        r#"{"parent": null}"#,
        r#"{"name": {"not": "a text"}}"#,
    ] {
        assert!(!has_line(&upsert("a", payload)), "{payload}");
    }
    let long = format!("{{\"name\": \"{}\"}}", "ä".repeat(32_001));
    assert!(!has_line(&upsert("a", &long)));
    assert!(
        !has_line(&upsert("#N/A", "{}")),
        "nor can it be found by such an id"
    );
    assert!(!has_line(&delete("a")));
}

#[test]
fn the_requests_of_a_job_are_those_of_the_api() {
    let instance = "https://x.my.salesforce.com".parse().unwrap();
    let said = |call| {
        let token = reqwest::header::HeaderValue::from_static("Bearer t");
        let request = calls::build(&instance, &rendering(FIELDS), call, token).unwrap();
        let body = request
            .body()
            .and_then(|body| body.as_bytes())
            .unwrap_or_default();
        let path = request
            .url()
            .path()
            .trim_start_matches("/services/data/v62.0/jobs/ingest");
        format!("{} {path} {}", request.method(), String::from_utf8_lossy(body))
    };
    assert_eq!(
        said(Call::Open),
        "POST  {\"columnDelimiter\":\"COMMA\",\"contentType\":\"CSV\",\"externalIdFieldName\":\"Ext__c\",\
         \"lineEnding\":\"LF\",\"object\":\"Account\",\"operation\":\"upsert\"}"
    );
    assert_eq!(said(Call::Data("750", "a,b\n".into())), "PUT /750/batches a,b\n");
    assert_eq!(
        said(Call::Move("750", "Aborted")),
        "PATCH /750 {\"state\":\"Aborted\"}"
    );
    assert_eq!(said(Call::Look("750")), "GET /750 ");
    assert_eq!(
        said(Call::Results("750", "failedResults")),
        "GET /750/failedResults "
    );
}

#[test]
fn an_error_is_taken_apart_though_its_message_holds_colons() {
    let said = |error: &str| {
        let problem = problem(error);
        (problem.code, problem.message, problem.fields)
    };
    let lock = "unable to obtain exclusive access to this record";
    assert_eq!(
        said("UNABLE_TO_LOCK_ROW:unable to obtain exclusive access to this record:--"),
        ("UNABLE_TO_LOCK_ROW".to_owned(), lock.to_owned(), vec![])
    );
    let (code, message, fields) = said("INVALID_TYPE:Amount: not a number: banana:Amount__c, Name --");
    assert_eq!(
        (code.as_str(), message.as_str()),
        ("INVALID_TYPE", "Amount: not a number: banana")
    );
    assert_eq!(fields, ["Amount__c", "Name"]);
    assert_eq!(said("NO_COLON"), ("NO_COLON".to_owned(), String::new(), vec![]));
    assert_eq!(said("A:b:c").1, "b:c", "without the dashes there are no fields");
}

fn awaited(names: &[&str]) -> Awaited {
    Awaited {
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        most_bytes: 1_000,
        digest: Some([7; 32]),
    }
}

fn read_all(files: &Files, names: &[&str]) -> Vec<Report> {
    read(files, &awaited(names), "Ext__c", 10)
}

#[test]
fn each_row_meets_what_its_file_says_and_one_that_none_names_is_unknown() {
    let files = Files {
        successful: b"\"sf__Id\",\"sf__Created\",\"Name\",\"ext__c\"\n\"001\",\"true\",\"a\nb\",\"A-1\"\n".to_vec(),
        failed: b"\"sf__Id\",\"sf__Error\",\"Ext__c\"\n\
            \"\",\"REQUIRED_FIELD_MISSING:Required fields are missing: [Name]:Name --\",\"a-2\"\n\
            \"\",\"UNABLE_TO_LOCK_ROW:unable to obtain exclusive access to this record:--\",\"a-3\"\n\
            \"\",\"INVALID_FIELD:Foreign key external ID: p not found for field Ext__c in entity Account:--\",\"a-4\"\n"
            .to_vec(),
        unprocessed: b"\"Ext__c\"\n\"a-5\"\n".to_vec(),
        secrets: Secrets::none(),
    };
    let reports = read_all(&files, &["a-6", "a-1", "a-2", "a-3", "a-4", "a-5"]);
    let outcomes: Vec<_> = reports.iter().map(|report| report.outcome.clone()).collect();
    let waits = Outcome::Throttled {
        scope: Scope::Row,
        retry_after: None,
    };
    assert_eq!(
        outcomes,
        [
            Outcome::Unknown,
            Outcome::Accepted,
            Outcome::Refused(Refusal::Final),
            Outcome::Refused(Refusal::Retryable),
            waits,
            Outcome::Refused(Refusal::Together),
        ]
    );
    assert_eq!(
        reports[2].detail.as_deref(),
        Some("REQUIRED_FIELD_MISSING (Name)")
    );
    assert_eq!(
        reports[2].excerpt.as_deref(),
        Some("REQUIRED_F"),
        "no more than is kept"
    );
    assert!(reports.iter().all(|report| report.body_digest == Some([7; 32])));
}

#[test]
fn files_without_lines_or_sense_say_nothing() {
    for rubbish in [
        &b""[..],
        b"\n",
        b"<html>",
        b"\"sf__Id\",\"sf__Created\"\n\"001\",\"true\"\n",
        b"Ext__c\n\xff\n",
    ] {
        let files = Files {
            successful: rubbish.to_vec(),
            failed: rubbish.to_vec(),
            unprocessed: rubbish.to_vec(),
            secrets: Secrets::none(),
        };
        assert_eq!(read_all(&files, &["a-1"])[0].outcome, Outcome::Unknown);
    }
}
