//! `/jobs/ingest`: bulk jobs, from opening to their results.
//!
//! A job's work is done at once when its upload is declared complete; only what a client gets to see advances from look
//! to look. So nothing here runs by itself, and a test decides when a job ends.
//!
//! ```text
//!  Open ──▶ UploadComplete ──▶ InProgress ──▶ JobComplete | Failed
//!    └────────────┴────────────────┴────────▶ Aborted
//! ```

mod run;
mod table;

use std::collections::BTreeMap;

use axum::http::Method;
use bytes::Bytes;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::Call;
use super::describe::moment;
use super::error::{not_found, refusal, unreadable};
use super::fault::SalesforceFault;
use super::id;
use super::org::Org;
use super::route::Results;
use crate::mock::crm::{Answer, Faults};
use run::{Operation, Outcome};
use table::{Delimiter, LineEnding};

#[derive(Debug)]
pub(super) struct Jobs {
    by_id: BTreeMap<String, Job>,
    polls: u32,
    numbers: u64,
}

#[derive(Debug)]
struct Job {
    id: String,
    request: JobRequest,
    version: u32,
    created: Timestamp,
    modified: Timestamp,
    state: State,
}

/// What a client asks for when it opens a job.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct JobRequest {
    object: String,
    operation: Operation,
    external_id_field_name: Option<String>,
    #[serde(default)]
    line_ending: LineEnding,
    #[serde(default)]
    column_delimiter: Delimiter,
}

#[derive(Debug)]
enum State {
    Open {
        data: Option<Bytes>,
    },
    UploadComplete {
        outcome: Outcome,
    },
    InProgress {
        outcome: Outcome,
        looks: u32,
    },
    Ended {
        outcome: Outcome,
    },
    /// What was done until then stays done.
    Aborted {
        outcome: Outcome,
    },
}

#[derive(Deserialize)]
struct Change {
    state: String,
}

impl Jobs {
    pub(super) fn new(polls: u32) -> Self {
        Self {
            by_id: BTreeMap::new(),
            polls,
            numbers: 0,
        }
    }

    pub(super) fn set_polls(&mut self, polls: u32) {
        self.polls = polls;
    }

    pub(super) fn clear(&mut self) {
        self.by_id.clear();
    }

    /// `POST` opens a job, `GET` lists them.
    pub(super) fn open(&mut self, org: &Org, call: Call<'_>) -> Answer {
        if call.is_get() {
            let records: Vec<Json> = self.by_id.values().map(Job::describe).collect();
            return Answer::json(
                200,
                &json!({ "done": true, "records": records, "nextRecordsUrl": null }),
            );
        }
        let mut request: JobRequest = match call.request.json() {
            Ok(request) => request,
            Err(error) => return unreadable(&error),
        };
        if let Err(message) = request.check(org) {
            return refusal(400, "INVALIDJOB", &format!("InvalidJob : {message}"));
        }
        self.numbers += 1;
        let job = Job {
            id: id::make("750", self.numbers),
            request,
            version: call.version,
            created: call.now,
            modified: call.now,
            state: State::Open { data: None },
        };
        let described = job.describe();
        self.by_id.insert(job.id.clone(), job);
        Answer::json(200, &described)
    }

    /// `GET` looks at a job, `PATCH` ends its upload or aborts it, `DELETE` forgets it.
    pub(super) fn one(
        &mut self,
        org: &mut Org,
        id: &str,
        call: Call<'_>,
        faults: &mut Faults<SalesforceFault>,
    ) -> Answer {
        let polls = self.polls;
        let Some(job) = self.find(id) else {
            return not_found();
        };
        if call.is_get() {
            job.advance(polls, call.now);
            return Answer::json(200, &job.inspect());
        }
        if call.request.method == Method::DELETE {
            if matches!(job.state, State::Open { .. } | State::InProgress { .. }) {
                return job.wrong_state("be deleted");
            }
            let id = job.id.clone();
            self.by_id.remove(&id);
            return Answer::empty(204);
        }
        match call.request.json() {
            Ok(Change { state }) => job.change(&state, org, call, faults),
            Err(error) => unreadable(&error),
        }
    }

    /// `PUT` of the data, once.
    pub(super) fn upload(&mut self, id: &str, call: Call<'_>) -> Answer {
        let Some(job) = self.find(id) else {
            return not_found();
        };
        match &mut job.state {
            State::Open { data } if data.is_none() => {
                *data = Some(call.request.body.clone());
                Answer::empty(201)
            }
            _ => job.wrong_state("take data"),
        }
    }

    pub(super) fn results(&mut self, id: &str, results: Results) -> Answer {
        let Some(job) = self.find(id) else {
            return not_found();
        };
        match &job.state {
            State::Ended { outcome } | State::Aborted { outcome } => Answer::of(
                200,
                "text/csv;charset=UTF-8",
                outcome.csv(results, job.request.format()),
            ),
            _ => job.wrong_state("show results"),
        }
    }

    fn find(&mut self, id: &str) -> Option<&mut Job> {
        self.by_id.get_mut(&id::normal(id)?)
    }
}

impl JobRequest {
    /// Says whether there is such an object and field, and takes their names as the schema has them.
    fn check(&mut self, org: &Org) -> Result<(), String> {
        let (name, object) = org
            .schema
            .object(&self.object)
            .ok_or_else(|| format!("Unable to find object: {}", self.object))?;
        self.object = name.to_owned();
        let field = self.external_id_field_name.take();
        if self.operation != Operation::Upsert {
            return Ok(());
        }
        let field = field.ok_or("External ID field name must be given for upsert")?;
        let known = if field.eq_ignore_ascii_case("id") {
            Some("Id")
        } else {
            Org::external_id(object, &field)
        };
        let known =
            known.ok_or_else(|| format!("Field name provided, {field} does not match an External ID"))?;
        self.external_id_field_name = Some(known.to_owned());
        Ok(())
    }

    fn format(&self) -> table::Format {
        table::Format {
            line_ending: self.line_ending,
            delimiter: self.column_delimiter,
        }
    }
}

impl Job {
    fn change(
        &mut self,
        state: &str,
        org: &mut Org,
        call: Call<'_>,
        faults: &mut Faults<SalesforceFault>,
    ) -> Answer {
        match (&self.state, state) {
            (State::Open { data: Some(data) }, "UploadComplete") => {
                let outcome = run::run(&self.request, data, org, call, faults);
                self.state = State::UploadComplete { outcome };
            }
            (State::Open { .. } | State::UploadComplete { .. } | State::InProgress { .. }, "Aborted") => {
                let outcome = self.take_outcome();
                self.state = State::Aborted { outcome };
            }
            _ => return self.wrong_state(&format!("become {state}")),
        }
        self.modified = call.now;
        Answer::json(200, &self.describe())
    }

    /// What was done so far; it is to be put into another state.
    fn take_outcome(&mut self) -> Outcome {
        match &mut self.state {
            State::Open { .. } => Outcome::default(),
            State::UploadComplete { outcome }
            | State::InProgress { outcome, .. }
            | State::Ended { outcome }
            | State::Aborted { outcome } => std::mem::take(outcome),
        }
    }

    /// Moves on by one look.
    fn advance(&mut self, polls: u32, now: Timestamp) {
        let looks = match &self.state {
            State::UploadComplete { .. } => 0,
            State::InProgress { looks, .. } => *looks,
            State::Open { .. } | State::Ended { .. } | State::Aborted { .. } => return,
        };
        let outcome = self.take_outcome();
        self.state = if looks < polls {
            State::InProgress {
                outcome,
                looks: looks + 1,
            }
        } else {
            self.modified = now;
            State::Ended { outcome }
        };
    }

    fn state_name(&self) -> &'static str {
        match &self.state {
            State::Open { .. } => "Open",
            State::UploadComplete { .. } => "UploadComplete",
            State::InProgress { .. } => "InProgress",
            State::Ended { outcome } if outcome.failure.is_some() => "Failed",
            State::Ended { .. } => "JobComplete",
            State::Aborted { .. } => "Aborted",
        }
    }

    fn wrong_state(&self, what: &str) -> Answer {
        let message = format!("a job whose state is {} cannot {what}", self.state_name());
        refusal(400, "INVALIDJOBSTATE", &message)
    }

    fn describe(&self) -> Json {
        let mut described = json!({
            "id": self.id,
            "operation": self.request.operation,
            "object": self.request.object,
            "createdById": id::make("005", 1),
            "createdDate": moment(self.created),
            "systemModstamp": moment(self.modified),
            "state": self.state_name(),
            "concurrencyMode": "Parallel",
            "contentType": "CSV",
            // A number, where everything else that names a version has text.
            "apiVersion": f64::from(self.version),
            "contentUrl": format!("services/data/v{}.0/jobs/ingest/{}/batches", self.version, self.id),
            "lineEnding": self.request.line_ending,
            "columnDelimiter": self.request.column_delimiter,
        });
        if let Some(field) = &self.request.external_id_field_name {
            described["externalIdFieldName"] = json!(field);
        }
        described
    }

    /// The description, and how far the work is.
    fn inspect(&self) -> Json {
        let mut described = self.describe();
        let ended = match &self.state {
            State::Ended { outcome } => Some(outcome),
            _ => None,
        };
        let failed = ended.map_or(0, |outcome| outcome.failed.len());
        let succeeded = ended.map_or(0, |outcome| outcome.successful.len());
        let counts = json!({
            "jobType": "V2Ingest",
            "numberRecordsProcessed": failed + succeeded,
            "numberRecordsFailed": failed,
            "retries": 0,
            "totalProcessingTime": 0,
            "apiActiveProcessingTime": 0,
            "apexProcessingTime": 0,
        });
        if let (Json::Object(described), Json::Object(counts)) = (&mut described, counts) {
            described.extend(counts);
        }
        if let Some(failure) = ended.and_then(|outcome| outcome.failure.as_ref()) {
            described["errorMessage"] = json!(failure);
        }
        described
    }
}
