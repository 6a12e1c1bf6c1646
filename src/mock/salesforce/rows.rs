//! `/sobjects/{Object}`: one record at a time, by its id or by an external id.

use axum::http::Method;
use serde_json::json;

use super::describe;
use super::error::{Detail, RecordError, not_found, refusal, unreadable, wrong_method};
use super::fault::{SalesforceFault, Strike};
use super::org::{Did, ExternalId, Missing, Org, Written};
use super::route::TELLS_CREATED;
use super::{Call, Salesforce};
use crate::mock::crm::{Answer, Faults, Fields, Record, Value};

impl Salesforce {
    /// `GET` says what the object is, `POST` creates a record.
    pub(super) fn object(
        &mut self,
        object: &str,
        call: Call<'_>,
        faults: &mut Faults<SalesforceFault>,
    ) -> Answer {
        let Some(object) = self.name_of(object) else {
            return not_found();
        };
        if call.is_get() {
            return describe::summary(&self.org.schema, &object, call);
        }
        let fields: Fields = match call.request.json() {
            Ok(fields) => fields,
            Err(error) => return unreadable(&error),
        };
        let written = struck(faults, call, &object, None, &fields)
            .and_then(|()| self.org.create(&object, &fields, call.arrival()));
        match written {
            Ok(written) => {
                let body = json!({ "id": written.id, "success": true, "errors": [] });
                Answer::json(201, &body).with("location", location(call, &object, &written.id))
            }
            Err(error) => error.answer(),
        }
    }

    /// A record by its id.
    pub(super) fn row(
        &mut self,
        object: &str,
        id: &str,
        call: Call<'_>,
        faults: &mut Faults<SalesforceFault>,
    ) -> Answer {
        let Some(object) = self.name_of(object) else {
            return not_found();
        };
        if call.is_get() {
            return match self.org.record(&object, id) {
                Ok(record) => self.show(&object, record, call),
                Err(_) => not_found(),
            };
        }
        self.change(&object, id, call, faults)
    }

    /// A record by an external id: `PATCH` creates it where it is missing.
    pub(super) fn row_by_external_id(
        &mut self,
        object: &str,
        by: ExternalId<'_>,
        call: Call<'_>,
        faults: &mut Faults<SalesforceFault>,
    ) -> Answer {
        let Some(object) = self.name_of(object) else {
            return not_found();
        };
        let schema = std::sync::Arc::clone(&self.org.schema);
        let found = schema.object(&object).map(|(_, kind)| kind);
        let Some(field) = found.and_then(|kind| Org::external_id(kind, by.field)) else {
            let message = format!(
                "Provided external ID field does not exist or is not accessible: {}",
                by.field
            );
            return refusal(404, "NOT_FOUND", &message);
        };
        let by = ExternalId { field, ..by };
        if by.value.is_empty() {
            return wrong_method(call.request.method.as_str(), "GET,HEAD,POST");
        }
        if call.request.method == Method::PATCH {
            return self.upsert(&object, by, call, faults);
        }
        let matches = self.org.store.find(&object, field, by.value);
        match matches.as_slice() {
            [] => not_found(),
            [record] if call.is_get() => self.show(&object, record, call),
            [record] => {
                let id = record.id.clone();
                self.change(&object, &id, call, faults)
            }
            several => {
                let ids: Vec<String> = several.iter().map(|record| record.id.clone()).collect();
                self::several(call, &object, &ids)
            }
        }
    }

    /// The object's name as the schema has it.
    pub(super) fn name_of(&self, object: &str) -> Option<String> {
        self.org.schema.object(object).map(|(name, _)| name.to_owned())
    }

    /// `PATCH` or `DELETE` of a record that is known by its id.
    fn change(
        &mut self,
        object: &str,
        id: &str,
        call: Call<'_>,
        faults: &mut Faults<SalesforceFault>,
    ) -> Answer {
        let deletes = call.request.method == Method::DELETE;
        let fields: Fields = match call.request.json() {
            Ok(fields) => fields,
            Err(_) if deletes => Fields::new(),
            Err(error) => return unreadable(&error),
        };
        let changed = struck(faults, call, object, Some(id), &fields).and_then(|()| {
            if deletes {
                self.org.delete(object, id).map(drop)
            } else {
                self.org.update(object, id, &fields, call.arrival()).map(drop)
            }
        });
        match changed {
            Ok(()) => Answer::empty(204),
            Err(error) => error.answer(),
        }
    }

    fn upsert(
        &mut self,
        object: &str,
        by: ExternalId<'_>,
        call: Call<'_>,
        faults: &mut Faults<SalesforceFault>,
    ) -> Answer {
        let mut fields: Fields = match call.request.json() {
            Ok(fields) => fields,
            Err(error) => return unreadable(&error),
        };
        let own = |name: &&String| name.eq_ignore_ascii_case(by.field) || name.eq_ignore_ascii_case("id");
        if let Some(name) = fields.keys().find(own) {
            let message = format!("The {name} field should not be specified in the sobject data.");
            return refusal(400, "INVALID_FIELD", &message);
        }
        let missing = match call.request.query("updateOnly").as_deref() {
            Some("true") => Missing::Refuse,
            _ => Missing::Create,
        };
        // Triggers name the external id as any other field.
        fields.insert(by.field.to_owned(), Value::text(by.value));
        let struck = struck(faults, call, object, Some(by.value), &fields);
        fields.remove(by.field);
        match struck.and_then(|()| self.org.upsert(object, by, &fields, missing, call.arrival())) {
            Ok(written) => upserted(call, object, &written),
            Err(RecordError {
                detail: Detail::Matches(ids),
                code: "DUPLICATE_EXTERNAL_ID",
                ..
            }) => several(call, object, &ids),
            Err(error) => error.answer(),
        }
    }

    fn show(&self, object: &str, record: &Record, call: Call<'_>) -> Answer {
        let asked = call.request.query("fields");
        let is_asked = |name: &str| {
            let names = asked.as_deref();
            names.is_none_or(|names| {
                names
                    .split(',')
                    .any(|asked| asked.trim().eq_ignore_ascii_case(name))
            })
        };
        let url = call.path_of(&format!("sobjects/{object}/{}", record.id));
        let about = [("type", object), ("url", url.as_str())];
        let about = about.map(|(name, text)| (name.to_owned(), Value::text(text)));
        // Not as serde_json's own values, which would lose digits.
        let mut shown = Fields::from([
            ("attributes".to_owned(), Value::Object(Fields::from(about))),
            ("Id".to_owned(), Value::text(&record.id)),
        ]);
        let dates = [
            ("CreatedDate", record.created),
            ("LastModifiedDate", record.modified),
        ];
        for (name, date) in dates.into_iter().filter(|(name, _)| is_asked(name)) {
            shown.insert(name.to_owned(), Value::Text(describe::moment(date)));
        }
        let schema = self.org.schema.object(object);
        let names = schema.iter().flat_map(|(_, kind)| kind.fields.keys());
        for name in names.filter(|name| is_asked(name)) {
            let value = record.fields.get(name).unwrap_or(&Value::Null);
            shown.insert(name.clone(), value.clone());
        }
        Answer::json(200, &shown)
    }
}

/// Lets a fault strike a record, if one is to.
pub(super) fn struck(
    faults: &mut Faults<SalesforceFault>,
    call: Call<'_>,
    object: &str,
    key: Option<&str>,
    fields: &Fields,
) -> Result<(), RecordError> {
    let fault = faults.at_record(call.request, key, fields);
    match fault.map(|fault| fault.strike(object, call.request)) {
        Some(Strike::Refused(error)) => Err(error),
        Some(Strike::Harmless | Strike::JobFails(_)) | None => Ok(()),
    }
}

fn upserted(call: Call<'_>, object: &str, written: &Written) -> Answer {
    let tells = call.version >= TELLS_CREATED;
    let created = written.did == Did::Create;
    let mut body = json!({ "id": written.id, "success": true, "errors": [] });
    if tells {
        body["created"] = json!(created);
    }
    match (written.did, tells) {
        (Did::Create, _) => Answer::json(201, &body).with("location", location(call, object, &written.id)),
        (Did::Change, true) => Answer::json(200, &body),
        (Did::Change, false) => Answer::empty(204),
    }
}

fn several(call: Call<'_>, object: &str, ids: &[String]) -> Answer {
    let urls: Vec<String> = ids.iter().map(|id| location(call, object, id)).collect();
    Answer::json(300, &urls)
}

fn location(call: Call<'_>, object: &str, id: &str) -> String {
    call.path_of(&format!("sobjects/{object}/{id}"))
}
