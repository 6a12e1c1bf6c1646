//! `/crm/v3/objects/{type}` and `…/{id}`: single records, by their own id or by a unique property.
//!
//! The id of a record that was merged stands for the one that it was merged into, whose id the answer then carries.

use serde_json::{Value, json};

use super::call::Call;
use super::records::{Found, ObjectType, Records};
use super::refusal::Refusal;
use super::render;
use super::wire::{self, Merge, Properties, Single};
use crate::mock::crm::Answer;

/// Records on a page, unless `limit` says otherwise.
const PAGE: usize = 10;
/// The most that `limit` may say.
const MAX_PAGE: usize = 100;

/// `POST /crm/v3/objects/{type}`.
pub(super) fn create(records: &mut Records, of: ObjectType<'_>, call: &Call<'_>) -> Result<Answer, Refusal> {
    let Single { properties } = wire::read(&call.request.body)?;
    let fields = Records::check(of, &properties)?;
    of.check_required(&fields)?;
    let id = records.create(of, fields, call.now)?;
    let answer = Answer::json(201, &shown(records, of, &id, &properties)?);
    Ok(answer.with("location", format!("/crm/v3/objects/{}/{id}", of.name)))
}

/// `PATCH /crm/v3/objects/{type}/{id}?idProperty=`.
pub(super) fn update(
    records: &mut Records,
    of: ObjectType<'_>,
    id: &str,
    call: &Call<'_>,
) -> Result<Answer, Refusal> {
    let id = resolve(records, of, id, call)?;
    let Single { properties } = wire::read(&call.request.body)?;
    let fields = Records::check(of, &properties)?;
    records.update(of, &id, fields, call.now)?;
    Ok(Answer::json(200, &shown(records, of, &id, &properties)?))
}

/// `GET /crm/v3/objects/{type}/{id}?idProperty=&properties=`.
pub(super) fn get(
    records: &Records,
    of: ObjectType<'_>,
    id: &str,
    call: &Call<'_>,
) -> Result<Answer, Refusal> {
    let id = resolve(records, of, id, call)?;
    let record = records.store.get(of.name, &id).ok_or_else(not_found)?;
    let asked = call.query_list("properties");
    Ok(Answer::json(
        200,
        &render::read(of, record, &asked, records.portal()),
    ))
}

/// `DELETE /crm/v3/objects/{type}/{id}`.
pub(super) fn archive(
    records: &mut Records,
    of: ObjectType<'_>,
    id: &str,
    call: &Call<'_>,
) -> Result<Answer, Refusal> {
    let id = resolve(records, of, id, call)?;
    records.archive(of, &id);
    Ok(Answer::empty(204))
}

/// `GET /crm/v3/objects/{type}?limit=&after=&properties=`: all records, page by page.
pub(super) fn list(records: &Records, of: ObjectType<'_>, call: &Call<'_>) -> Result<Answer, Refusal> {
    let limit = match call.request.query("limit") {
        Some(limit) => limit.parse().ok().filter(|limit| (1..=MAX_PAGE).contains(limit)),
        None => Some(PAGE),
    };
    let limit = limit.ok_or_else(|| Refusal::Validation {
        message: format!("Invalid value for 'limit': give a number from 1 to {MAX_PAGE}"),
    })?;
    let after = call.request.query("after").unwrap_or_default();
    let asked = call.query_list("properties");
    let mut rest = records
        .store
        .records(of.name)
        .skip_while(|record| record.id <= after);
    let page: Vec<_> = rest.by_ref().take(limit).collect();
    let results = page
        .iter()
        .map(|record| render::read(of, record, &asked, records.portal()));
    let mut body = json!({ "results": results.collect::<Vec<_>>() });
    if let (Some(last), Some(_)) = (page.last(), rest.next()) {
        body["paging"] = json!({ "next": { "after": last.id } });
    }
    Ok(Answer::json(200, &body))
}

/// `POST /crm/v3/objects/{type}/merge`.
pub(super) fn merge(records: &mut Records, of: ObjectType<'_>, call: &Call<'_>) -> Result<Answer, Refusal> {
    let Merge {
        primary_object_id: into,
        object_id_to_merge: from,
    } = wire::read(&call.request.body)?;
    records.merge(of, &from, &into, call.now)?;
    Ok(Answer::json(
        200,
        &shown(records, of, &into, &Properties::default())?,
    ))
}

fn resolve(records: &Records, of: ObjectType<'_>, id: &str, call: &Call<'_>) -> Result<String, Refusal> {
    let property = call.request.query("idProperty");
    if let Some(property) = &property {
        records.check_id_property(of, property)?;
    }
    match records.find(of, property.as_deref(), id) {
        Found::Record(id) | Found::Merged(id) => Ok(id),
        Found::Nothing => Err(not_found()),
    }
}

fn shown(records: &Records, of: ObjectType<'_>, id: &str, written: &Properties) -> Result<Value, Refusal> {
    let record = records.store.get(of.name, id).ok_or_else(not_found)?;
    let names = written.0.keys().map(String::as_str);
    Ok(render::written(of, record, names, records.portal()))
}

fn not_found() -> Refusal {
    Refusal::NotFound {
        message: "resource not found".into(),
    }
}
