//! What came back: status, headers, and as much of the body as is wanted.
//!
//! The status decides what an attempt met. So a body that breaks off, never ends or is too large takes nothing back;
//! it is read within its cap and the deadline, and what was wrong with it is noted. Bodies are bytes and are shown as
//! text only.

use reqwest::header::HeaderMap;

use super::failure::cause;

/// How much of a body is read and kept.
#[derive(Debug, Clone, Copy)]
pub struct BodyCaps {
    /// Bytes that are read at most; the connection is dropped beyond.
    pub read: usize,
    /// Bytes that are kept at most.
    pub keep: usize,
    /// Bytes that are handed on for a destination to read at most; 0 where the status alone decides.
    pub parse: usize,
}

/// An answer whose status line and headers arrived whole.
#[derive(Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The headers; their values are bytes of any kind.
    pub headers: HeaderMap,
    /// The start of the body as text, see [`printable`]; none if it was empty.
    pub excerpt: Option<String>,
    /// The body itself, as far as [`BodyCaps::parse`] wants it.
    pub body: Vec<u8>,
    /// A sentence on what was wrong with the body, if anything was.
    pub trouble: Option<String>,
}

impl Answer {
    /// Reads the body of `response` within `caps`. Returns by the deadline that the request was sent with.
    pub(super) async fn read(mut response: reqwest::Response, caps: BodyCaps) -> Self {
        let status = response.status().as_u16();
        let headers = std::mem::take(response.headers_mut());
        let mut kept = Vec::new();
        let trouble = read_body(response, caps, &mut kept).await;
        // Four bytes more than are shown, so that the cut falls behind a character and not into it.
        let shown = &kept[..kept.len().min(caps.keep.saturating_add(4))];
        let excerpt = (!shown.is_empty()).then(|| printable(shown, caps.keep));
        kept.truncate(caps.parse);
        Self {
            status,
            headers,
            excerpt,
            body: kept,
            trouble,
        }
    }
}

/// Fills `kept` and says what went wrong. Owns the response: returning before its end drops the connection.
async fn read_body(mut response: reqwest::Response, caps: BodyCaps, kept: &mut Vec<u8>) -> Option<String> {
    let mut room = caps.read;
    let wanted = caps.keep.saturating_add(4).max(caps.parse);
    loop {
        let chunk = match response.chunk().await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => return None,
            Err(error) if error.is_timeout() => {
                return Some("the response body had not ended at the deadline".to_owned());
            }
            Err(error) => return Some(format!("the response body broke off: {}", cause(&error))),
        };
        let part = chunk.len().min(room).min(wanted.saturating_sub(kept.len()));
        kept.extend_from_slice(&chunk[..part]);
        match room.checked_sub(chunk.len()) {
            Some(left) => room = left,
            None => return Some(format!("the response body went on beyond {} bytes", caps.read)),
        }
    }
}

/// `bytes` as text of at most `max_bytes` bytes, cut between characters. What is no UTF-8, and control characters but
/// for line breaks and tabs, become U+FFFD: a database may take no NUL, and terminals obey the others.
pub fn printable(bytes: &[u8], max_bytes: usize) -> String {
    let shown = |character: char| match character {
        '\n' | '\r' | '\t' => character,
        control if control.is_control() => char::REPLACEMENT_CHARACTER,
        other => other,
    };
    let mut text: String = String::from_utf8_lossy(bytes).chars().map(shown).collect();
    text.truncate(text.floor_char_boundary(max_bytes));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_between_characters() {
        assert_eq!(printable("äöü".as_bytes(), 6), "äöü");
        assert_eq!(printable("äöü".as_bytes(), 5), "äö");
        assert_eq!(printable("a😀".as_bytes(), 4), "a");
        assert_eq!(printable(b"abc", 0), "");
    }

    #[test]
    fn what_a_database_or_a_terminal_would_stumble_over_is_replaced() {
        assert_eq!(
            printable(b"a\0b\xffc\x1b[2Jd\n\te", 100),
            "a\u{fffd}b\u{fffd}c\u{fffd}[2Jd\n\te"
        );
    }

    #[test]
    fn replacements_do_not_grow_it_beyond_its_cap() {
        assert_eq!(printable(&[0xff; 100], 10), "\u{fffd}".repeat(3));
    }
}
