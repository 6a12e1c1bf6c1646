//! Sees to it that the last quote of a CSV is closed.
//!
//! The reader of CSV takes the end of the input for the end of a quoted value, and so everything after a quote that
//! is never closed for one value. This looks at the bytes on their way to it and changes none.

use std::io::{self, Read};

/// A reader that fails at its end where a quote is still open.
pub(super) struct Quotes<R> {
    reader: R,
    delimiter: u8,
    place: Place,
    /// The line of the next byte, from 1.
    line: u64,
}

/// Where in a CSV the next byte stands.
#[derive(Clone, Copy)]
enum Place {
    /// Where a value begins: only here a quote opens one.
    Start,
    /// In a value without quotes, or behind the quotes of one.
    Plain,
    /// In the quotes that this line opened.
    Quoted(u64),
    /// Behind a quote that closes them, unless a second one follows.
    Closing(u64),
}

/// The failure: a quote of this line is never closed.
#[derive(Debug, thiserror::Error)]
#[error("the quote is never closed")]
pub(super) struct NeverClosed {
    /// Where it is opened, from 1.
    pub(super) line: u64,
}

impl<R> Quotes<R> {
    pub(super) fn new(reader: R, delimiter: u8) -> Self {
        Self {
            reader,
            delimiter,
            place: Place::Start,
            line: 1,
        }
    }

    fn see(&mut self, byte: u8) {
        self.place = match (self.place, byte) {
            (Place::Quoted(line), b'"') => Place::Closing(line),
            (Place::Quoted(line), _) | (Place::Closing(line), b'"') => Place::Quoted(line),
            (Place::Start, b'"') => Place::Quoted(self.line),
            (_, b'\r' | b'\n') => Place::Start,
            (_, byte) if byte == self.delimiter => Place::Start,
            _ => Place::Plain,
        };
        self.line += u64::from(byte == b'\n');
    }
}

impl<R: Read> Read for Quotes<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.reader.read(buffer)?;
        for &byte in &buffer[..length] {
            self.see(byte);
        }
        match self.place {
            Place::Quoted(line) if length == 0 && !buffer.is_empty() => {
                Err(io::Error::new(io::ErrorKind::InvalidData, NeverClosed { line }))
            }
            _ => Ok(length),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open_line(text: &str) -> Option<u64> {
        let error = Quotes::new(text.as_bytes(), b',')
            .read_to_end(&mut Vec::new())
            .err()?;
        Some(error.get_ref()?.downcast_ref::<NeverClosed>()?.line)
    }

    #[test]
    fn only_a_quote_that_begins_a_value_and_is_never_closed_fails() {
        assert_eq!(open_line("id,name\n1,a\n2,\"b\n3,c\n"), Some(3));
        assert_eq!(open_line("id\n\"a \"\"b\"\"\n"), Some(2));
        for sound in [
            "",
            "id\n\"a\n\"\"b\"\",\"\n",
            "id\n5\" pipe,7\"\n",
            "\"a\",\"\"\r\n\"\"",
            "\"a\"b\"\n",
        ] {
            assert_eq!(open_line(sound), None, "{sound}");
        }
    }
}
