//! One value of a payload as a field of a record, with or without a hint of what it is to be.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::moment::Moment;
use super::{FieldKind, Value};

/// Stands between the elements of a list; both CRMs read it so.
const SEPARATOR: &str = ";";

/// Reads the JSON value `json`, which is not null, as `kind`.
pub(super) fn read(json: &str, kind: Option<FieldKind>) -> Result<Value<'_>, &'static str> {
    if json.starts_with('[') {
        return match kind {
            Some(FieldKind::List) => list(json),
            _ => Err("is an array; give the field type = \"list\" to write it as one text, a;b;c"),
        };
    }
    if json.starts_with('{') {
        return Err("is an object; name one of its keys in the path");
    }
    let value = scalar(json)?;
    match kind {
        None => Ok(value),
        Some(FieldKind::Text | FieldKind::List) => Ok(Value::Text(text(value))),
        Some(FieldKind::Number) => number(value),
        Some(FieldKind::Boolean) => boolean(&value),
        Some(FieldKind::Date) => moment(value).map(|moment| moment.date()).map(owned),
        Some(FieldKind::Datetime) => moment(value).map(|moment| moment.datetime()).map(owned),
    }
}

fn scalar(json: &str) -> Result<Value<'_>, &'static str> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

    match json {
        "true" => Ok(Value::Boolean(true)),
        "false" => Ok(Value::Boolean(false)),
        quoted if quoted.starts_with('"') => match serde_json::from_str(quoted) {
            Ok(Text(text)) => Ok(Value::Text(text)),
            Err(_) => Err("is a text that cannot be read"),
        },
        digits => Ok(Value::Number(Cow::Borrowed(digits))),
    }
}

fn owned(text: String) -> Value<'static> {
    Value::Text(Cow::Owned(text))
}

fn text(value: Value<'_>) -> Cow<'_, str> {
    match value {
        Value::Clear => Cow::Borrowed(""),
        Value::Boolean(true) => Cow::Borrowed("true"),
        Value::Boolean(false) => Cow::Borrowed("false"),
        Value::Number(text) | Value::Text(text) => text,
    }
}

fn list(json: &str) -> Result<Value<'_>, &'static str> {
    let elements: Vec<&RawValue> =
        serde_json::from_str(json).map_err(|_| "is an array that cannot be read")?;
    let mut texts = Vec::with_capacity(elements.len());
    for element in elements {
        let element = element.get();
        if element.starts_with(['[', '{']) || element == "null" {
            return Err("is an array that holds more than texts, numbers and booleans");
        }
        let element = text(scalar(element)?);
        if element.contains(SEPARATOR) {
            return Err("is an array with a text that holds a semicolon, which stands between the elements");
        }
        texts.push(element);
    }
    Ok(owned(texts.join(SEPARATOR)))
}

fn number(value: Value<'_>) -> Result<Value<'_>, &'static str> {
    match value {
        Value::Number(digits) => Ok(Value::Number(digits)),
        Value::Text(text) if is_number(text.trim()) => Ok(Value::Number(match text {
            Cow::Borrowed(text) => Cow::Borrowed(text.trim()),
            Cow::Owned(text) => Cow::Owned(text.trim().to_owned()),
        })),
        _ => Err("is no number as JSON writes one"),
    }
}

/// Whether `text` is a JSON number, whatever its size.
fn is_number(text: &str) -> bool {
    let starts = text.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    starts && serde_json::from_str::<&RawValue>(text).is_ok()
}

fn boolean(value: &Value<'_>) -> Result<Value<'static>, &'static str> {
    let word = match value {
        Value::Boolean(flag) => return Ok(Value::Boolean(*flag)),
        Value::Number(word) | Value::Text(word) => word.trim().to_ascii_lowercase(),
        Value::Clear => String::new(),
    };
    match word.as_str() {
        "true" | "t" | "yes" | "y" | "1" => Ok(Value::Boolean(true)),
        "false" | "f" | "no" | "n" | "0" => Ok(Value::Boolean(false)),
        _ => Err("is neither true nor false"),
    }
}

fn moment(value: Value<'_>) -> Result<Moment, &'static str> {
    let moment = match value {
        Value::Number(digits) => Moment::of_milliseconds(&digits),
        Value::Text(text) => Moment::of_text(text.trim()),
        Value::Clear | Value::Boolean(_) => None,
    };
    moment.ok_or(
        "is no date or time: write 2026-05-01, 2026-05-01T12:00:00Z, or epoch milliseconds as a number",
    )
}
