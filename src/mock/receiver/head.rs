//! The head of an HTTP/1.1 request, read strictly from bytes: anything ambiguous is refused, nothing is guessed.
//!
//! Pure: no socket. A head holds positions in the bytes it was read from, so that one `Head` serves a connection.

use std::ops::Range;

/// Why a request is not taken. The connection closes after the answer, since its framing can no longer be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    Malformed,
    HeadTooLarge,
    BodyTooLarge,
    UnknownEncoding,
    UnknownVersion,
}

impl Refusal {
    pub(super) fn status(self) -> u16 {
        match self {
            Self::Malformed => 400,
            Self::HeadTooLarge => 431,
            Self::BodyTooLarge => 413,
            Self::UnknownEncoding => 501,
            Self::UnknownVersion => 505,
        }
    }
}

/// How the body's end is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    Length(usize),
    Chunked,
}

/// What becomes of the connection after the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Persistence {
    KeepAlive,
    Close,
}

/// Whether the client waits for a `100 Continue` before it sends the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expectation {
    Continue,
    Nothing,
}

type Span = Range<usize>;

#[derive(Debug)]
pub(super) struct Head {
    pub(super) method: Span,
    pub(super) target: Span,
    pub(super) fields: Vec<(Span, Span)>,
    pub(super) framing: Framing,
    pub(super) persistence: Persistence,
    pub(super) expectation: Expectation,
    pub(super) length: usize,
}

/// Where the head ends, blank line included. `from` is how far an earlier call has looked without finding it.
pub(super) fn find_end(bytes: &[u8], from: usize) -> Option<usize> {
    // Looks at the fourth byte of each possible place: if it is neither CR nor LF, no end can be among these four.
    let mut at = from.saturating_sub(3);
    while let Some(last) = bytes.get(at + 3) {
        at += match last {
            b'\n' if &bytes[at..at + 4] == b"\r\n\r\n" => return Some(at + 4),
            b'\n' => 2,
            b'\r' => 1,
            _ => 4,
        };
    }
    None
}

impl Head {
    pub(super) fn empty() -> Self {
        Self {
            method: 0..0,
            target: 0..0,
            fields: Vec::new(),
            framing: Framing::Length(0),
            persistence: Persistence::KeepAlive,
            expectation: Expectation::Nothing,
            length: 0,
        }
    }

    /// Reads a whole head, from the request line to the blank line, in place of what was here before.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        self.fields.clear();
        self.length = bytes.len();
        let mut at = self.read_request_line(bytes)?;
        while !bytes[at..].starts_with(b"\r\n") {
            at = self.read_field(bytes, at)?;
        }
        self.read_meaning(bytes)
    }

    fn read_request_line(&mut self, bytes: &[u8]) -> Result<usize, Refusal> {
        let end = line_end(bytes, 0)?;
        let method = position(bytes, 0, end, b' ')?;
        let target = position(bytes, method + 1, end, b' ')?;
        let visible = |span: &[u8]| !span.is_empty() && span.iter().all(u8::is_ascii_graphic);
        if !bytes[..method].iter().all(u8::is_ascii_uppercase) || method == 0 {
            return Err(Refusal::Malformed);
        }
        if !visible(&bytes[method + 1..target]) {
            return Err(Refusal::Malformed);
        }
        self.persistence = match &bytes[target + 1..end] {
            b"HTTP/1.1" => Persistence::KeepAlive,
            b"HTTP/1.0" => Persistence::Close,
            version if version.starts_with(b"HTTP/") => return Err(Refusal::UnknownVersion),
            _ => return Err(Refusal::Malformed),
        };
        self.method = 0..method;
        self.target = method + 1..target;
        Ok(end + 2)
    }

    fn read_field(&mut self, bytes: &[u8], start: usize) -> Result<usize, Refusal> {
        let end = line_end(bytes, start)?;
        let colon = position(bytes, start, end, b':')?;
        // A blank in the name also refuses folded lines, which begin with one.
        if colon == start || !bytes[start..colon].iter().all(u8::is_ascii_graphic) {
            return Err(Refusal::Malformed);
        }
        let value = bytes[colon + 1..end].trim_ascii_start();
        let from = end - value.len();
        self.fields
            .push((start..colon, from..from + value.trim_ascii_end().len()));
        Ok(end + 2)
    }

    /// The fields that say where the body ends and what becomes of the connection.
    fn read_meaning(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        let mut length = None;
        let mut chunked = None;
        self.expectation = Expectation::Nothing;
        for (name, value) in &self.fields {
            let (name, value) = (&bytes[name.clone()], &bytes[value.clone()]);
            if name.eq_ignore_ascii_case(b"content-length") {
                let read = read_length(value)?;
                if length.is_some_and(|known| known != read) {
                    return Err(Refusal::Malformed);
                }
                length = Some(read);
            } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
                if chunked.is_some() || !value.eq_ignore_ascii_case(b"chunked") {
                    return Err(Refusal::UnknownEncoding);
                }
                chunked = Some(Framing::Chunked);
            } else if name.eq_ignore_ascii_case(b"connection") {
                if value
                    .split(|byte| *byte == b',')
                    .any(|word| word.trim_ascii().eq_ignore_ascii_case(b"close"))
                {
                    self.persistence = Persistence::Close;
                }
            } else if name.eq_ignore_ascii_case(b"expect") && value.eq_ignore_ascii_case(b"100-continue") {
                self.expectation = Expectation::Continue;
            }
        }
        self.framing = match (length, chunked) {
            (Some(_), Some(_)) => return Err(Refusal::Malformed),
            (Some(length), None) => Framing::Length(length),
            (None, Some(chunked)) => chunked,
            (None, None) => Framing::Length(0),
        };
        Ok(())
    }
}

fn position(bytes: &[u8], from: usize, to: usize, wanted: u8) -> Result<usize, Refusal> {
    let offset = bytes[from..to]
        .iter()
        .position(|byte| *byte == wanted)
        .ok_or(Refusal::Malformed)?;
    Ok(from + offset)
}

fn line_end(bytes: &[u8], from: usize) -> Result<usize, Refusal> {
    let end = bytes[from..]
        .iter()
        .position(|byte| matches!(byte, b'\r' | b'\n' | 0))
        .ok_or(Refusal::Malformed)?;
    if bytes[from + end..].starts_with(b"\r\n") {
        Ok(from + end)
    } else {
        Err(Refusal::Malformed)
    }
}

fn read_length(value: &[u8]) -> Result<usize, Refusal> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return Err(Refusal::Malformed);
    }
    // Digits that do not fit a `usize` are a length beyond any limit.
    let text = str::from_utf8(value).map_err(|_| Refusal::Malformed)?;
    text.parse().map_err(|_| Refusal::BodyTooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Head, Refusal> {
        let mut head = Head::empty();
        head.read(text.as_bytes()).map(|()| head)
    }

    #[test]
    fn a_head_is_read_into_its_parts() {
        let text = "POST /in?a=1 HTTP/1.1\r\nHost: x\r\nContent-Length:  12 \r\nExpect: 100-continue\r\n\r\n";
        let head = read(text).unwrap();
        assert_eq!(&text[head.method.clone()], "POST");
        assert_eq!(&text[head.target.clone()], "/in?a=1");
        assert_eq!(&text[head.fields[1].0.clone()], "Content-Length");
        assert_eq!(&text[head.fields[1].1.clone()], "12");
        assert_eq!(head.framing, Framing::Length(12));
        assert_eq!(head.persistence, Persistence::KeepAlive);
        assert_eq!(head.expectation, Expectation::Continue);
        assert_eq!(head.length, text.len());
    }

    #[test]
    fn the_connection_closes_when_the_client_says_so_or_speaks_1_0() {
        let persistence = |text| read(text).unwrap().persistence;
        assert_eq!(persistence("GET / HTTP/1.0\r\n\r\n"), Persistence::Close);
        assert_eq!(
            persistence("GET / HTTP/1.1\r\nConnection: te, Close\r\n\r\n"),
            Persistence::Close
        );
        assert_eq!(
            persistence("GET / HTTP/1.1\r\nConnection: keep-alive\r\n\r\n"),
            Persistence::KeepAlive
        );
    }

    #[test]
    fn an_ambiguous_head_is_refused() {
        for (text, refusal) in [
            ("GET /\r\n\r\n", Refusal::Malformed),
            ("get / HTTP/1.1\r\n\r\n", Refusal::Malformed),
            ("GET / HTTP/2.0\r\n\r\n", Refusal::UnknownVersion),
            ("GET / HTTP/1.1\r\nno colon\r\n\r\n", Refusal::Malformed),
            ("GET / HTTP/1.1\r\nblank : x\r\n\r\n", Refusal::Malformed),
            ("GET / HTTP/1.1\r\na: b\r\n folded: c\r\n\r\n", Refusal::Malformed),
            ("GET / HTTP/1.1\r\na: b\nc: d\r\n\r\n", Refusal::Malformed),
            ("GET / HTTP/1.1\r\na: \0\r\n\r\n", Refusal::Malformed),
            (
                "GET / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
                Refusal::Malformed,
            ),
            ("GET / HTTP/1.1\r\ncontent-length: +1\r\n\r\n", Refusal::Malformed),
            (
                "GET / HTTP/1.1\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
                Refusal::Malformed,
            ),
            (
                "GET / HTTP/1.1\r\ntransfer-encoding: gzip\r\n\r\n",
                Refusal::UnknownEncoding,
            ),
            (
                "GET / HTTP/1.1\r\ncontent-length: 99999999999999999999999\r\n\r\n",
                Refusal::BodyTooLarge,
            ),
        ] {
            assert_eq!(read(text).map(|_| ()), Err(refusal), "{text:?}");
        }
    }

    #[test]
    fn the_end_of_the_head_is_found_wherever_it_lies_and_however_the_bytes_arrive() {
        for padding in 0..9 {
            let text = format!("{}\r\nb: c\r\n\r\nrest\r\n\r\n", "a".repeat(padding));
            let end = padding + 10;
            assert_eq!(find_end(text.as_bytes(), 0), Some(end));
            for arrived in 0..text.len() {
                let early = find_end(&text.as_bytes()[..arrived], 0);
                assert_eq!(early, (arrived >= end).then_some(end));
                if early.is_none() {
                    assert_eq!(
                        find_end(text.as_bytes(), arrived),
                        Some(end),
                        "looked at {arrived} before"
                    );
                }
            }
        }
    }
}
