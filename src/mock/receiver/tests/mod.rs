//! Drives the receiver with bare TCP clients, so that what a test sees is what is on the wire.

mod control;
mod exchange;
mod faults;
mod lifecycle;

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Receiver, ReceiverOptions, Rule};

/// A receiver that follows these rules.
async fn receiver_with(script: impl IntoIterator<Item = Rule>) -> Receiver {
    let script = script.into_iter().collect();
    Receiver::start(ReceiverOptions {
        script,
        ..ReceiverOptions::default()
    })
    .await
    .unwrap()
}

/// A request with this key and body, as the relay would send it.
fn post(key: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST /hook?x=1 HTTP/1.1\r\nHost: test\r\nIdempotency-Key: {key}\r\nAftercommit-Topic: orders\r\n\
         Aftercommit-Row-Key: row-{key}\r\nAftercommit-Row-Version: 7\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

struct Client {
    stream: TcpStream,
    inbox: Vec<u8>,
}

#[derive(Debug, PartialEq, Eq)]
struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Client {
    async fn connect(receiver: &Receiver) -> Self {
        Self {
            stream: TcpStream::connect(receiver.address()).await.unwrap(),
            inbox: Vec::new(),
        }
    }

    async fn send(&mut self, request: &str) {
        self.stream.write_all(request.as_bytes()).await.unwrap();
    }

    /// Sends a request and waits for its answer.
    async fn ask(&mut self, request: &str) -> Answer {
        self.send(request).await;
        self.answer().await
    }

    /// Reads one answer, whose body has a length.
    async fn answer(&mut self) -> Answer {
        let (status, head) = self.head().await;
        let length = header(&head, "content-length").map_or(0, |length| length.parse().unwrap());
        self.fill_to(length).await;
        Answer {
            status,
            head,
            body: self.inbox.drain(..length).collect(),
        }
    }

    /// Reads one head; the status and the text.
    async fn head(&mut self) -> (u16, String) {
        loop {
            if let Some(end) = self.inbox.windows(4).position(|window| window == b"\r\n\r\n") {
                let head: Vec<u8> = self.inbox.drain(..end + 4).collect();
                let head = String::from_utf8_lossy(&head).into_owned();
                return (head.split(' ').nth(1).unwrap().parse().unwrap(), head);
            }
            let length = self.inbox.len();
            self.fill_to(length + 1).await;
        }
    }

    /// Reads until the connection ends; an error if it is reset.
    async fn rest(&mut self) -> io::Result<Vec<u8>> {
        self.stream.read_to_end(&mut self.inbox).await?;
        Ok(std::mem::take(&mut self.inbox))
    }

    /// Reads until so many bytes are there.
    async fn fill_to(&mut self, length: usize) {
        while self.inbox.len() < length {
            assert!(
                self.stream.read_buf(&mut self.inbox).await.unwrap() > 0,
                "the connection ended too early"
            );
        }
    }
}

impl Answer {
    fn is_from_memory(&self) -> bool {
        header(&self.head, "idempotent-replayed") == Some("true")
    }

    fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines()
        .filter_map(|line| line.split_once(": "))
        .find(|(known, _)| *known == name)
        .map(|(_, value)| value)
}
