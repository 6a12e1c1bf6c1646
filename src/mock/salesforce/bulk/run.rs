//! The work of a bulk job: every row through the org's rules, in parts of 200 as Salesforce takes them.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::JobRequest;
use super::table::{self, Format, Table};
use crate::mock::crm::{Faults, Fields, Object, Value};
use crate::mock::salesforce::Call;
use crate::mock::salesforce::check::Source;
use crate::mock::salesforce::error::RecordError;
use crate::mock::salesforce::fault::{SalesforceFault, Strike};
use crate::mock::salesforce::org::{Arrival, Did, ExternalId, Missing, Org, Written};
use crate::mock::salesforce::route::Results;

/// Rows that are taken at a time; within them an external id may stand once.
const PART: usize = 200;
/// What clears a field; an empty value leaves it.
const CLEAR: &str = "#N/A";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Operation {
    Insert,
    Update,
    Upsert,
    Delete,
    HardDelete,
}

/// What became of a job's rows.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    header: Vec<String>,
    pub(super) successful: Vec<(Written, Vec<String>)>,
    pub(super) failed: Vec<(String, String, Vec<String>)>,
    unprocessed: Vec<Vec<String>>,
    /// Why the job as a whole failed.
    pub(super) failure: Option<String>,
}

/// Does a job's work.
pub(super) fn run(
    job: &JobRequest,
    data: &[u8],
    org: &mut Org,
    call: Call<'_>,
    faults: &mut Faults<SalesforceFault>,
) -> Outcome {
    let table = match table::read(data, job.format()) {
        Ok(table) => table,
        Err(failure) => {
            return Outcome {
                failure: Some(failure),
                ..Outcome::default()
            };
        }
    };
    let schema = std::sync::Arc::clone(&org.schema);
    let unknown = schema
        .object(&job.object)
        .and_then(|(_, object)| table.header.iter().find(|column| !is_known(object, column)));
    let mut outcome = Outcome {
        failure: unknown.map(|column| format!("InvalidBatch : Field name not found : {column}")),
        header: table.header.clone(),
        ..Outcome::default()
    };
    let mut work = Work {
        job,
        org,
        call,
        faults,
    };
    for part in table.rows.chunks(PART) {
        let twice = work.external_ids_given_twice(&table, part);
        for row in part {
            if outcome.failure.is_some() {
                outcome.unprocessed.push(row.clone());
                continue;
            }
            match work.row(&table, row, &twice) {
                Row::Written(written) => outcome.successful.push((written, row.clone())),
                Row::Refused(id, error) => outcome.failed.push((id, error.csv(), row.clone())),
                Row::JobFails(message) => {
                    outcome.failure = Some(message.to_owned());
                    outcome.unprocessed.push(row.clone());
                }
            }
        }
    }
    outcome
}

/// What became of a row.
enum Row {
    Written(Written),
    /// With the record's id, if it was given.
    Refused(String, RecordError),
    JobFails(&'static str),
}

struct Work<'w> {
    job: &'w JobRequest,
    org: &'w mut Org,
    call: Call<'w>,
    faults: &'w mut Faults<SalesforceFault>,
}

impl Work<'_> {
    fn row(&mut self, table: &Table, row: &[String], twice: &HashMap<String, usize>) -> Row {
        let mut fields = fields(table, row);
        let given = fields.clone();
        let id = take(&mut fields, "Id");
        let by = self.job.external_id_field_name.as_deref();
        let key = by.and_then(|field| {
            if field == "Id" {
                id.clone()
            } else {
                take(&mut fields, field)
            }
        });
        let fault = self
            .faults
            .at_record(self.call.request, key.as_deref().or(id.as_deref()), &given);
        let refused = match fault.map(|fault| fault.strike(&self.job.object, self.call.request)) {
            Some(Strike::JobFails(message)) => return Row::JobFails(message),
            Some(Strike::Refused(error)) => Err(error),
            Some(Strike::Harmless) | None => Ok(()),
        };
        let doubled = key
            .as_ref()
            .filter(|key| twice.get(&key.to_lowercase()).is_some_and(|times| *times > 1));
        let written = match (refused, doubled) {
            (Err(error), _) => Err(error),
            (Ok(()), Some(key)) => Err(RecordError::of(
                "DUPLICATE_VALUE",
                format!("Duplicate external id specified: {key}"),
                &[by.unwrap_or_default()],
            )),
            (Ok(()), None) => self.write(id.as_deref(), key.as_deref(), &fields),
        };
        match written {
            Ok(written) => Row::Written(written),
            Err(error) => Row::Refused(id.unwrap_or_default(), error),
        }
    }

    fn write(
        &mut self,
        id: Option<&str>,
        key: Option<&str>,
        fields: &Fields,
    ) -> Result<Written, RecordError> {
        let object = &self.job.object;
        let arrival = Arrival {
            source: Source::Csv,
            now: self.call.now,
        };
        let missing =
            |name: &str| RecordError::of("MISSING_ARGUMENT", format!("{name} not specified"), &[name]);
        let by = self.job.external_id_field_name.as_deref().unwrap_or("Id");
        match (self.job.operation, id, key) {
            (Operation::Insert, _, _) => self.org.create(object, fields, arrival),
            (Operation::Update, Some(id), _) => self.org.update(object, id, fields, arrival),
            (Operation::Delete | Operation::HardDelete, Some(id), _) => {
                let id = self.org.delete(object, id)?;
                Ok(Written { id, did: Did::Change })
            }
            (Operation::Update | Operation::Delete | Operation::HardDelete, None, _) => Err(missing("Id")),
            (Operation::Upsert, _, Some(id)) if by == "Id" => self.org.update(object, id, fields, arrival),
            (Operation::Upsert, _, None) if by == "Id" => self.org.create(object, fields, arrival),
            (Operation::Upsert, _, Some(value)) => {
                let by = ExternalId { field: by, value };
                self.org.upsert(object, by, fields, Missing::Create, arrival)
            }
            (Operation::Upsert, _, None) => Err(missing(by)),
        }
    }

    /// How often each external id stands in a part, folded.
    fn external_ids_given_twice(&self, table: &Table, part: &[Vec<String>]) -> HashMap<String, usize> {
        let mut times = HashMap::new();
        let by = self.job.external_id_field_name.as_deref().unwrap_or_default();
        let column = table
            .header
            .iter()
            .position(|column| column.eq_ignore_ascii_case(by));
        let values = part.iter().filter_map(|row| row.get(column?));
        for value in values.filter(|value| !value.is_empty()) {
            *times.entry(value.to_lowercase()).or_default() += 1;
        }
        times
    }
}

impl Outcome {
    /// One of the three result files.
    pub(super) fn csv(&self, results: Results, format: Format) -> Vec<u8> {
        let columns = self.header.iter().map(String::as_str);
        match results {
            Results::Successful => {
                let rows = self.successful.iter().map(|(written, row)| {
                    let created = match written.did {
                        Did::Create => "true",
                        Did::Change => "false",
                    };
                    with([&written.id, created], row)
                });
                table::write(["sf__Id", "sf__Created"].into_iter().chain(columns), rows, format)
            }
            Results::Failed => {
                let rows = self.failed.iter().map(|(id, error, row)| with([id, error], row));
                table::write(["sf__Id", "sf__Error"].into_iter().chain(columns), rows, format)
            }
            Results::Unprocessed => {
                let rows = self
                    .unprocessed
                    .iter()
                    .map(|row| row.iter().map(String::as_str).collect());
                table::write(columns, rows, format)
            }
        }
    }
}

fn with<'r>(told: [&'r str; 2], row: &'r [String]) -> Vec<&'r str> {
    told.into_iter().chain(row.iter().map(String::as_str)).collect()
}

/// A row's values: an empty one is left out, `Parent__r.Ext__c` becomes a reference.
fn fields(table: &Table, row: &[String]) -> Fields {
    let cells = table.header.iter().zip(row).filter(|(_, cell)| !cell.is_empty());
    cells
        .map(|(column, cell)| {
            let value = if cell == CLEAR {
                Value::Null
            } else {
                Value::text(cell)
            };
            match column.split_once('.') {
                Some((relationship, _)) if value == Value::Null => (relationship.to_owned(), value),
                Some((relationship, key)) => {
                    let reference = Value::Object(Fields::from([(key.to_owned(), value)]));
                    (relationship.to_owned(), reference)
                }
                None => (column.clone(), value),
            }
        })
        .collect()
}

fn is_known(object: &Object, column: &str) -> bool {
    match column.split_once('.') {
        Some((relationship, _)) => object.relationship(relationship).is_some(),
        None => column.eq_ignore_ascii_case("Id") || object.field(column).is_some(),
    }
}

fn take(fields: &mut Fields, name: &str) -> Option<String> {
    let known = fields
        .keys()
        .find(|known| known.eq_ignore_ascii_case(name))?
        .clone();
    fields.remove(&known)?.as_text().map(str::to_owned)
}
