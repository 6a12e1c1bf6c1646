//! Acts faults out on the socket. Everything here ends when the client goes or the receiver stops (the connection's
//! task is dropped then), so nothing needs a limit of its own. Effects were decided before, in `reception`.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::fault::Fault;
use super::gzip;
use super::head::Persistence;
use super::reply::{self, Answer, Manner};
use super::shared::InFlight;

/// Bytes of filler written at a time.
const PIECE: usize = 16 * 1024;
/// Filler, outside the futures: each connection's task would carry it otherwise.
static FILLER: [u8; PIECE] = [b'a'; PIECE];

/// What becomes of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    KeepAlive,
    Close,
}

impl From<Persistence> for Then {
    fn from(persistence: Persistence) -> Self {
        match persistence {
            Persistence::KeepAlive => Self::KeepAlive,
            Persistence::Close => Self::Close,
        }
    }
}

/// Acts the fault out instead of answering as usual. `in_flight` ends with it, or before an answer that leaves at once.
pub(super) async fn act(
    stream: &mut TcpStream,
    fault: &Fault,
    answer: Option<Answer>,
    manner: Manner,
    in_flight: InFlight,
) -> io::Result<Then> {
    let Some(answer) = answer else {
        return match fault {
            Fault::Reset => reset(stream),
            _ => hang(stream).await,
        };
    };
    match fault {
        Fault::Fail { .. } | Fault::StoredFailure { .. } => {
            send(stream, answer, &[], manner, in_flight).await
        }
        Fault::Throttle { retry_after, .. } => {
            send(stream, answer, &[("retry-after", retry_after)], manner, in_flight).await
        }
        Fault::Redirect { location, .. } => {
            send(stream, answer, &[("location", location)], manner, in_flight).await
        }
        Fault::Hang | Fault::ProcessedThenHung => hang(stream).await,
        Fault::Reset | Fault::ProcessedThenReset => reset(stream),
        Fault::ProcessedThenDropped => Ok(Then::Close),
        Fault::Delay { time } => {
            sleep(*time).await;
            send(stream, answer, &[], manner, in_flight).await
        }
        Fault::CloseIdle { after } => {
            send(stream, answer, &[], manner, in_flight).await?;
            close_if_idle(stream, *after).await
        }
        Fault::SlowHead { gap } => trickle(stream, answer, manner, Slow::Head, *gap).await,
        Fault::SlowBody { gap } => trickle(stream, answer, manner, Slow::Body, *gap).await,
        Fault::HugeHead { bytes } => huge_head(stream, answer, manner, *bytes).await,
        Fault::HugeBody { bytes } => huge_body(stream, answer, manner, *bytes).await,
        Fault::EndlessBody => endless_body(stream, answer).await,
        Fault::Endless1xx => endless_1xx(stream).await,
        Fault::Truncated => truncated(stream, answer).await,
        Fault::InvalidUtf8 => odd_body(stream, answer, manner, b"{\"status\":\"\xff\xfe\xc3\x28\"}").await,
        Fault::NulBody => odd_body(stream, answer, manner, b"{\"status\":\"\0\0\"}").await,
        Fault::NonAsciiHeader => non_ascii_header(stream, answer, manner).await,
        Fault::GzipBomb { mebibytes } => gzip_bomb(stream, answer, manner, *mebibytes).await,
    }
}

async fn send(
    stream: &mut TcpStream,
    answer: Answer,
    headers: &[(&str, &str)],
    manner: Manner,
    in_flight: InFlight,
) -> io::Result<Then> {
    let mut answer = answer.reply();
    answer.headers.extend_from_slice(headers);
    let mut out = Vec::new();
    answer.write_to(&mut out, manner);
    // As in `connection`: it is over for the client with the first byte.
    drop(in_flight);
    stream.write_all(&out).await?;
    Ok(manner.persistence.into())
}

async fn hang(stream: &mut TcpStream) -> io::Result<Then> {
    let mut ignored = [0; 256];
    while stream.read(&mut ignored).await? > 0 {}
    Ok(Then::Close)
}

fn reset(stream: &TcpStream) -> io::Result<Then> {
    stream.set_zero_linger()?;
    Ok(Then::Close)
}

async fn close_if_idle(stream: &TcpStream, after: Duration) -> io::Result<Then> {
    if after.is_zero() {
        return Ok(Then::Close);
    }
    match timeout(after, stream.readable()).await {
        Ok(readable) => readable.map(|()| Then::KeepAlive),
        Err(_) => Ok(Then::Close),
    }
}

enum Slow {
    Head,
    Body,
}

async fn trickle(
    stream: &mut TcpStream,
    answer: Answer,
    manner: Manner,
    slow: Slow,
    gap: Duration,
) -> io::Result<Then> {
    let mut out = Vec::new();
    let answer = answer.reply();
    answer.write_to(&mut out, manner);
    let (head, body) = out.split_at(out.len() - answer.body.len());
    let (at_once, trickled, rest) = match slow {
        Slow::Head => (&[][..], head, body),
        Slow::Body => (head, body, &[][..]),
    };
    stream.write_all(at_once).await?;
    for byte in trickled {
        sleep(gap).await;
        stream.write_all(&[*byte]).await?;
    }
    stream.write_all(rest).await?;
    Ok(manner.persistence.into())
}

async fn huge_head(stream: &mut TcpStream, answer: Answer, manner: Manner, bytes: u64) -> io::Result<Then> {
    let mut line = Vec::new();
    reply::write_header(&mut line, "x-padding", &"a".repeat(1000));
    let mut out = Vec::new();
    reply::write_status(&mut out, answer.status);
    stream.write_all(&out).await?;
    for _ in 0..bytes.div_ceil(line.len() as u64) {
        stream.write_all(&line).await?;
    }
    out.clear();
    reply::write_header(&mut out, "content-length", "0");
    reply::end_head(&mut out, manner.persistence);
    stream.write_all(&out).await?;
    Ok(manner.persistence.into())
}

async fn huge_body(stream: &mut TcpStream, answer: Answer, manner: Manner, bytes: u64) -> io::Result<Then> {
    stream
        .write_all(&head(
            answer,
            &[("content-length", &bytes.to_string())],
            manner.persistence,
        ))
        .await?;
    let mut left = bytes;
    while left > 0 {
        let part = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
        stream.write_all(&FILLER[..part]).await?;
        left -= part as u64;
    }
    Ok(manner.persistence.into())
}

async fn endless_body(stream: &mut TcpStream, answer: Answer) -> io::Result<Then> {
    let chunked = [("transfer-encoding", "chunked")];
    stream
        .write_all(&head(answer, &chunked, Persistence::KeepAlive))
        .await?;
    let chunk = [format!("{PIECE:x}\r\n").as_bytes(), &FILLER, b"\r\n"].concat();
    loop {
        stream.write_all(&chunk).await?;
    }
}

async fn endless_1xx(stream: &mut TcpStream) -> io::Result<Then> {
    let hints = b"HTTP/1.1 103 Early Hints\r\nlink: </style.css>\r\n\r\n".repeat(64);
    loop {
        stream.write_all(&hints).await?;
    }
}

async fn truncated(stream: &mut TcpStream, answer: Answer) -> io::Result<Then> {
    let body = answer.reply().body;
    let promised = (body.len() + 1000).to_string();
    let mut out = head(answer, &[("content-length", &promised)], Persistence::KeepAlive);
    out.extend_from_slice(&body);
    stream.write_all(&out).await?;
    Ok(Then::Close)
}

async fn odd_body(stream: &mut TcpStream, answer: Answer, manner: Manner, body: &[u8]) -> io::Result<Then> {
    let mut out = head(
        answer,
        &[("content-length", &body.len().to_string())],
        manner.persistence,
    );
    out.extend_from_slice(body);
    stream.write_all(&out).await?;
    Ok(manner.persistence.into())
}

async fn non_ascii_header(stream: &mut TcpStream, answer: Answer, manner: Manner) -> io::Result<Then> {
    let mut out = Vec::new();
    reply::write_status(&mut out, answer.status);
    out.extend_from_slice(b"x-note: caf\xc3\xa9\r\nx-raw: \xff\xfe\r\n");
    reply::write_header(&mut out, "content-length", "0");
    reply::end_head(&mut out, manner.persistence);
    stream.write_all(&out).await?;
    Ok(manner.persistence.into())
}

async fn gzip_bomb(
    stream: &mut TcpStream,
    answer: Answer,
    manner: Manner,
    mebibytes: u32,
) -> io::Result<Then> {
    let member = gzip::mebibyte_of_zeros();
    let length = (member.len() as u64 * u64::from(mebibytes)).to_string();
    let headers = [("content-encoding", "gzip"), ("content-length", length.as_str())];
    stream
        .write_all(&head(answer, &headers, manner.persistence))
        .await?;
    for _ in 0..mebibytes {
        stream.write_all(&member).await?;
    }
    Ok(manner.persistence.into())
}

fn head(answer: Answer, headers: &[(&str, &str)], persistence: Persistence) -> Vec<u8> {
    let mut out = Vec::new();
    reply::write_status(&mut out, answer.status);
    reply::write_header(&mut out, "content-type", "application/json");
    for (name, value) in headers {
        reply::write_header(&mut out, name, value);
    }
    reply::end_head(&mut out, persistence);
    out
}
