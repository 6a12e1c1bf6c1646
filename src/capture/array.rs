//! Rows from one JSON array: its elements are read as lines of NDJSON are, one at a time.
//!
//! Here only where an element ends is found; whether it is sound JSON is for the reader of the element to say.

use std::io::{self, BufRead};
use std::sync::Arc;

use super::error::{BadLine, CaptureError};
use super::mapping::Mapping;
use super::ndjson::row_of;
use super::{Captured, Rows};

/// Rows from a JSON array. The line of a row is its number among the elements, from 1.
pub struct Array {
    input: Arc<str>,
    elements: Elements,
    mapping: Option<Mapping>,
    number: u64,
}

impl Array {
    /// Reads plain objects by `mapping`; without one, whole rows, as [`Ndjson`](super::Ndjson) does.
    pub fn rows(input: Arc<str>, reader: Box<dyn BufRead + Send>, mapping: Option<Mapping>) -> Rows {
        Box::new(Self {
            input,
            elements: Elements {
                reader,
                text: Vec::new(),
                place: Place::Before,
            },
            mapping,
            number: 0,
        })
    }
}

impl Iterator for Array {
    type Item = Result<Captured, CaptureError>;

    fn next(&mut self) -> Option<Self::Item> {
        let line = self.number + 1;
        let bad = |problem| BadLine::new(&self.input, line, problem);
        let text = match self.elements.next() {
            Ok(None) => return None,
            Ok(Some(text)) => text,
            Err(Broken::Read(source)) => {
                let input = Arc::clone(&self.input);
                return Some(Err(CaptureError::Read { input, source }));
            }
            Err(Broken::Array(problem)) => return Some(Err(CaptureError::Broken(bad(problem.to_owned())))),
        };
        self.number = line;
        let row = row_of(text, self.mapping.as_ref());
        Some(
            row.map(|row| Captured { line, row })
                .map_err(|problem| bad(problem).into()),
        )
    }
}

struct Elements {
    reader: Box<dyn BufRead + Send>,
    /// The element that is read.
    text: Vec<u8>,
    place: Place,
}

/// Where in the array the next byte stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Before,
    /// Where an element begins, or the array may end if it has none.
    First,
    /// Behind a comma: an element must come.
    Next,
    /// In an element, so deep in its own brackets.
    Within(u32),
    /// In a string of an element.
    Text(u32),
    /// Behind a backslash in one.
    Escaped(u32),
    Behind,
}

enum Broken {
    Read(io::Error),
    Array(&'static str),
}

impl Elements {
    /// The text of the next element; none behind the last, which nothing but blanks may follow.
    fn next(&mut self) -> Result<Option<&[u8]>, Broken> {
        self.text.clear();
        loop {
            let buffer = self.reader.fill_buf().map_err(Broken::Read)?;
            if buffer.is_empty() {
                return match self.place {
                    Place::Behind => Ok(None),
                    Place::Before => Err(Broken::Array("the body is empty; send a JSON array of rows")),
                    _ => Err(Broken::Array("not JSON: the array is never closed")),
                };
            }
            let length = buffer.len();
            let mut ended = None;
            for (index, &byte) in buffer.iter().enumerate() {
                let was = self.place;
                self.place = after(was, byte).map_err(Broken::Array)?;
                if matches!(was, Place::Within(0)) && matches!(self.place, Place::Next | Place::Behind) {
                    ended = Some(index + 1);
                    break;
                }
                if matches!(self.place, Place::Within(_) | Place::Text(_) | Place::Escaped(_)) {
                    self.text.push(byte);
                }
            }
            self.reader.consume(ended.unwrap_or(length));
            if ended.is_some() {
                return Ok(Some(&self.text));
            }
        }
    }
}

/// Where the byte behind this one stands.
fn after(place: Place, byte: u8) -> Result<Place, &'static str> {
    Ok(match (place, byte) {
        (Place::Before | Place::First | Place::Next | Place::Behind, b' ' | b'\t' | b'\r' | b'\n') => place,
        (Place::Before, b'[') => Place::First,
        (Place::Before, _) => return Err("not a JSON array; send NDJSON as application/x-ndjson"),
        (Place::First | Place::Within(0), b']') => Place::Behind,
        (Place::First | Place::Next, b',' | b']') => return Err("not JSON: an element is missing"),
        (Place::First | Place::Next, b'"') => Place::Text(0),
        (Place::First | Place::Next, b'[' | b'{') => Place::Within(1),
        (Place::First | Place::Next, _) => Place::Within(0),
        (Place::Within(0), b',') => Place::Next,
        (Place::Within(depth), b'"') => Place::Text(depth),
        (Place::Within(depth), b'[' | b'{') => Place::Within(depth.saturating_add(1)),
        (Place::Within(depth), b']' | b'}') => Place::Within(depth.saturating_sub(1)),
        (Place::Within(depth), _) | (Place::Text(depth), b'"') => Place::Within(depth),
        (Place::Text(depth), b'\\') => Place::Escaped(depth),
        (Place::Text(depth) | Place::Escaped(depth), _) => Place::Text(depth),
        (Place::Behind, _) => return Err("not JSON: something follows the array"),
    })
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use proptest::prelude::*;

    use super::*;
    use crate::core::row::Op;

    fn read(text: &str) -> Result<Vec<(u64, String)>, String> {
        let mapping = Mapping {
            topic: "t".to_owned(),
            op: Op::Upsert,
            key: vec!["id".to_owned()],
            version: None,
        };
        // Three bytes at a time, so that elements lie across buffers.
        let reader = BufReader::with_capacity(3, io::Cursor::new(text.to_owned()));
        let rows = Array::rows("body".into(), Box::new(reader), Some(mapping));
        rows.map(|row| {
            row.map(|captured| (captured.line, captured.row.payload))
                .map_err(|error| error.to_string())
        })
        .collect()
    }

    #[test]
    fn elements_keep_their_bytes() {
        let rows = read(" [ {\"id\":1, \"a\":\"],\\\"}{\"} ,{\"id\":\"b\",\"n\":[[1],{}]}]\n").unwrap();
        let first = (1, "{\"id\":1, \"a\":\"],\\\"}{\"}".to_owned());
        assert_eq!(rows, [first, (2, "{\"id\":\"b\",\"n\":[[1],{}]}".to_owned())]);
        assert_eq!(read("[]"), Ok(vec![]));
    }

    #[test]
    fn what_is_wrong_is_named_by_its_number() {
        for (text, wrong) in [
            ("", "body:1: the body is empty"),
            ("{}", "body:1: not a JSON array"),
            ("[{\"id\":1},]", "body:2: not JSON: an element is missing"),
            ("[{\"id\":1}", "body:1: not JSON: the array is never closed"),
            ("[{\"id\":1}] 2", "body:2: not JSON: something follows"),
            ("[{\"id\":1},{\"id\":}]", "body:2: not JSON"),
            ("[{\"id\":1}{\"id\":2}]", "body:1: not JSON"),
            ("[7]", "body:1: invalid type: integer"),
        ] {
            let said = read(text).unwrap_err();
            assert!(said.starts_with(wrong), "{text}: {said}");
        }
    }

    proptest! {
        #[test]
        fn what_is_no_array_of_objects_is_never_taken_for_one(text in "[\\[\\]{}, \"\\\\:id17]{0,12}") {
            let sound = serde_json::from_str::<Vec<serde_json::Map<String, serde_json::Value>>>(&text).is_ok();
            prop_assert!(sound || read(&text).is_err(), "{}", text);
        }
    }
}
