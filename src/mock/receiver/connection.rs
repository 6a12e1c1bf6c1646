//! One connection: read what has arrived, judge it, answer it, and misbehave where the script says so.
//!
//! Answers to requests that arrived together leave in one write. The connection's task is dropped when the receiver
//! stops, so no wait in here needs to look out for that.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::control;
use super::head::Refusal;
use super::journal::Effect;
use super::misbehave::{self, Then};
use super::reader::{Progress, Reader};
use super::reception::{Decision, Gate};
use super::reply::{Answer, Manner};
use super::shared::{InFlight, Shared};

/// How long a client whose request was refused may go on sending before the connection closes.
const FAREWELL: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    shared: Arc<Shared>,
    reader: Reader,
    /// Answers that have not been written yet, and the requests that they are for.
    out: Vec<u8>,
    answered: Vec<InFlight>,
    newest: Option<u64>,
}

impl Connection {
    pub(super) fn new(stream: TcpStream, shared: Arc<Shared>) -> Self {
        let reader = Reader::new(shared.limits);
        Self {
            stream,
            shared,
            reader,
            out: Vec::new(),
            answered: Vec::new(),
            newest: None,
        }
    }

    /// Serves requests until the client or a fault ends the connection. An error is the client's doing, or the
    /// journal's, which the receiver itself reports.
    pub(super) async fn serve(mut self) -> io::Result<()> {
        loop {
            let then = match self.reader.next() {
                Ok(Progress::Whole(request)) => {
                    let manner = Manner::of(&request);
                    if let Some(reply) = control::answer(&request, &self.shared) {
                        reply.write_to(&mut self.out, manner);
                        manner.persistence.into()
                    } else {
                        let (decision, in_flight) = self.shared.receive(&request)?;
                        self.newest = Some(decision.number);
                        self.answer(decision, in_flight, manner).await?
                    }
                }
                Ok(Progress::Incomplete) => {
                    self.flush().await?;
                    if self.reader.fill(&mut self.stream).await? == 0 {
                        Then::Close
                    } else {
                        Then::KeepAlive
                    }
                }
                Ok(Progress::AwaitsContinue) => {
                    self.out.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
                    Then::KeepAlive
                }
                Err(refusal) => return self.refuse(refusal).await,
            };
            if then == Then::Close {
                return self.flush().await;
            }
        }
    }

    async fn answer(&mut self, decision: Decision, in_flight: InFlight, manner: Manner) -> io::Result<Then> {
        let Decision {
            answer, fault, gate, ..
        } = decision;
        if gate == Gate::Held {
            self.flush().await?;
            self.shared.gate_opens().await;
        }
        match (fault, answer) {
            (Some(fault), answer) => {
                self.flush().await?;
                misbehave::act(&mut self.stream, &fault, answer, manner, in_flight).await
            }
            (None, Some(answer)) => {
                answer.write_to(&mut self.out, manner);
                self.answered.push(in_flight);
                Ok(manner.persistence.into())
            }
            (None, None) => Ok(Then::Close),
        }
    }

    /// Writes what is to be written, once the records that it rests on are safe.
    async fn flush(&mut self) -> io::Result<()> {
        if let Some(number) = self.newest.take() {
            self.shared.make_durable(number).await?;
        }
        // Before the first byte: a client that has its answer may be here with its next request at once.
        self.answered.clear();
        if !self.out.is_empty() {
            self.stream.write_all(&self.out).await?;
            self.out.clear();
        }
        Ok(())
    }

    /// Answers what is no proper request, and listens a little longer: closing with unread bytes would reset the
    /// connection, and the client might never see why.
    async fn refuse(mut self, refusal: Refusal) -> io::Result<()> {
        self.shared.reception().count_malformed();
        self.shared.changed.notify_waiters();
        Answer {
            status: refusal.status(),
            effect: Effect::None,
        }
        .write_to(&mut self.out, Manner::last());
        self.flush().await?;
        self.stream.shutdown().await?;
        let mut ignored = [0; 256];
        let client_ends = async { while matches!(self.stream.read(&mut ignored).await, Ok(1..)) {} };
        // A client that goes on is cut off; that is the point.
        let _ = timeout(FAREWELL, client_ends).await;
        Ok(())
    }
}
