//! A raw listener: it reads requests, and a script says what it answers, byte for byte.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

pub(super) struct Listener {
    pub(super) address: SocketAddr,
    seen: Receiver<Seen>,
}

/// A request as it came over the wire.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) head: String,
    pub(super) body: Vec<u8>,
}

pub(super) struct Connection {
    stream: TcpStream,
    seen: Sender<Seen>,
}

impl Listener {
    /// Runs `script` for each connection, on a thread of its own.
    pub(super) fn run(script: impl Fn(&mut Connection) + Send + Clone + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, seen) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut connection = Connection {
                    stream: stream.unwrap(),
                    seen: sender.clone(),
                };
                let script = script.clone();
                std::thread::spawn(move || script(&mut connection));
            }
        });
        Self { address, seen }
    }

    /// Answers every request with `answer`, on connections that stay open.
    pub(super) fn answering(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::run(move |connection| {
            while connection.read_request() {
                connection.write(&answer);
            }
        })
    }

    /// The requests that have arrived whole so far.
    pub(super) fn seen(&self) -> Vec<Seen> {
        self.seen.try_iter().collect()
    }

    /// The one request that has arrived.
    pub(super) fn only_request(&self) -> Seen {
        let mut seen = self.seen();
        assert_eq!(seen.len(), 1, "{seen:?}");
        seen.remove(0)
    }
}

impl Seen {
    /// The value of header `name` (lower case), if it was there exactly once.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.head.lines().skip(1).filter_map(|line| {
            let (found, value) = line.split_once(": ")?;
            (found == name).then_some(value)
        });
        let value = values.next();
        assert_eq!(values.next(), None, "{name} twice");
        value
    }
}

impl Connection {
    /// Reads one request to its end; false if the client is gone.
    pub(super) fn read_request(&mut self) -> bool {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            match self.stream.read(&mut byte) {
                Ok(1) => head.push(byte[0]),
                _ => return false,
            }
        }
        let head = String::from_utf8(head).unwrap();
        let mut seen = Seen {
            head,
            body: Vec::new(),
        };
        let length = seen
            .header("content-length")
            .map_or(0, |value| value.parse().unwrap());
        seen.body = vec![0; length];
        self.stream.read_exact(&mut seen.body).unwrap();
        // Nobody may be listening by now.
        let _ = self.seen.send(seen);
        true
    }

    /// Reads the first few bytes of a request only, so that closing the connection resets it.
    pub(super) fn read_a_little(&mut self) {
        self.stream.read_exact(&mut [0; 4]).unwrap();
    }

    /// Writes `bytes`; false if the client is gone.
    pub(super) fn write(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// Writes `bytes` again and again until the client is gone.
    pub(super) fn write_for_ever(&mut self, bytes: &[u8]) {
        while self.write(bytes) {}
    }

    /// Writes `piece` every few milliseconds until the client is gone.
    pub(super) fn trickle(&mut self, piece: &[u8]) {
        self.stream
            .set_read_timeout(Some(Duration::from_millis(5)))
            .unwrap();
        while self.write(piece) && !matches!(self.stream.read(&mut [0]), Ok(0)) {}
    }

    /// Says nothing until the client is gone.
    pub(super) fn hang(&mut self) {
        let _ = self.stream.read(&mut [0]);
    }
}
