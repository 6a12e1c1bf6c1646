//! Reads one connection's requests: buffers, limits, keep-alive, pipelining. It decides nothing about answers.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

use super::chunks::Chunks;
use super::head::{self, Expectation, Framing, Head, Persistence, Refusal};

/// Bytes asked of the socket at a time.
const READ_SIZE: usize = 16 * 1024;
/// A buffer that a large request has grown beyond this is given back afterwards.
const KEPT_CAPACITY: usize = 256 * 1024;

/// What a request may have at most; beyond it, it is refused and the connection closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestLimits {
    /// Bytes of request line and headers; beyond it 431.
    pub head: usize,
    /// Bytes of body; beyond it 413.
    pub body: usize,
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self {
            head: 64 * 1024,
            body: 16 * 1024 * 1024,
        }
    }
}

/// One whole request, borrowed from the reader's buffers.
#[derive(Debug)]
pub(super) struct Request<'a> {
    pub(super) method: &'a [u8],
    pub(super) target: &'a [u8],
    pub(super) body: &'a [u8],
    pub(super) persistence: Persistence,
    fields: &'a [(std::ops::Range<usize>, std::ops::Range<usize>)],
    bytes: &'a [u8],
}

/// How far the next request has come.
#[derive(Debug)]
pub(super) enum Progress<'a> {
    /// It is whole.
    Whole(Request<'a>),
    /// More must be read first.
    Incomplete,
    /// The client waits for a `100 Continue` before it sends the body.
    AwaitsContinue,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Head,
    Body,
    Whole,
}

#[derive(Debug)]
pub(super) struct Reader {
    limits: RequestLimits,
    inbox: Vec<u8>,
    /// Where in the inbox the current request begins.
    start: usize,
    /// How many of its bytes have been searched for the end of the head.
    searched: usize,
    stage: Stage,
    head: Head,
    chunks: Chunks,
    chunked_body: Vec<u8>,
}

impl Reader {
    pub(super) fn new(limits: RequestLimits) -> Self {
        Self {
            limits,
            inbox: Vec::new(),
            start: 0,
            searched: 0,
            stage: Stage::Head,
            head: Head::empty(),
            chunks: Chunks::new(),
            chunked_body: Vec::new(),
        }
    }

    /// The next request, if it has arrived as a whole. The one returned before is given up.
    pub(super) fn next(&mut self) -> Result<Progress<'_>, Refusal> {
        if self.stage == Stage::Whole {
            self.give_up_request();
        }
        if self.stage == Stage::Head && self.read_head()?.is_none() {
            return Ok(Progress::Incomplete);
        }
        let arrived = &self.inbox[self.start..];
        let whole = match self.head.framing {
            Framing::Length(length) => (arrived.len() >= self.head.length + length).then_some(()),
            Framing::Chunked => {
                let body = &arrived[self.head.length..];
                self.chunks.read(body, &mut self.chunked_body, self.limits.body)?
            }
        };
        if whole.is_some() {
            self.stage = Stage::Whole;
            return Ok(Progress::Whole(self.request()));
        }
        match std::mem::replace(&mut self.head.expectation, Expectation::Nothing) {
            Expectation::Continue if arrived.len() == self.head.length => Ok(Progress::AwaitsContinue),
            _ => Ok(Progress::Incomplete),
        }
    }

    /// Waits for more bytes; zero of them when the client has closed its side.
    pub(super) async fn fill(&mut self, stream: &mut (impl AsyncRead + Unpin)) -> io::Result<usize> {
        if self.start == self.inbox.len() {
            self.inbox.clear();
            self.inbox.shrink_to(KEPT_CAPACITY);
            self.start = 0;
        } else if self.inbox.capacity() - self.inbox.len() < READ_SIZE && self.start > 0 {
            self.inbox.drain(..self.start);
            self.start = 0;
        }
        self.inbox.reserve(READ_SIZE);
        stream.read_buf(&mut self.inbox).await
    }

    fn read_head(&mut self) -> Result<Option<()>, Refusal> {
        // Blank lines between requests are harmless, and some old clients send them.
        while self.inbox[self.start..].starts_with(b"\r\n") {
            self.start += 2;
        }
        let arrived = &self.inbox[self.start..];
        let Some(end) = head::find_end(arrived, self.searched) else {
            self.searched = arrived.len();
            return if arrived.len() > self.limits.head {
                Err(Refusal::HeadTooLarge)
            } else {
                Ok(None)
            };
        };
        if end > self.limits.head {
            return Err(Refusal::HeadTooLarge);
        }
        self.head.read(&arrived[..end])?;
        if matches!(self.head.framing, Framing::Length(length) if length > self.limits.body) {
            return Err(Refusal::BodyTooLarge);
        }
        self.stage = Stage::Body;
        Ok(Some(()))
    }

    fn request(&self) -> Request<'_> {
        let bytes = &self.inbox[self.start..];
        let body = match self.head.framing {
            Framing::Length(length) => &bytes[self.head.length..self.head.length + length],
            Framing::Chunked => &self.chunked_body,
        };
        Request {
            method: &bytes[self.head.method.clone()],
            target: &bytes[self.head.target.clone()],
            body,
            persistence: self.head.persistence,
            fields: &self.head.fields,
            bytes,
        }
    }

    fn give_up_request(&mut self) {
        self.start += self.head.length;
        self.start += match self.head.framing {
            Framing::Length(length) => length,
            Framing::Chunked => self.chunks.consumed(),
        };
        self.searched = 0;
        self.stage = Stage::Head;
        self.chunks = Chunks::new();
        self.chunked_body.clear();
        self.chunked_body.shrink_to(KEPT_CAPACITY);
    }
}

impl<'a> Request<'a> {
    /// The first header of this name, compared without regard to case.
    pub(super) fn header(&self, name: &str) -> Option<&'a [u8]> {
        self.headers()
            .find(|(known, _)| known.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, value)| value)
    }

    pub(super) fn headers(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        let bytes = self.bytes;
        self.fields
            .iter()
            .map(|(name, value)| (&bytes[name.clone()], &bytes[value.clone()]))
    }

    /// Path and query, apart. The head's reader has made sure that both are ASCII.
    pub(super) fn path_and_query(&self) -> (&'a str, &'a str) {
        let target = str::from_utf8(self.target).unwrap_or_default();
        target.split_once('?').unwrap_or((target, ""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds `wire` in pieces of `size` bytes and notes each request as "method target body".
    async fn requests(wire: &[u8], size: usize) -> Vec<String> {
        let mut reader = Reader::new(RequestLimits { head: 128, body: 16 });
        let mut seen = Vec::new();
        for mut piece in wire.chunks(size) {
            while !piece.is_empty() {
                reader.fill(&mut piece).await.unwrap();
            }
            loop {
                match reader.next() {
                    Ok(Progress::Whole(request)) => seen.push(format!(
                        "{} {} {}",
                        String::from_utf8_lossy(request.method),
                        request.path_and_query().0,
                        String::from_utf8_lossy(request.body)
                    )),
                    Ok(Progress::AwaitsContinue) => seen.push("continue".into()),
                    Ok(Progress::Incomplete) => break,
                    Err(refusal) => {
                        seen.push(format!("{refusal:?}"));
                        return seen;
                    }
                }
            }
        }
        seen
    }

    #[tokio::test]
    async fn requests_are_the_same_however_their_bytes_arrive() {
        let wire = b"POST /a?q HTTP/1.1\r\ncontent-length: 3\r\n\r\nabc\r\nGET /b HTTP/1.1\r\n\r\n\
            POST /c HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n2\r\nxy\r\n0\r\n\r\nGET /d HTTP/1.1\r\n\r\n";
        for size in 1..=wire.len() {
            let seen = requests(wire, size).await;
            assert_eq!(
                seen,
                ["POST /a abc", "GET /b ", "POST /c xy", "GET /d "],
                "in pieces of {size}"
            );
        }
    }

    #[tokio::test]
    async fn a_client_that_waits_for_continue_is_seen_once() {
        let head = b"POST / HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 3\r\n\r\n";
        assert_eq!(requests(head, head.len()).await, ["continue"]);
        let whole = [head.as_slice(), b"abc"].concat();
        assert_eq!(requests(&whole, whole.len()).await, ["POST / abc"]);
        assert_eq!(requests(&whole, head.len()).await, ["continue", "POST / abc"]);
    }

    #[tokio::test]
    async fn a_request_beyond_the_limits_is_refused_before_it_is_read() {
        let long = format!("GET /{} HTTP/1.1\r\n", "a".repeat(200));
        assert_eq!(requests(long.as_bytes(), 1000).await, ["HeadTooLarge"]);
        let whole = format!("{long}\r\n");
        assert_eq!(requests(whole.as_bytes(), 1000).await, ["HeadTooLarge"]);
        assert_eq!(
            requests(b"PUT / HTTP/1.1\r\ncontent-length: 17\r\n\r\n", 1000).await,
            ["BodyTooLarge"]
        );
        let chunked = b"PUT / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n11\r\n";
        assert_eq!(requests(chunked, 1000).await, ["BodyTooLarge"]);
    }
}
