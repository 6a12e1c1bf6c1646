//! `POST /crm/v3/objects/{type}/batch/…`: create, update, upsert, read and archive up to 100 records.
//!
//! A batch that writes succeeds in part only if each input has a trace id of its own; otherwise one bad input refuses
//! them all. A unique value that belongs to another record refuses them all in any case.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::call::Call;
use super::fault::HubSpotFault;
use super::records::{Found, ObjectType, Records};
use super::refusal::{InvalidProperty, Refusal};
use super::render;
use super::values::iso;
use super::wire::{self, Batch, BatchRead, IdInput, WriteInput};
use crate::mock::crm::{Answer, Fields};

/// The most inputs of a batch.
const MAX_INPUTS: usize = 100;

/// What a batch does to its records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Write {
    Create,
    Update,
    Upsert,
}

/// What became of one input.
enum Outcome {
    Written { id: String, novelty: Novelty },
    Refused(Refusal),
    Omitted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Novelty {
    New,
    Known,
}

/// Writes a batch.
pub(super) fn write(
    records: &mut Records,
    of: ObjectType<'_>,
    write: Write,
    call: &mut Call<'_>,
) -> Result<Answer, Refusal> {
    let inputs = wire::read::<Batch<WriteInput>>(&call.request.body)?.inputs;
    check_size(inputs.len())?;
    if write != Write::Create {
        check_ids(records, of, write, &inputs)?;
    }
    records.atomically(|records| {
        let mut outcomes = Vec::with_capacity(inputs.len());
        let mut written = BTreeSet::new();
        for input in &inputs {
            let outcome = match write_one(records, of, write, input, call)? {
                // Another input stood for the same record: it is written, and answered once.
                Outcome::Written { id, .. } if !written.insert(id.clone()) => Outcome::Omitted,
                outcome => outcome,
            };
            outcomes.push(outcome);
        }
        if !are_traced(&inputs) {
            refuse_all(&outcomes)?;
        }
        Ok(answer(records, of, write, &inputs, &outcomes, call))
    })
}

/// Reads a batch. Ids that stand for nothing are named in an error beside the results.
pub(super) fn read(records: &Records, of: ObjectType<'_>, call: &Call<'_>) -> Result<Answer, Refusal> {
    let wanted: BatchRead = wire::read(&call.request.body)?;
    check_size(wanted.inputs.len())?;
    let property = wanted.id_property.as_deref();
    if let Some(property) = property {
        records.check_id_property(of, property)?;
    }
    let (mut found, mut unknown) = (BTreeSet::new(), Vec::new());
    for IdInput { id } in wanted.inputs {
        match records.find(of, property, &id) {
            Found::Record(id) | Found::Merged(id) => drop(found.insert(id)),
            Found::Nothing => unknown.push(id),
        }
    }
    let results = found.iter().filter_map(|id| records.store.get(of.name, id));
    let results: Vec<Value> = results
        .map(|record| render::read(of, record, &wanted.properties, records.portal()))
        .collect();
    let mut errors = Vec::new();
    if !unknown.is_empty() {
        let context = json!({ "ids": unknown });
        let refusal = Refusal::UnknownIds {
            noun: of.noun(),
            ids: unknown,
        };
        errors.push(refusal.entry(&context));
    }
    Ok(complete(200, &results, &errors, call))
}

/// Archives a batch. Ids that stand for nothing are passed over.
pub(super) fn archive(records: &mut Records, of: ObjectType<'_>, call: &Call<'_>) -> Result<Answer, Refusal> {
    let inputs = wire::read::<Batch<IdInput>>(&call.request.body)?.inputs;
    check_size(inputs.len())?;
    for input in inputs {
        records.archive(of, &input.id);
    }
    Ok(Answer::empty(204))
}

fn check_size(inputs: usize) -> Result<(), Refusal> {
    if (1..=MAX_INPUTS).contains(&inputs) {
        return Ok(());
    }
    Err(Refusal::Validation {
        message: format!("A batch takes 1 to {MAX_INPUTS} inputs, but {inputs} were given"),
    })
}

/// All inputs have an id, by properties that may be ids, and none of them twice.
fn check_ids(
    records: &Records,
    of: ObjectType<'_>,
    write: Write,
    inputs: &[WriteInput],
) -> Result<(), Refusal> {
    let (mut seen, mut twice) = (BTreeSet::new(), Vec::new());
    for input in inputs {
        match input.id_property.as_deref() {
            Some(property) => records.check_id_property(of, property)?,
            None if write == Write::Upsert => records.check_id_property(of, "hs_object_id")?,
            None => {}
        }
        let id = input.id.as_deref().filter(|id| !id.is_empty());
        let id = id.ok_or_else(|| Refusal::Validation {
            message: "Some required fields were not set: [id]".into(),
        })?;
        if !seen.insert((input.id_property.as_deref(), id.to_lowercase())) {
            twice.push(id.to_owned());
        }
    }
    if twice.is_empty() {
        Ok(())
    } else {
        Err(Refusal::DuplicateIds(twice))
    }
}

/// Writes one record. An error refuses the whole batch.
fn write_one(
    records: &mut Records,
    of: ObjectType<'_>,
    write: Write,
    input: &WriteInput,
    call: &mut Call<'_>,
) -> Result<Outcome, Refusal> {
    let fault = call.record_fault(input);
    match fault.and_then(HubSpotFault::refusal) {
        Some(refusal) if fault == Some(HubSpotFault::Taken) => return Err(refusal),
        Some(refusal) => return Ok(Outcome::Refused(refusal)),
        None if fault == Some(HubSpotFault::Omit) => return Ok(Outcome::Omitted),
        None => {}
    }
    let fields = match fields(of, write, input) {
        Ok(fields) => fields,
        Err(refusal) => return Ok(Outcome::Refused(refusal)),
    };
    let id = input.id.as_deref().unwrap_or_default();
    let found = match write {
        Write::Create => Found::Nothing,
        Write::Update | Write::Upsert => records.find(of, input.id_property.as_deref(), id),
    };
    let outcome = match found {
        Found::Record(id) => {
            records.update(of, &id, fields, call.now)?;
            Outcome::Written {
                id,
                novelty: Novelty::Known,
            }
        }
        // As recorded: neither written, nor an error, nor a result.
        Found::Merged(_) => Outcome::Omitted,
        Found::Nothing if write == Write::Update => Outcome::Refused(Refusal::UnknownIds {
            noun: of.noun(),
            ids: vec![id.to_owned()],
        }),
        Found::Nothing => match of.check_required(&fields) {
            Ok(()) => Outcome::Written {
                id: records.create(of, fields, call.now)?,
                novelty: Novelty::New,
            },
            Err(refusal) => Outcome::Refused(refusal),
        },
    };
    Ok(match fault {
        Some(HubSpotFault::OmitWritten) => Outcome::Omitted,
        _ => outcome,
    })
}

/// The values to write. An upsert also writes the property that it goes by; an address must be repeated among the
/// properties, since HubSpot takes no partial upsert by it.
fn fields(of: ObjectType<'_>, write: Write, input: &WriteInput) -> Result<Fields, Refusal> {
    let mut properties = input.properties.clone();
    if let (Write::Upsert, Some(property), Some(id)) = (write, &input.id_property, &input.id) {
        if property == "email" && !properties.0.contains_key("email") {
            let message = "Partial upserts are not supported when using email as the idProperty".to_owned();
            return Err(Refusal::Properties(vec![InvalidProperty::new(
                "email",
                "MISSING_REQUIRED_PROPERTY",
                message,
            )]));
        }
        properties.0.entry(property.clone()).or_insert_with(|| id.clone());
    }
    Records::check(of, &properties)
}

fn are_traced(inputs: &[WriteInput]) -> bool {
    let traces: Option<BTreeSet<&str>> = inputs
        .iter()
        .map(|input| input.object_write_trace_id.as_deref())
        .collect();
    traces.is_some_and(|traces| traces.len() == inputs.len())
}

/// The refusal of a batch whose inputs cannot be told apart: all invalid values in one list.
fn refuse_all(outcomes: &[Outcome]) -> Result<(), Refusal> {
    let refusals = outcomes.iter().filter_map(|outcome| match outcome {
        Outcome::Refused(refusal) => Some(refusal),
        _ => None,
    });
    let mut invalid = Vec::new();
    for refusal in refusals {
        match refusal {
            Refusal::Properties(more) => invalid.extend(more.iter().cloned()),
            other => return Err(other.clone()),
        }
    }
    if invalid.is_empty() {
        Ok(())
    } else {
        Err(Refusal::Properties(invalid))
    }
}

fn answer(
    records: &Records,
    of: ObjectType<'_>,
    write: Write,
    inputs: &[WriteInput],
    outcomes: &[Outcome],
    call: &Call<'_>,
) -> Answer {
    let (mut results, mut errors) = (Vec::new(), Vec::new());
    for (input, outcome) in inputs.iter().zip(outcomes) {
        let trace = input.object_write_trace_id.as_deref();
        match outcome {
            Outcome::Written { id, novelty } => {
                let Some(record) = records.store.get(of.name, id) else {
                    continue;
                };
                let names = input.properties.0.keys().map(String::as_str);
                let mut result = render::written(of, record, names, records.portal());
                if let Some(trace) = trace {
                    result["objectWriteTraceId"] = trace.into();
                }
                if write == Write::Upsert {
                    result["new"] = (*novelty == Novelty::New).into();
                }
                results.push(result);
            }
            Outcome::Refused(refusal) => {
                let mut context = Map::new();
                if let Refusal::UnknownIds { ids, .. } = refusal {
                    context.insert("ids".into(), json!(ids));
                }
                context.insert("objectWriteTraceId".into(), json!([trace]));
                errors.push(refusal.entry(&Value::Object(context)));
            }
            Outcome::Omitted => {}
        }
    }
    let status = if write == Write::Create { 201 } else { 200 };
    complete(status, &results, &errors, call)
}

/// The answer to a batch; with errors beside the results its status is 207.
fn complete(status: u16, results: &[Value], errors: &[Value], call: &Call<'_>) -> Answer {
    let mut body = json!({
        "status": "COMPLETE",
        "startedAt": iso(call.now),
        "completedAt": iso(call.now),
        "results": results,
    });
    if errors.is_empty() {
        return Answer::json(status, &body);
    }
    body["numErrors"] = errors.len().into();
    body["errors"] = json!(errors);
    Answer::json(207, &body)
}
