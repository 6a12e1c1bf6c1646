//! Whether a value fits its field, and what it becomes there. Pure.

use super::error::RecordError;
use super::id;
use crate::mock::crm::{Field, FieldType, Value};

/// How the value came, which decides how a misfit is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// In JSON, where values have types.
    Json,
    /// In CSV, where everything is text.
    Csv,
}

/// The value as the field keeps it. An empty text is none.
pub(super) fn fit(name: &str, field: &Field, value: &Value, source: Source) -> Result<Value, RecordError> {
    if *value == Value::Null || *value == Value::text("") {
        return Ok(Value::Null);
    }
    let misfit = || misfit(name, field.kind, value, source);
    let text = value.as_text().ok_or_else(misfit)?;
    let kept = match field.kind {
        FieldType::Text => Some(Value::text(text)),
        FieldType::Number | FieldType::Currency => number(text),
        FieldType::Integer => text
            .parse::<i32>()
            .ok()
            .map(|whole| Value::Number(whole.to_string())),
        FieldType::Boolean => boolean(text, source).map(Value::Bool),
        FieldType::Date => is_date(text).then(|| Value::text(text)),
        FieldType::Datetime => text.parse::<jiff::Timestamp>().is_ok().then(|| Value::text(text)),
        FieldType::Email => return email(name, text),
        FieldType::Choice | FieldType::Choices => return choice(name, field, text),
        FieldType::Reference => return reference(name, text),
    };
    let kept = kept.ok_or_else(misfit)?;
    match field.length {
        Some(most) if field.kind == FieldType::Text && text.chars().count() > most => Err(RecordError::of(
            "STRING_TOO_LONG",
            format!("{name}: data value too large: {text} (max length={most})"),
            &[name],
        )),
        _ => Ok(kept),
    }
}

/// What Salesforce calls a type.
pub(super) fn type_name(kind: FieldType) -> &'static str {
    match kind {
        FieldType::Text => "string",
        FieldType::Email => "email",
        FieldType::Number => "double",
        FieldType::Currency => "currency",
        FieldType::Integer => "int",
        FieldType::Boolean => "boolean",
        FieldType::Date => "date",
        FieldType::Datetime => "datetime",
        FieldType::Choice => "picklist",
        FieldType::Choices => "multipicklist",
        FieldType::Reference => "reference",
    }
}

fn misfit(name: &str, kind: FieldType, value: &Value, source: Source) -> RecordError {
    let shown = value.as_text().unwrap_or_default();
    match source {
        Source::Json => RecordError::unparsed(
            "JSON_PARSER_ERROR",
            format!(
                "Cannot deserialize instance of {} from {} value {shown} or request may be missing a required \
                 field at [line:1, column:2]",
                type_name(kind),
                value.token(),
            ),
        ),
        Source::Csv => RecordError::of(
            "INVALID_TYPE_ON_FIELD_IN_RECORD",
            format!("{name}: value not of required type: {shown}"),
            &[name],
        ),
    }
}

/// Digits as JSON has them, kept as they are.
fn number(text: &str) -> Option<Value> {
    let is_number = serde_json::from_str::<serde_json::Number>(text).is_ok();
    is_number.then(|| Value::Number(text.to_owned()))
}

fn boolean(text: &str, source: Source) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" => Some(true),
        "false" => Some(false),
        "1" if source == Source::Csv => Some(true),
        "0" if source == Source::Csv => Some(false),
        _ => None,
    }
}

fn is_date(text: &str) -> bool {
    // The length first: the parser would also take a time with it.
    text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok()
}

fn email(name: &str, text: &str) -> Result<Value, RecordError> {
    let parts = text.split_once('@');
    let good = |(local, domain): (&str, &str)| {
        !local.is_empty()
            && domain.contains('.')
            && !text.contains(char::is_whitespace)
            && !domain.contains('@')
    };
    if parts.is_some_and(good) {
        return Ok(Value::text(text));
    }
    Err(RecordError::of(
        "INVALID_EMAIL_ADDRESS",
        format!("{name}: invalid email address: {text}"),
        &[name],
    ))
}

fn choice(name: &str, field: &Field, text: &str) -> Result<Value, RecordError> {
    let chosen: Vec<&str> = match field.kind {
        FieldType::Choices => text.split(';').collect(),
        _ => vec![text],
    };
    match chosen
        .iter()
        .find(|one| !field.values.iter().any(|known| known == *one))
    {
        None => Ok(Value::text(text)),
        Some(bad) => Err(RecordError::of(
            "INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST",
            format!("{name}: bad value for restricted picklist field: {bad}"),
            &[name],
        )),
    }
}

fn reference(name: &str, text: &str) -> Result<Value, RecordError> {
    id::normal(text).map(Value::Text).ok_or_else(|| {
        RecordError::of(
            "MALFORMED_ID",
            format!("{name}: id value of incorrect type: {text}"),
            &[name],
        )
    })
}
