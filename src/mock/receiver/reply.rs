//! Writes well-formed HTTP/1.1 answers into a buffer. Those that are not well-formed are `misbehave`'s.

use std::borrow::Cow;
use std::io::Write;

use super::head::Persistence;
use super::journal::Effect;
use super::reader::Request;

/// The answer to most requests, ready to be sent.
const ACCEPTED: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 21\r\n\r\n\
    {\"status\":\"accepted\"}";

/// What the receiver answers to a webhook request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) effect: Effect,
}

/// What the request asks of the form of its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Manner {
    pub(super) persistence: Persistence,
    pub(super) body: BodyPart,
}

/// Whether the body is sent; an answer to HEAD has only the headers that speak of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyPart {
    Sent,
    Omitted,
}

#[derive(Debug)]
pub(super) struct Reply<'a> {
    pub(super) status: u16,
    pub(super) content_type: &'static str,
    pub(super) headers: Vec<(&'a str, &'a str)>,
    pub(super) body: Cow<'a, [u8]>,
}

impl Manner {
    pub(super) fn of(request: &Request<'_>) -> Self {
        let body = if request.method == b"HEAD" {
            BodyPart::Omitted
        } else {
            BodyPart::Sent
        };
        Self {
            persistence: request.persistence,
            body,
        }
    }

    /// How something is answered after which the connection closes.
    pub(super) fn last() -> Self {
        Self {
            persistence: Persistence::Close,
            body: BodyPart::Sent,
        }
    }
}

impl Answer {
    pub(super) fn write_to(self, out: &mut Vec<u8>, manner: Manner) {
        let usual = Manner {
            persistence: Persistence::KeepAlive,
            body: BodyPart::Sent,
        };
        if self
            == (Self {
                status: 200,
                effect: Effect::First,
            })
            && manner == usual
        {
            out.extend_from_slice(ACCEPTED);
        } else {
            self.reply().write_to(out, manner);
        }
    }

    pub(super) fn reply(self) -> Reply<'static> {
        let body = match self.status {
            200 => Cow::Borrowed(br#"{"status":"accepted"}"#.as_slice()),
            409 => Cow::Borrowed(br#"{"error":"a request with this key is being worked on"}"#.as_slice()),
            422 => Cow::Borrowed(br#"{"error":"this key was used with another body"}"#.as_slice()),
            status => Cow::Owned(format!(r#"{{"error":"{}"}}"#, reason(status)).into_bytes()),
        };
        let headers = match self.effect {
            Effect::Remembered => vec![("idempotent-replayed", "true")],
            Effect::First | Effect::None => Vec::new(),
        };
        Reply {
            status: self.status,
            content_type: "application/json",
            headers,
            body,
        }
    }
}

impl Reply<'_> {
    pub(super) fn write_to(&self, out: &mut Vec<u8>, manner: Manner) {
        write_status(out, self.status);
        if self.status != 204 {
            write_header(out, "content-type", self.content_type);
            write_header(out, "content-length", &self.body.len().to_string());
        }
        for (name, value) in &self.headers {
            write_header(out, name, value);
        }
        end_head(out, manner.persistence);
        if manner.body == BodyPart::Sent {
            out.extend_from_slice(&self.body);
        }
    }
}

pub(super) fn write_status(out: &mut Vec<u8>, status: u16) {
    // Writing to a vector cannot fail.
    let _ = write!(out, "HTTP/1.1 {status} {}\r\n", reason(status));
}

pub(super) fn write_header(out: &mut Vec<u8>, name: &str, value: &str) {
    for part in [name, ": ", value, "\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
}

pub(super) fn end_head(out: &mut Vec<u8>, persistence: Persistence) {
    if persistence == Persistence::Close {
        write_header(out, "connection", "close");
    }
    out.extend_from_slice(b"\r\n");
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        410 => "Gone",
        413 => "Content Too Large",
        422 => "Unprocessable Content",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => "Scripted",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_that_is_kept_ready_is_the_one_that_would_be_written() {
        let manner = Manner {
            persistence: Persistence::KeepAlive,
            body: BodyPart::Sent,
        };
        let mut out = Vec::new();
        Answer {
            status: 200,
            effect: Effect::First,
        }
        .reply()
        .write_to(&mut out, manner);
        assert_eq!(out, ACCEPTED);
    }
}
