//! A text, taken step by step out of what it was encoded by, that knows where each of its bytes came from. Pure.
//!
//! One step takes away one level of every encoding at once: `%41`, `+` for a blank, `\"` and `\u0041`, `&amp;` and `&#65;`. It
//! serves to find things only, so it may take for an escape what is none: the text as it was is looked through too.

use std::borrow::Cow;
use std::ops::Range;

/// No entity of HTML that is read is longer, `&` and `;` included.
const MOST_ENTITY_BYTES: usize = 10;

/// A text at some depth.
pub(super) struct Layer<'a> {
    bytes: Cow<'a, [u8]>,
    /// Where in the first text each byte begins, and where the last one ends. None: this is the first text.
    starts: Option<Vec<usize>>,
}

/// An escape: what it stands for, and how long it is.
struct Escape {
    stands_for: Meant,
    length: usize,
}

/// What an escape stands for.
enum Meant {
    /// A byte, which may be a part of a character.
    Byte(u8),
    Character(char),
}

impl<'a> Layer<'a> {
    pub(super) fn of(text: &'a [u8]) -> Self {
        Self {
            bytes: Cow::Borrowed(text),
            starts: None,
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where in the first text these bytes came from.
    pub(super) fn source(&self, range: &Range<usize>) -> Range<usize> {
        self.start(range.start)..self.start(range.end)
    }

    /// One level further; none if there is nothing to take away.
    pub(super) fn decoded(&self) -> Option<Self> {
        let text = &*self.bytes;
        if !text.iter().any(|byte| matches!(byte, b'%' | b'\\' | b'&' | b'+')) {
            return None;
        }
        let mut bytes = Vec::with_capacity(text.len());
        let mut starts = Vec::with_capacity(text.len() + 1);
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            let before = bytes.len();
            let length = match escape(rest) {
                Some(Escape { stands_for, length }) => {
                    match stands_for {
                        Meant::Byte(byte) => bytes.push(byte),
                        Meant::Character(it) => {
                            bytes.extend_from_slice(it.encode_utf8(&mut [0; 4]).as_bytes());
                        }
                    }
                    length
                }
                // An escape that the end of the text has cut.
                None if is_begun(rest) => rest.len(),
                None => {
                    bytes.push(rest[0]);
                    1
                }
            };
            starts.extend(std::iter::repeat_n(self.start(at), bytes.len() - before));
            at += length;
        }
        starts.push(self.start(text.len()));
        if *bytes == *text {
            return None;
        }
        Some(Self {
            bytes: Cow::Owned(bytes),
            starts: Some(starts),
        })
    }

    fn start(&self, at: usize) -> usize {
        self.starts.as_ref().map_or(at, |starts| starts[at])
    }
}

fn escape(rest: &[u8]) -> Option<Escape> {
    let (stands_for, length) = match rest {
        [b'+', ..] => (Meant::Byte(b' '), 1),
        [b'%', digits @ ..] => {
            let byte = u8::try_from(hex(digits.get(..2)?)?).ok()?;
            (Meant::Byte(byte), 3)
        }
        [b'\\', b'u', digits @ ..] => {
            let character = char::from_u32(hex(digits.get(..4)?)?)?;
            (Meant::Character(character), 6)
        }
        [b'\\', letter, ..] if letter.is_ascii() => (Meant::Byte(escaped(*letter)), 2),
        [b'&', ..] => return entity(rest),
        _ => return None,
    };
    Some(Escape { stands_for, length })
}

/// What stands behind a backslash.
fn escaped(letter: u8) -> u8 {
    match letter {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 0x08,
        b'f' => 0x0c,
        other => other,
    }
}

fn entity(rest: &[u8]) -> Option<Escape> {
    let end = rest
        .iter()
        .take(MOST_ENTITY_BYTES)
        .position(|byte| *byte == b';')?;
    let character = match &rest[1..end] {
        b"amp" => '&',
        b"lt" => '<',
        b"gt" => '>',
        b"quot" => '"',
        b"apos" => '\'',
        [b'#', b'x' | b'X', digits @ ..] => char::from_u32(hex(digits)?)?,
        [b'#', digits @ ..] => char::from_u32(std::str::from_utf8(digits).ok()?.parse().ok()?)?,
        _ => return None,
    };
    Some(Escape {
        stands_for: Meant::Character(character),
        length: end + 1,
    })
}

fn hex(digits: &[u8]) -> Option<u32> {
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Whether this could have become an escape, had the text gone on.
fn is_begun(rest: &[u8]) -> bool {
    match rest {
        [b'%', digits @ ..] => digits.len() < 2 && digits.iter().all(u8::is_ascii_hexdigit),
        [b'\\'] => true,
        [b'\\', b'u', digits @ ..] => digits.len() < 4 && digits.iter().all(u8::is_ascii_hexdigit),
        [b'&', name @ ..] => {
            name.len() < MOST_ENTITY_BYTES
                && name
                    .iter()
                    .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'#')
        }
        _ => false,
    }
}
