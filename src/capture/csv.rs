//! Rows from CSV: the header names the fields, and every value is a string.
//!
//! CSV knows no types, so none are guessed: `007` stays `"007"`. The payload is an object in the order of the columns.

use std::collections::HashSet;
use std::io::{self, Read};
use std::sync::Arc;

use csv::{ErrorKind, StringRecord, StringRecordsIntoIter};

use super::error::{BadLine, CaptureError};
use super::mapping::Mapping;
use super::quotes::{NeverClosed, Quotes};
use super::{Captured, Rows};
use crate::core::row::NewRow;

/// How CSV is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvOptions {
    /// Between two values.
    pub delimiter: u8,
    /// The text that stands for null; none: every value is a string.
    pub null: Option<String>,
}

impl Default for CsvOptions {
    fn default() -> Self {
        Self {
            delimiter: b',',
            null: None,
        }
    }
}

/// Rows from CSV.
pub struct Csv {
    input: Arc<str>,
    records: StringRecordsIntoIter<Quotes<Box<dyn Read + Send>>>,
    mapping: Mapping,
    null: Option<String>,
    /// The names of the columns, each as a JSON string.
    names: Vec<String>,
    /// The columns of [`Mapping::fields`].
    columns: Vec<usize>,
}

impl Csv {
    /// Reads the header, then rows by `mapping`. `input` is what errors call the input.
    pub fn rows(
        input: Arc<str>,
        reader: Box<dyn Read + Send>,
        mapping: Mapping,
        options: CsvOptions,
    ) -> Result<Rows, CaptureError> {
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(options.delimiter)
            .from_reader(Quotes::new(reader, options.delimiter));
        let header = reader
            .headers()
            .map_err(|error| read_error(&input, error))?
            .clone();
        let bad_header = |problem| CaptureError::Broken(BadLine::new(&input, 1, problem));
        let columns = columns(&header, &mapping).map_err(bad_header)?;
        Ok(Box::new(Self {
            input,
            records: reader.into_records(),
            mapping,
            null: options.null,
            names: header.iter().map(json).collect(),
            columns,
        }))
    }

    fn row(&self, record: &StringRecord) -> Result<Captured, CaptureError> {
        let line = record.position().map_or(0, csv::Position::line);
        match self.mapped(record) {
            Ok(row) => Ok(Captured { line, row }),
            Err(problem) => {
                let text = serde_json::to_string(&record.iter().collect::<Vec<_>>()).ok();
                let bad = BadLine::new(&self.input, line, problem);
                Err(BadLine { text, ..bad }.into())
            }
        }
    }

    fn mapped(&self, record: &StringRecord) -> Result<NewRow, String> {
        let value = |(field, &column): (&str, &usize)| match record.get(column).unwrap_or_default() {
            value if self.null.as_deref() == Some(value) => Err(format!("the field `{field}` is null")),
            value => Ok(value.to_owned()),
        };
        let values: Result<_, _> = self.mapping.fields().zip(&self.columns).map(value).collect();
        self.mapping.row(values?, self.payload(record))
    }

    fn payload(&self, record: &StringRecord) -> String {
        let mut payload = String::with_capacity(2 * record.as_slice().len() + 16 * self.names.len());
        for (name, value) in self.names.iter().zip(record) {
            payload.push(if payload.is_empty() { '{' } else { ',' });
            payload.push_str(name);
            payload.push(':');
            if self.null.as_deref() == Some(value) {
                payload.push_str("null");
            } else {
                payload.push_str(&json(value));
            }
        }
        payload.push('}');
        payload
    }
}

impl Iterator for Csv {
    type Item = Result<Captured, CaptureError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.records.next()? {
            Ok(record) => Some(self.row(&record)),
            Err(error) => Some(Err(read_error(&self.input, error))),
        }
    }
}

/// Where the fields of the mapping stand.
fn columns(header: &StringRecord, mapping: &Mapping) -> Result<Vec<usize>, String> {
    let mut seen = HashSet::new();
    for name in header {
        if name.is_empty() {
            return Err("a column has no name".to_owned());
        }
        if !seen.insert(name) {
            return Err(format!("the column `{name}` stands there twice"));
        }
    }
    let column = |field: &str| {
        let known = || header.iter().collect::<Vec<_>>().join(", ");
        header
            .iter()
            .position(|name| name == field)
            .ok_or_else(|| format!("there is no column `{field}`; known are {}", known()))
    };
    mapping.fields().map(column).collect()
}

fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn read_error(input: &Arc<str>, error: csv::Error) -> CaptureError {
    let line = error.position().map_or(1, csv::Position::line);
    let problem = match error.into_kind() {
        ErrorKind::Io(source) => return io_error(input, source),
        ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => {
            format!("{len} values under {expected_len} columns")
        }
        ErrorKind::Utf8 { err, .. } => format!("not UTF-8: {err}"),
        other => format!("not CSV: {}", csv_text(other)),
    };
    BadLine::new(input, line, problem).into()
}

fn io_error(input: &Arc<str>, source: io::Error) -> CaptureError {
    let never_closed = source
        .get_ref()
        .and_then(|error| error.downcast_ref::<NeverClosed>());
    match never_closed {
        Some(open) => CaptureError::Broken(BadLine::new(input, open.line, open.to_string())),
        None => CaptureError::Read {
            input: Arc::clone(input),
            source,
        },
    }
}

fn csv_text(kind: ErrorKind) -> String {
    match kind {
        ErrorKind::Seek => "the input cannot be rewound".to_owned(),
        ErrorKind::Serialize(text) => text,
        other => format!("{other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::row::Op;

    fn mapping() -> Mapping {
        Mapping {
            topic: "orders".to_owned(),
            op: Op::Upsert,
            key: vec!["id".to_owned(), "line".to_owned()],
            version: Some("v".to_owned()),
        }
    }

    fn read(text: &'static str, null: Option<&str>) -> Result<Vec<Captured>, CaptureError> {
        let options = CsvOptions {
            null: null.map(str::to_owned),
            ..CsvOptions::default()
        };
        Csv::rows("orders.csv".into(), Box::new(text.as_bytes()), mapping(), options)?.collect()
    }

    #[test]
    fn every_value_is_a_string_in_the_order_of_the_columns() {
        let rows = read("name,v,id,line\n\"a \"\"b\"\"\n\",7,007,x/y\n,8,1e3,\n", None).unwrap();
        assert_eq!(
            rows[0].row.payload,
            r#"{"name":"a \"b\"\n","v":"7","id":"007","line":"x/y"}"#
        );
        assert_eq!(
            (rows[0].row.row_key.as_str(), rows[0].row.row_version),
            ("007/x~1y", Some(7))
        );
        assert_eq!(rows[1].row.payload, r#"{"name":"","v":"8","id":"1e3","line":""}"#);
        assert_eq!((rows[0].line, rows[1].line), (2, 4));
    }

    #[test]
    fn the_text_for_null_becomes_null() {
        let rows = read("id,line,v,name\n1,2,3,\n1,3,3,x\n", Some("")).unwrap();
        assert_eq!(
            rows[0].row.payload,
            r#"{"id":"1","line":"2","v":"3","name":null}"#
        );
        assert_eq!(rows[1].row.payload, r#"{"id":"1","line":"3","v":"3","name":"x"}"#);
    }

    #[test]
    fn a_null_is_no_key() {
        let error = read("id,line,v\n1,2,3\n1,,3\n", Some(""))
            .unwrap_err()
            .to_string();
        assert_eq!(error, "orders.csv:3: the field `line` is null");
    }

    #[test]
    fn what_is_wrong_is_named_by_its_line() {
        let error = |text| read(text, None).unwrap_err().to_string();
        assert_eq!(
            error("id,v\n1,2\n"),
            "orders.csv:1: there is no column `line`; known are id, v"
        );
        assert_eq!(
            error("id,id,v\n"),
            "orders.csv:1: the column `id` stands there twice"
        );
        assert_eq!(
            error("id,line,v\n1,2,3\n1,2\n"),
            "orders.csv:3: 2 values under 3 columns"
        );
        assert_eq!(
            error("id,line,v\n1,2,3\n1,\"2,4\n1,3,5\n"),
            "orders.csv:3: the quote is never closed"
        );
        assert!(error("id,line,v\n1,2,3\n1,2,x\n").starts_with("orders.csv:3: the version field `v`"));
    }
}
