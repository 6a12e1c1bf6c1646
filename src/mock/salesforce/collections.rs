//! `/composite/sobjects`: up to 200 records in a call, each with an answer of its own.

use std::collections::HashMap;

use axum::http::Method;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::error::{Detail, RecordError, not_found, refusal, unreadable};
use super::fault::SalesforceFault;
use super::org::{Did, ExternalId, Missing, Org, Written};
use super::rows::struck;
use super::{Call, Salesforce, TypeErrors};
use crate::mock::crm::{Answer, Faults, Fields, Value};

/// The most records that a call takes.
const MOST: usize = 200;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    #[serde(default)]
    all_or_none: bool,
    records: Vec<Fields>,
}

/// What a call does to each of its records.
#[derive(Debug, Clone, Copy)]
enum Act<'a> {
    Create,
    Update,
    Upsert { object: &'a str, field: &'a str },
    Delete,
}

type Results = Vec<Result<Written, RecordError>>;

impl Salesforce {
    /// `POST` creates, `PATCH` changes by id, `DELETE ?ids=` deletes.
    pub(super) fn collection(&mut self, call: Call<'_>, faults: &mut Faults<SalesforceFault>) -> Answer {
        if call.request.method == Method::DELETE {
            let ids = call.request.query("ids").unwrap_or_default();
            let records = ids
                .split(',')
                .filter(|id| !id.is_empty())
                .map(|id| Fields::from([("Id".to_owned(), Value::text(id.trim()))]));
            let body = Body {
                all_or_none: call.request.query("allOrNone").as_deref() == Some("true"),
                records: records.collect(),
            };
            return self.write_all(Act::Delete, &body, call, faults);
        }
        let act = if call.request.method == Method::POST {
            Act::Create
        } else {
            Act::Update
        };
        match call.request.json() {
            Ok(body) => self.write_all(act, &body, call, faults),
            Err(error) => unreadable(&error),
        }
    }

    /// `PATCH` upserts by an external id.
    pub(super) fn collection_upsert(
        &mut self,
        object: &str,
        field: &str,
        call: Call<'_>,
        faults: &mut Faults<SalesforceFault>,
    ) -> Answer {
        let schema = std::sync::Arc::clone(&self.org.schema);
        let Some((object, kind)) = schema.object(object) else {
            return not_found();
        };
        let Some(field) = Org::external_id(kind, field) else {
            let message = format!("Provided external ID field does not exist or is not accessible: {field}");
            return refusal(404, "NOT_FOUND", &message);
        };
        match call.request.json() {
            Ok(body) => self.write_all(Act::Upsert { object, field }, &body, call, faults),
            Err(error) => unreadable(&error),
        }
    }

    fn write_all(
        &mut self,
        act: Act<'_>,
        body: &Body,
        call: Call<'_>,
        faults: &mut Faults<SalesforceFault>,
    ) -> Answer {
        if body.records.len() > MOST {
            let message =
                format!("record limit reached. cannot submit more than {MOST} records into this call");
            return refusal(400, "EXCEEDED_ID_LIMIT", &message);
        }
        self.org.store.begin();
        let twice = external_ids_given_twice(act, &body.records);
        let mut results: Results = Vec::with_capacity(body.records.len());
        for record in &body.records {
            let written = self.write_one(act, record, &twice, call, faults);
            let unparsed =
                |error: &RecordError| error.code == "JSON_PARSER_ERROR" && error.detail == Detail::Unparsed;
            match &written {
                Err(error) if self.options.type_errors == TypeErrors::WholeCall && unparsed(error) => {
                    self.org.store.roll_back();
                    return error.answer();
                }
                _ => results.push(written),
            }
        }
        if body.all_or_none && results.iter().any(Result::is_err) {
            self.org.store.roll_back();
            results = results.into_iter().map(rolled_back).collect();
        } else {
            self.org.store.commit();
        }
        let told: Vec<Json> = results.iter().map(|result| tell(act, result)).collect();
        Answer::json(200, &told)
    }

    fn write_one(
        &mut self,
        act: Act<'_>,
        record: &Fields,
        twice: &HashMap<String, usize>,
        call: Call<'_>,
        faults: &mut Faults<SalesforceFault>,
    ) -> Result<Written, RecordError> {
        let mut fields = record.clone();
        let id = take_id(act, &mut fields);
        let object = self.object_for(act, record, id.as_deref())?;
        let key = match act {
            Act::Upsert { field, .. } => take(&mut fields, field),
            _ => id.clone(),
        };
        struck(faults, call, &object, key.as_deref(), record)?;
        match (act, key) {
            (Act::Create, _) => self.org.create(&object, &fields, call.arrival()),
            (Act::Update | Act::Delete, None) => {
                let message = "Id not specified in an update call";
                Err(RecordError::of("MISSING_ARGUMENT", message, &["Id"]))
            }
            (Act::Update, Some(id)) => self.org.update(&object, &id, &fields, call.arrival()),
            (Act::Delete, Some(id)) => {
                let id = self.org.delete(&object, &id)?;
                Ok(Written { id, did: Did::Change })
            }
            (Act::Upsert { field, .. }, None) => Err(RecordError::of(
                "MISSING_ARGUMENT",
                format!("{field} not specified"),
                &[field],
            )),
            (Act::Upsert { field, .. }, Some(value)) => {
                if twice.get(&value.to_lowercase()).is_some_and(|times| *times > 1) {
                    let message = format!("Duplicate external id specified: {value}");
                    return Err(RecordError::of("DUPLICATE_VALUE", message, &[field]));
                }
                let by = ExternalId { field, value: &value };
                self.org
                    .upsert(&object, by, &fields, Missing::Create, call.arrival())
            }
        }
    }

    /// The object of a record: as it says itself, or by its id.
    fn object_for(&self, act: Act<'_>, record: &Fields, id: Option<&str>) -> Result<String, RecordError> {
        let attributes = record.get("attributes").and_then(Value::as_object);
        let said = attributes
            .and_then(|attributes| attributes.get("type"))
            .and_then(Value::as_text);
        let found = match act {
            Act::Delete => self.org.object_of(id.unwrap_or_default()),
            _ => said.and_then(|said| self.name_of(said)),
        };
        match (act, found) {
            (Act::Upsert { object, .. }, Some(found)) if found != object => Err(RecordError::of(
                "INVALID_TYPE",
                format!("records must all be of type {object}, not {found}"),
                &[],
            )),
            (Act::Delete, None) => Err(RecordError::of(
                "INVALID_CROSS_REFERENCE_KEY",
                "invalid cross reference id",
                &[],
            )),
            (_, None) => Err(RecordError::of(
                "INVALID_TYPE",
                format!("sObject type '{}' is not supported.", said.unwrap_or_default()),
                &[],
            )),
            (_, Some(found)) => Ok(found),
        }
    }
}

/// How often each external id stands in the call, folded.
fn external_ids_given_twice(act: Act<'_>, records: &[Fields]) -> HashMap<String, usize> {
    let mut times = HashMap::new();
    if let Act::Upsert { field, .. } = act {
        let values = records.iter().filter_map(|record| find(record, field)?.as_text());
        for value in values {
            *times.entry(value.to_lowercase()).or_default() += 1;
        }
    }
    times
}

fn find<'f>(fields: &'f Fields, name: &str) -> Option<&'f Value> {
    let mut fields = fields.iter();
    fields
        .find(|(known, _)| known.eq_ignore_ascii_case(name))
        .map(|(_, value)| value)
}

/// Takes a field out; none if it is not there or has no text.
fn take(fields: &mut Fields, name: &str) -> Option<String> {
    let known = fields
        .keys()
        .find(|known| known.eq_ignore_ascii_case(name))?
        .clone();
    let value = fields.remove(&known)?;
    value.as_text().filter(|text| !text.is_empty()).map(str::to_owned)
}

fn take_id(act: Act<'_>, fields: &mut Fields) -> Option<String> {
    match act {
        Act::Update | Act::Delete => take(fields, "Id"),
        Act::Create | Act::Upsert { .. } => None,
    }
}

fn rolled_back(result: Result<Written, RecordError>) -> Result<Written, RecordError> {
    result.and_then(|_| {
        Err(RecordError::of(
            "ALL_OR_NONE_OPERATION_ROLLED_BACK",
            "Record rolled back because not all records were valid and the request was using AllOrNone header",
            &[],
        ))
    })
}

fn tell(act: Act<'_>, result: &Result<Written, RecordError>) -> Json {
    match (act, result) {
        (_, Err(error)) => error.result(),
        (Act::Upsert { .. }, Ok(written)) => {
            let created = written.did == Did::Create;
            json!({ "id": written.id, "success": true, "errors": [], "created": created })
        }
        (_, Ok(written)) => json!({ "id": written.id, "success": true, "errors": [] }),
    }
}
