//! Rows from NDJSON: whole rows, or plain objects whose fields name the row.
//!
//! Holds one line at a time. The payload is the text as it was written: no number is rounded, no key moves.

use std::fmt;
use std::io::{BufRead, Read as _};
use std::sync::Arc;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::error::{BadLine, CaptureError};
use super::mapping::{Mapping, check};
use super::{Captured, Rows};
use crate::core::row::{NewRow, Op};

/// Bytes of a line at most: more than any payload may have.
const MAX_LINE_BYTES: u64 = 300 << 20;

/// Rows from NDJSON.
pub struct Ndjson {
    input: Arc<str>,
    reader: Box<dyn BufRead + Send>,
    mapping: Option<Mapping>,
    line: u64,
    text: Vec<u8>,
}

impl Ndjson {
    /// Reads plain objects by `mapping`; without one, whole rows: objects of `topic`, `row_key`, `row_version`, `op`,
    /// `payload` and `headers`. `input` is what errors call the input. Blank lines are skipped.
    pub fn rows(input: Arc<str>, reader: Box<dyn BufRead + Send>, mapping: Option<Mapping>) -> Rows {
        Box::new(Self {
            input,
            reader,
            mapping,
            line: 0,
            text: Vec::new(),
        })
    }

    fn bad(&self, problem: String) -> CaptureError {
        let text = String::from_utf8_lossy(self.text.trim_ascii());
        let bad = BadLine::new(&self.input, self.line, problem);
        let text = Some(text.into_owned());
        BadLine { text, ..bad }.into()
    }

    /// Reads the next line; false at the end.
    fn read_line(&mut self) -> Result<Option<()>, CaptureError> {
        self.text.clear();
        self.line += 1;
        let mut limited = (&mut self.reader).take(MAX_LINE_BYTES + 1);
        let read = limited.read_until(b'\n', &mut self.text);
        let read = read.map_err(|source| CaptureError::Read {
            input: Arc::clone(&self.input),
            source,
        })?;
        if self.text.len() as u64 > MAX_LINE_BYTES {
            let problem = format!("longer than {MAX_LINE_BYTES} bytes; is it NDJSON?");
            return Err(CaptureError::Broken(BadLine::new(
                &self.input,
                self.line,
                problem,
            )));
        }
        Ok((read > 0).then_some(()))
    }
}

/// The row that a text says, by a mapping or as a whole row.
pub(super) fn row_of(text: &[u8], mapping: Option<&Mapping>) -> Result<NewRow, String> {
    let text = str::from_utf8(text).map_err(|error| format!("not UTF-8: {error}"))?;
    // Blanks around a value are no part of it.
    let text = text.trim_ascii();
    match mapping {
        Some(mapping) => plain_row(text, mapping),
        None => whole_row(text),
    }
}

impl Iterator for Ndjson {
    type Item = Result<Captured, CaptureError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.read_line() {
                Ok(None) => return None,
                Ok(Some(())) if self.text.trim_ascii().is_empty() => {}
                Ok(Some(())) => {
                    let line = self.line;
                    let row = row_of(&self.text, self.mapping.as_ref()).map(|row| Captured { line, row });
                    return Some(row.map_err(|problem| self.bad(problem)));
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WholeRow<'a> {
    topic: String,
    row_key: String,
    #[serde(default)]
    row_version: Option<i64>,
    op: Op,
    #[serde(default, borrow, deserialize_with = "present")]
    payload: Option<&'a RawValue>,
    #[serde(default, borrow)]
    headers: Option<&'a RawValue>,
}

/// A payload that is there and says `null` is not one that is left out.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

fn whole_row(text: &str) -> Result<NewRow, String> {
    let whole: WholeRow<'_> = serde_json::from_str(text).map_err(|error| not_a_row(&error))?;
    let payload = match (whole.payload, whole.op) {
        (Some(payload), _) => payload.get(),
        (None, Op::Delete) => "null",
        (None, Op::Upsert | Op::Event) => {
            return Err("the payload is missing; write null if that is meant".to_owned());
        }
    };
    if let Some(headers) = whole.headers {
        let of_strings = serde_json::from_str::<std::collections::HashMap<String, String>>(headers.get());
        of_strings.map_err(|_| {
            r#"the headers are not an object of strings, such as {"traceparent": "00-…"}"#.to_owned()
        })?;
    }
    let row = NewRow {
        topic: whole.topic,
        row_key: whole.row_key,
        row_version: whole.row_version,
        op: whole.op,
        payload: payload.to_owned(),
        headers: whole.headers.map(|headers| headers.get().to_owned()),
    };
    check(&row)?;
    Ok(row)
}

fn plain_row(text: &str, mapping: &Mapping) -> Result<NewRow, String> {
    let wanted: Vec<&str> = mapping.fields().collect();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let found = deserializer
        .deserialize_map(Picker { wanted: &wanted })
        .and_then(|found| deserializer.end().map(|()| found))
        .map_err(|error| not_a_row(&error))?;
    let values = wanted
        .iter()
        .zip(found)
        .map(|(field, value)| scalar(field, value));
    mapping.row(values.collect::<Result<_, _>>()?, text.to_owned())
}

/// A wrong type in sound JSON is another matter than no JSON.
fn not_a_row(error: &serde_json::Error) -> String {
    match error.classify() {
        serde_json::error::Category::Data => error.to_string(),
        _ => format!("not JSON: {error}"),
    }
}

/// The value of a field as text: a string's content, a number's own digits.
fn scalar(field: &str, value: Option<&RawValue>) -> Result<String, String> {
    let Some(value) = value.map(RawValue::get) else {
        return Err(format!("there is no field `{field}`"));
    };
    match value.as_bytes().first() {
        Some(b'"') => serde_json::from_str(value).map_err(|error| format!("the field `{field}`: {error}")),
        Some(b'{' | b'[') => Err(format!("the field `{field}` is neither text nor number")),
        Some(b'n') => Err(format!("the field `{field}` is null")),
        _ => Ok(value.to_owned()),
    }
}

/// Takes the wanted fields out of an object, in the order in which they are wanted; of equal keys the last.
struct Picker<'w> {
    wanted: &'w [&'w str],
}

impl<'de> Visitor<'de> for Picker<'_> {
    type Value = Vec<Option<&'de RawValue>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = vec![None; self.wanted.len()];
        while let Some(key) = map.next_key::<String>()? {
            if !self.wanted.contains(&key.as_str()) {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let value: &RawValue = map.next_value()?;
            for (wanted, place) in self.wanted.iter().zip(&mut found) {
                if *wanted == key {
                    *place = Some(value);
                }
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping() -> Mapping {
        Mapping {
            topic: "orders".to_owned(),
            op: Op::Upsert,
            key: vec!["id".to_owned()],
            version: None,
        }
    }

    fn read(text: &'static str, mapping: Option<Mapping>) -> Vec<Result<Captured, CaptureError>> {
        Ndjson::rows("orders.ndjson".into(), Box::new(text.as_bytes()), mapping).collect()
    }

    fn error(text: &'static str, mapping: Option<Mapping>) -> String {
        let last = read(text, mapping).pop().unwrap();
        last.unwrap_err().to_string()
    }

    #[test]
    fn a_plain_object_keeps_its_bytes_whatever_its_numbers_and_the_order_of_its_keys() {
        let text = "{ \"z\" : 1.50e3, \"id\":123456789012345678901234567890, \"a\":\"\\u0041\" }\r\n";
        let rows = read(text, Some(mapping()));
        let Captured { line, row } = rows.into_iter().next().unwrap().unwrap();
        assert_eq!(line, 1);
        assert_eq!(row.row_key, "123456789012345678901234567890");
        assert_eq!(row.payload, text.trim_end());
    }

    #[test]
    fn a_whole_row_keeps_the_bytes_of_its_payload() {
        let text = r#"{"topic":"t","row_key":"k","row_version":7,"op":"event","payload":{ "b":1.0 },"headers":{"a":"b"}}"#;
        let row = read(text, None).pop().unwrap().unwrap().row;
        assert_eq!(row.payload, r#"{ "b":1.0 }"#);
        assert_eq!(row.headers.as_deref(), Some(r#"{"a":"b"}"#));
        assert_eq!((row.row_version, row.op), (Some(7), Op::Event));
    }

    #[test]
    fn null_is_a_payload_and_a_missing_one_is_none() {
        let null = r#"{"topic":"t","row_key":"k","op":"upsert","payload":null}"#;
        assert_eq!(read(null, None).pop().unwrap().unwrap().row.payload, "null");
        let missing = r#"{"topic":"t","row_key":"k","op":"upsert"}"#;
        assert!(error(missing, None).contains("the payload is missing"));
        let delete = r#"{"topic":"t","row_key":"k","op":"delete"}"#;
        assert_eq!(read(delete, None).pop().unwrap().unwrap().row.payload, "null");
    }

    #[test]
    fn a_bad_line_is_named_by_file_and_number_and_blank_lines_count() {
        let not_json = error("{\"id\":1}\n\n{\"id\":2}\n{\"id\":3\n", Some(mapping()));
        assert!(not_json.starts_with("orders.ndjson:4: not JSON: "), "{not_json}");
        assert_eq!(
            error("{\"id\":1}\n{\"no\":2}", Some(mapping())),
            "orders.ndjson:2: there is no field `id`"
        );
        assert_eq!(
            error("{\"id\":null}", Some(mapping())),
            "orders.ndjson:1: the field `id` is null"
        );
        assert!(error("[1]", Some(mapping())).contains("expected an object"));
        assert!(error("{\"id\":1} {\"id\":2}", Some(mapping())).contains("not JSON: trailing characters"));
        assert!(error(r#"{"topik":"t"}"#, None).contains("unknown field `topik`"));
        assert!(error("{\"id\":1,\"a\":\"\\ud800\"}", Some(mapping())).contains("lone surrogate"));
    }

    #[test]
    fn of_equal_keys_the_last_names_the_row_as_it_does_in_the_canonical_form() {
        let row = read(r#"{"id":1,"id":"2"}"#, Some(mapping()))
            .pop()
            .unwrap()
            .unwrap()
            .row;
        assert_eq!(row.row_key, "2");
    }
}
