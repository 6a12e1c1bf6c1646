//! `/crm/v3/properties/{type}`: which properties there are, and which of them are unique. Read only: the schema does
//! not change.

use serde_json::{Value, json};

use super::records::ObjectType;
use super::refusal::Refusal;
use super::render;
use crate::mock::crm::Answer;

/// All properties of an object type.
pub(super) fn list(of: ObjectType<'_>) -> Answer {
    let fields = of.object.fields.iter();
    let defined = fields.map(|(name, field)| render::property(of, name, field));
    let system = of.system_properties();
    let system = system.iter().map(|name| render::system_property(of, name));
    let results: Vec<Value> = defined.chain(system).collect();
    Answer::json(200, &json!({ "results": results }))
}

/// One property.
pub(super) fn get(of: ObjectType<'_>, name: &str) -> Result<Answer, Refusal> {
    let property = match of.object.fields.get(name) {
        Some(field) => render::property(of, name, field),
        None if of.system_properties().contains(&name) => render::system_property(of, name),
        None => {
            return Err(Refusal::NotFound {
                message: format!("Property '{name}' does not exist"),
            });
        }
    };
    Ok(Answer::json(200, &property))
}
