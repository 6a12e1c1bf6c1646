//! Bulk jobs.

use serde_json::json;

use super::*;

const UPSERT: &str = r#"{"object":"account","operation":"upsert","externalIdFieldName":"Ext__c"}"#;

impl Desk {
    /// Opens a job, gives it data and declares it complete; returns its resource.
    fn job(&mut self, request: &str, csv: &str) -> String {
        let job = format!("jobs/ingest/{}", self.data("POST", "jobs/ingest", request).id());
        assert_eq!(self.data("PUT", &format!("{job}/batches"), csv).status, 201);
        let closed = self.data("PATCH", &job, r#"{"state":"UploadComplete"}"#);
        assert_eq!(
            (closed.status, &closed.body["state"]),
            (200, &json!("UploadComplete"))
        );
        job
    }

    fn looks(&mut self, job: &str, count: usize) -> Vec<Json> {
        (0..count).map(|_| self.data("GET", job, "").body).collect()
    }
}

#[test]
fn a_job_is_described_as_recorded_and_may_leave_out_what_is_usual() {
    let mut desk = Desk::new();
    let told = desk.data("POST", "jobs/ingest", UPSERT);
    let id = told.id();
    let expected = json!({
        "id": id,
        "operation": "upsert",
        "object": "Account",
        "createdById": told.body["createdById"],
        "createdDate": "2026-01-01T00:00:00.000+0000",
        "systemModstamp": "2026-01-01T00:00:00.000+0000",
        "state": "Open",
        "externalIdFieldName": "Ext__c",
        "concurrencyMode": "Parallel",
        "contentType": "CSV",
        "apiVersion": 62.0,
        "contentUrl": format!("services/data/v62.0/jobs/ingest/{id}/batches"),
        "lineEnding": "LF",
        "columnDelimiter": "COMMA",
    });
    assert_eq!((told.status, &told.body), (200, &expected));
    assert!(
        told.text.contains(r#""apiVersion":62.0"#),
        "a number, with its point"
    );
    let refused = desk.data(
        "POST",
        "jobs/ingest",
        r#"{"object":"Nothing","operation":"insert"}"#,
    );
    assert_eq!(
        (refused.status, &refused.body[0]["errorCode"]),
        (400, &json!("INVALIDJOB"))
    );
    let refused = desk.data("POST", "jobs/ingest", &UPSERT.replace("Ext__c", "Name"));
    assert_eq!(refused.body[0]["errorCode"], "INVALIDJOB");
}

#[test]
fn a_job_goes_from_upload_to_three_files_of_results() {
    let mut desk = Desk::new();
    desk.data(
        "PATCH",
        "sobjects/Account/Ext__c/a-1",
        r#"{"Name":"old","Phone":"1","Fax":"2"}"#,
    );
    // With the empty Id column that one client adds.
    let csv = "Id,Ext__c,Name,Phone,Fax,AnnualRevenue\n,A-1,\"a, \"\"b\"\"\nc\",,#N/A,1.10\n,a-2,x,,,banana\n,a-3,y,,,2\n";
    desk.arm("unable-to-lock-row:1@Ext__c=a-3");
    let job = desk.job(UPSERT, csv);
    let looks = desk.looks(&job, 2);
    assert_eq!(
        (&looks[0]["state"], &looks[1]["state"]),
        (&json!("InProgress"), &json!("JobComplete"))
    );
    assert_eq!(
        (
            &looks[1]["numberRecordsProcessed"],
            &looks[1]["numberRecordsFailed"]
        ),
        (&json!(3), &json!(2))
    );
    assert_eq!(looks[1]["jobType"], "V2Ingest");
    let id = desk.data("GET", "sobjects/Account/Ext__c/a-1", "").body["Id"].clone();
    let id = id.as_str().unwrap();
    let good = desk.data("GET", &format!("{job}/successfulResults/"), "");
    assert_eq!(good.header("content-type"), Some("text/csv;charset=UTF-8"));
    let header = r#""Id","Ext__c","Name","Phone","Fax","AnnualRevenue""#;
    let row = "\"\",\"A-1\",\"a, \"\"b\"\"\nc\",\"\",\"#N/A\",\"1.10\"";
    assert_eq!(
        good.text,
        format!("\"sf__Id\",\"sf__Created\",{header}\n\"{id}\",\"false\",{row}\n")
    );
    let bad = desk.data("GET", &format!("{job}/failedResults"), "").text;
    let lock = "\"UNABLE_TO_LOCK_ROW:unable to obtain exclusive access to this record:--\"";
    let typed = "\"INVALID_TYPE_ON_FIELD_IN_RECORD:AnnualRevenue: value not of required type: banana:AnnualRevenue --\"";
    assert!(
        bad.starts_with(&format!("\"sf__Id\",\"sf__Error\",{header}\n\"\",{typed},")),
        "{bad}"
    );
    assert!(bad.contains(lock), "{bad}");
    for spelling in ["unprocessedrecords", "unprocessedRecords/"] {
        assert_eq!(
            desk.data("GET", &format!("{job}/{spelling}"), "").text,
            format!("{header}\n")
        );
    }
    let shown = desk.data("GET", "sobjects/Account/Ext__c/a-1", "").body;
    assert_eq!(
        (&shown["Phone"], &shown["Fax"]),
        (&json!("1"), &Json::Null),
        "empty leaves, #N/A clears"
    );
    assert_eq!(desk.data("DELETE", &job, "").status, 204);
    assert_eq!(desk.data("GET", &job, "").status, 404);
}

#[test]
fn a_failed_job_leaves_rows_only_among_the_unprocessed() {
    let mut desk = Desk::new();
    desk.arm("bulk-failed:1@Ext__c=2");
    let job = desk.job(UPSERT, "Ext__c,Name\n1,a\n2,b\n3,c\n");
    let looks = desk.looks(&job, 2);
    assert_eq!(looks[1]["state"], "Failed");
    assert!(
        looks[1]["errorMessage"]
            .as_str()
            .unwrap()
            .starts_with("InternalServerError")
    );
    let left = desk.data("GET", &format!("{job}/unprocessedrecords"), "").text;
    assert_eq!(left, "\"Ext__c\",\"Name\"\n\"2\",\"b\"\n\"3\",\"c\"\n");
    assert_eq!(desk.org.store().records("Account").count(), 1);
}

#[test]
fn line_ends_must_be_those_that_the_job_was_opened_with() {
    let mut desk = Desk::new();
    let job = desk.job(UPSERT, "Ext__c,Name\r\n1,a\r\n");
    let told = desk.looks(&job, 2).remove(1);
    assert_eq!(told["state"], "Failed");
    assert!(
        told["errorMessage"]
            .as_str()
            .unwrap()
            .contains("LineEnding is invalid on user data")
    );
    let crlf = r#"{"object":"Account","operation":"insert","contentType":"CSV","lineEnding":"CRLF","columnDelimiter":"PIPE"}"#;
    let job = desk.job(crlf, "Ext__c|Name\r\n1|\"a\nb\"\r\n");
    assert_eq!(desk.looks(&job, 2)[1]["state"], "JobComplete");
    let good = desk.data("GET", &format!("{job}/successfulResults"), "").text;
    assert!(
        good.starts_with("\"sf__Id\"|\"sf__Created\"|\"Ext__c\"|\"Name\"\r\n"),
        "{good}"
    );
}

#[test]
fn parents_are_found_and_unknown_columns_fail_the_job() {
    let mut desk = Desk::new();
    desk.data("PATCH", "sobjects/Account/Ext__c/p", r#"{"Name":"p"}"#);
    let invoices = UPSERT.replace("account", "Invoice__c");
    let job = desk.job(&invoices, "Ext__c,Parent__r.Ext__c\n1,p\n2,nobody\n");
    assert_eq!(desk.looks(&job, 2)[1]["numberRecordsFailed"], 1);
    let bad = desk.data("GET", &format!("{job}/failedResults"), "").text;
    assert!(
        bad.contains(
            "INVALID_FIELD:Foreign key external ID: nobody not found for field Ext__c in entity Account:--"
        ),
        "{bad}"
    );
    let job = desk.job(&invoices, "Ext__c,Nmae\n1,p\n");
    assert_eq!(
        desk.looks(&job, 2)[1]["errorMessage"],
        "InvalidBatch : Field name not found : Nmae"
    );
    assert!(
        desk.data("GET", &format!("{job}/unprocessedrecords"), "")
            .text
            .contains("\"1\",\"p\"")
    );
}

#[test]
fn a_job_takes_data_once_and_can_be_aborted() {
    let mut desk = Desk::new();
    let job = format!("jobs/ingest/{}", desk.data("POST", "jobs/ingest", UPSERT).id());
    let early = desk.data("PATCH", &job, r#"{"state":"UploadComplete"}"#);
    assert_eq!(
        (early.status, &early.body[0]["errorCode"]),
        (400, &json!("INVALIDJOBSTATE"))
    );
    let batches = format!("{job}/batches");
    assert_eq!(desk.data("PUT", &batches, "Ext__c,Name\n1,a\n").status, 201);
    assert_eq!(desk.data("PUT", &batches, "Ext__c,Name\n2,b\n").status, 400);
    assert_eq!(desk.data("DELETE", &job, "").status, 400);
    assert_eq!(
        desk.data("PATCH", &job, r#"{"state":"Aborted"}"#).body["state"],
        "Aborted"
    );
    assert_eq!(desk.looks(&job, 1)[0]["state"], "Aborted");
    assert_eq!(
        desk.data("GET", &format!("{job}/successfulResults"), "")
            .text
            .lines()
            .count(),
        1
    );
    assert_eq!(desk.org.store().records("Account").count(), 0);
    assert_eq!(
        desk.data("GET", "jobs/ingest", "").body["records"][0]["state"],
        "Aborted"
    );
}

#[test]
fn what_was_done_before_a_job_was_aborted_stays_done_and_is_told() {
    let mut desk = Desk::new();
    desk.arm("bulk-failed:1@Ext__c=2");
    let job = desk.job(UPSERT, "Ext__c,Name\n1,a\n2,b\n");
    desk.looks(&job, 1);
    desk.data("PATCH", &job, r#"{"state":"Aborted"}"#);
    let lines = |desk: &mut Desk, file: &str| {
        desk.data("GET", &format!("{job}/{file}"), "")
            .text
            .lines()
            .count()
    };
    assert_eq!(lines(&mut desk, "successfulResults"), 2);
    assert_eq!(lines(&mut desk, "failedResults"), 1);
    assert_eq!(lines(&mut desk, "unprocessedrecords"), 2);
}
