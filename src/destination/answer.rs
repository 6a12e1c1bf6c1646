//! What came back: status, headers, and as much of the body as is wanted.
//!
//! The status decides what an attempt met. So a body that breaks off, never ends or is too large takes nothing back;
//! it is read within its cap and the deadline, and what was wrong with it is noted. Bodies are bytes; what of one is kept
//! or told goes through the answer's `secrets` first, since receivers repeat what they were sent.

use reqwest::header::HeaderMap;

use super::failure::cause;
use super::secrets::{KnownSecrets, Sent};
use crate::core::secrets::{BEYOND_THE_CUT, Excerpt, Secrets};

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
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The headers; their values are bytes of any kind.
    pub headers: HeaderMap,
    /// The start of the body; none if it was empty.
    pub excerpt: Option<Excerpt>,
    /// The body itself, as far as [`BodyCaps::parse`] wants it: as it came, secrets included.
    pub body: Vec<u8>,
    /// What it may repeat and nobody may read; none if it says nothing.
    pub secrets: Secrets,
    /// A sentence on what was wrong with the body, if anything was.
    pub trouble: Option<String>,
}

impl Answer {
    /// Reads the body of `response` within `caps`, which may repeat what is `known` and was `sent`. Returns by the deadline
    /// that the request was sent with.
    pub(super) async fn read(
        mut response: reqwest::Response,
        caps: BodyCaps,
        known: &KnownSecrets,
        sent: &Sent,
    ) -> Self {
        let status = response.status().as_u16();
        let headers = std::mem::take(response.headers_mut());
        let mut kept = Vec::new();
        let trouble = read_body(response, caps, &mut kept).await;
        let secrets = if kept.is_empty() {
            Secrets::none()
        } else {
            known.and(sent)
        };
        let excerpt = (!kept.is_empty()).then(|| secrets.excerpt(&kept, caps.keep));
        kept.truncate(caps.parse);
        Self {
            status,
            headers,
            excerpt,
            body: kept,
            secrets,
            trouble,
        }
    }
}

/// Fills `kept` and says what went wrong. Owns the response: returning before its end drops the connection.
async fn read_body(mut response: reqwest::Response, caps: BodyCaps, kept: &mut Vec<u8>) -> Option<String> {
    let mut room = caps.read;
    let wanted = caps.keep.saturating_add(BEYOND_THE_CUT).max(caps.parse);
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
