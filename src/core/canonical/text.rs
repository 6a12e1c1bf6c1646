//! Strings: escapes are undone, and only what JSON demands is escaped again.
//!
//! Nothing is normalised: two spellings of "é" in Unicode are two texts, and so two rows.

use std::borrow::Cow;

use super::NotCanonical;

/// A JSON string as the payload spells it. The reader has checked its escapes for form.
#[derive(Debug, Clone, Copy)]
pub(super) struct RawText<'a> {
    /// Where its opening quote stands in the payload.
    pub at: usize,
    /// What stands between the quotes.
    pub raw: &'a str,
}

/// The text that a JSON string means. Borrowed from the payload if it was spelled without an escape. Ordered by its
/// UTF-8 bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Text<'a>(Cow<'a, str>);

impl<'a> RawText<'a> {
    /// The text that is meant, unless UTF-8 or the database cannot hold it.
    pub(super) fn unescape(&self) -> Result<Text<'a>, NotCanonical> {
        let Some(mut backslash) = self.raw.find('\\') else {
            return Ok(Text(Cow::Borrowed(self.raw)));
        };
        let mut text = String::with_capacity(self.raw.len());
        let mut rest = self.raw;
        loop {
            text.push_str(&rest[..backslash]);
            let (meant, length) = self.unescape_first(&rest[backslash..])?;
            text.push(meant);
            rest = &rest[backslash + length..];
            match rest.find('\\') {
                Some(next) => backslash = next,
                None => break,
            }
        }
        text.push_str(rest);
        Ok(Text(Cow::Owned(text)))
    }

    /// The character that the escape at the start of `rest` means, and the bytes that the escape takes.
    fn unescape_first(&self, rest: &str) -> Result<(char, usize), NotCanonical> {
        let meant = match rest.as_bytes()[1] {
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unescape_utf16(rest),
            itself => char::from(itself),
        };
        Ok((meant, 2))
    }

    /// The same for `\u`, which counts in UTF-16: two escapes in a row can be one character.
    fn unescape_utf16(&self, rest: &str) -> Result<(char, usize), NotCanonical> {
        let units = [Some(rest), rest.get(6..)]
            .into_iter()
            .map_while(|escape| code_unit(escape?));
        match char::decode_utf16(units).next() {
            Some(Ok('\0')) => Err(NotCanonical::Nul { at: self.at }),
            Some(Ok(meant)) => Ok((meant, 6 * meant.len_utf16())),
            Some(Err(_)) | None => Err(NotCanonical::LoneSurrogate { at: self.at }),
        }
    }
}

impl Text<'_> {
    /// Writes the text as a canonical JSON string.
    pub(super) fn write(&self, out: &mut String) {
        out.push('"');
        match &self.0 {
            // What came without an escape needs none: the reader refuses raw quotes and control characters.
            Cow::Borrowed(text) => out.push_str(text),
            Cow::Owned(text) => text.chars().for_each(|meant| write_char(meant, out)),
        }
        out.push('"');
    }
}

/// The UTF-16 code unit of the `\uXXXX` at the start of `escape`; none if something else stands there.
fn code_unit(escape: &str) -> Option<u16> {
    u16::from_str_radix(escape.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

fn write_char(meant: char, out: &mut String) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    match meant {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{0}'..='\u{1f}' => {
            out.push_str(if meant < '\u{10}' { "\\u000" } else { "\\u001" });
            out.push(char::from(HEX[meant as usize % 16]));
        }
        _ => out.push(meant),
    }
}
