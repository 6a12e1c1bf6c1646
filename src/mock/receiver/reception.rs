//! Decides what each request leads to: script, ledger and journal behind one door.
//!
//! `receive` is the one place where a request is judged. It decides and records; it sends nothing.

use std::borrow::Cow;
use std::io;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::fault::{Fault, Processing};
use super::journal::{Detail, Effect, Journal, ROW_KEY_HEADER, Received, TOPIC_HEADER};
use super::ledger::{Fingerprint, Ledger, Standing, Work};
use super::reader::Request;
use super::reply::Answer;
use super::script::{Script, Subject};

/// What a repeated key meets while its first request is still being worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Concurrent {
    /// 409, as the IETF draft wants it.
    #[default]
    Conflict,
    /// The answer that the first request will get.
    Answer,
}

/// Whether requests wait for the test before they are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gate {
    Open,
    Held,
}

/// How many requests met what, since the start or the last reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Requests on record.
    pub requests: u64,
    /// Requests that took effect: one for each distinct key, and each request without a key.
    pub effects: u64,
    /// Distinct keys in the ledger.
    pub keys: u64,
    /// Requests answered from memory.
    pub remembered: u64,
    /// 409: the key was being worked on.
    pub conflicts: u64,
    /// 422: the key was used with another body.
    pub other_body: u64,
    /// Requests that met a fault.
    pub faults: u64,
    /// What was refused as no proper request (400, 413, 431, 501, 505); not on record.
    pub malformed: u64,
    /// Requests on record that have not been answered yet.
    pub in_flight: u64,
    /// The most that were in flight at once.
    pub peak_in_flight: u64,
}

/// What is to be done about a request.
#[derive(Debug)]
pub(super) struct Decision {
    pub(super) number: u64,
    /// What to answer; none where the fault leaves the client without an answer of any kind.
    pub(super) answer: Option<Answer>,
    pub(super) fault: Option<Fault>,
    /// Whether the answer waits for the gate.
    pub(super) gate: Gate,
    /// The key on which work ends with the answer.
    pub(super) open_key: Option<Box<str>>,
}

#[derive(Debug)]
pub(super) struct Reception {
    key_header: String,
    concurrent: Concurrent,
    number: u64,
    pub(super) script: Script,
    pub(super) ledger: Ledger,
    pub(super) journal: Journal,
    counts: Counts,
}

/// How the fault and the ledger together answer a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// It takes effect.
    Accepted,
    /// It fails, and the failure is remembered.
    Stored { status: u16 },
    /// Its key has its answer already.
    Remembered { status: u16 },
    /// Its key is being worked on.
    Conflict,
    /// Its key was used with another body.
    OtherBody,
    /// The fault refuses it before it is processed, with or without an answer.
    Refused { status: Option<u16> },
    /// It hangs, and its key with it.
    Hung,
}

impl Verdict {
    fn status(self) -> Option<u16> {
        match self {
            Self::Accepted => Some(200),
            Self::Stored { status } | Self::Remembered { status } => Some(status),
            Self::Conflict => Some(409),
            Self::OtherBody => Some(422),
            Self::Refused { status } => status,
            Self::Hung => None,
        }
    }

    fn effect(self) -> Effect {
        match self {
            Self::Accepted => Effect::First,
            Self::Remembered { .. } => Effect::Remembered,
            _ => Effect::None,
        }
    }

    /// What the ledger remembers of it; `Ongoing` where the answer takes its time.
    fn work(self, fault: Option<&Fault>, gate: Gate) -> Option<Work> {
        let status = match self {
            Self::Accepted => 200,
            Self::Stored { status } => status,
            Self::Hung => return Some(Work::Hung),
            _ => return None,
        };
        let takes_time = gate == Gate::Held || matches!(fault, Some(Fault::Delay { .. }));
        Some(if takes_time {
            Work::Ongoing { status }
        } else {
            Work::Done { status }
        })
    }
}

impl Reception {
    pub(super) fn new(key_header: String, concurrent: Concurrent, script: Script, journal: Journal) -> Self {
        let (ledger, counts) = (Ledger::default(), Counts::default());
        Self {
            key_header,
            concurrent,
            number: 0,
            script,
            ledger,
            journal,
            counts,
        }
    }

    /// Judges a request and puts it on record. An error means that the record could not be written; then nothing
    /// may be answered.
    pub(super) fn receive(
        &mut self,
        request: &Request<'_>,
        prepared: Prepared,
        elapsed: Duration,
        gate: Gate,
    ) -> io::Result<Decision> {
        self.number += 1;
        let key = request.header(&self.key_header).map(read_key);
        let key = key.as_deref();
        let fault = self.pick_fault(request, key);
        let verdict = self.judge(key, prepared.fingerprint, fault.as_ref());
        let work = verdict.work(fault.as_ref(), gate);
        if let (Some(key), Some(work)) = (key, work) {
            self.ledger.record(key, prepared.fingerprint, work);
        }
        self.count(verdict, fault.as_ref());
        if self.journal.wants_records() {
            let mut record = prepared.into_record(request, self.number, elapsed, key);
            record.effect = verdict.effect();
            record.status = fault
                .as_ref()
                .map_or(verdict.status(), |fault| fault.visible_status(verdict.status()));
            record.fault = fault.as_ref().map(|fault| Cow::Borrowed(fault.name()));
            self.journal.append(record)?;
        }
        let ends_later = matches!(work, Some(Work::Hung | Work::Ongoing { .. }));
        Ok(Decision {
            number: self.number,
            answer: verdict.status().map(|status| Answer {
                status,
                effect: verdict.effect(),
            }),
            fault,
            // A conflict is about someone else's work, so it has none of its own to wait for.
            gate: if verdict == Verdict::Conflict {
                Gate::Open
            } else {
                gate
            },
            open_key: key.filter(|_| ends_later).map(Into::into),
        })
    }

    /// The newest number given out. All requests up to it are on record.
    pub(super) fn newest_number(&self) -> u64 {
        self.number
    }

    /// The request has been answered, or its client has gone.
    pub(super) fn end(&mut self, open_key: Option<&str>) {
        self.counts.in_flight = self.counts.in_flight.saturating_sub(1);
        if let Some(key) = open_key {
            self.ledger.end_work(key);
        }
    }

    pub(super) fn count_malformed(&mut self) {
        self.counts.malformed += 1;
    }

    pub(super) fn counts(&self) -> Counts {
        Counts {
            keys: self.ledger.len() as u64,
            ..self.counts
        }
    }

    /// Forgets what was received; rules stay, numbers go on, and what is in flight stays in flight.
    pub(super) fn reset(&mut self) {
        self.ledger.clear();
        self.journal.clear();
        let in_flight = self.counts.in_flight;
        self.counts = Counts {
            in_flight,
            peak_in_flight: in_flight,
            ..Counts::default()
        };
    }

    fn pick_fault(&mut self, request: &Request<'_>, key: Option<&str>) -> Option<Fault> {
        if self.script.is_empty() {
            return None;
        }
        let text = |name| request.header(name).and_then(|value| str::from_utf8(value).ok());
        self.script.pick(Subject {
            path: request.path_and_query().0,
            key,
            topic: text(TOPIC_HEADER),
            row_key: text(ROW_KEY_HEADER),
        })
    }

    fn judge(&self, key: Option<&str>, body: Fingerprint, fault: Option<&Fault>) -> Verdict {
        let processing = fault.map_or(Processing::Processed, Fault::processing);
        let standing = key.map_or(Standing::Fresh, |key| self.standing(key, body));
        match (processing, standing) {
            (Processing::Refused { status }, _) => Verdict::Refused { status },
            (Processing::Hung, Standing::Fresh) => Verdict::Hung,
            (Processing::Hung, _) => Verdict::Refused { status: None },
            (_, Standing::Answered { status }) => Verdict::Remembered { status },
            (_, Standing::Working) => Verdict::Conflict,
            (_, Standing::OtherBody) => Verdict::OtherBody,
            (Processing::Stored { status }, Standing::Fresh) => Verdict::Stored { status },
            (Processing::Processed, Standing::Fresh) => Verdict::Accepted,
        }
    }

    fn standing(&self, key: &str, body: Fingerprint) -> Standing {
        match (self.ledger.standing(key, body), self.concurrent) {
            (Standing::Working, Concurrent::Answer) => match self.ledger.coming_status(key) {
                Some(status) => Standing::Answered { status },
                None => Standing::Fresh,
            },
            (standing, _) => standing,
        }
    }

    fn count(&mut self, verdict: Verdict, fault: Option<&Fault>) {
        let counts = &mut self.counts;
        counts.requests += 1;
        counts.in_flight += 1;
        counts.peak_in_flight = counts.peak_in_flight.max(counts.in_flight);
        counts.faults += u64::from(fault.is_some());
        match verdict {
            Verdict::Accepted => counts.effects += 1,
            Verdict::Remembered { .. } => counts.remembered += 1,
            Verdict::Conflict => counts.conflicts += 1,
            Verdict::OtherBody => counts.other_body += 1,
            Verdict::Stored { .. } | Verdict::Refused { .. } | Verdict::Hung => {}
        }
    }
}

/// What can be worked out about a request before the one door, so that connections do not wait for it.
#[derive(Debug)]
pub(super) struct Prepared {
    fingerprint: Fingerprint,
    sha256: Option<String>,
    body: Option<Vec<u8>>,
}

impl Prepared {
    pub(super) fn of(body: &[u8], detail: Detail) -> Self {
        Self {
            fingerprint: Fingerprint::of(body),
            sha256: (detail != Detail::Counts).then(|| hex(&Sha256::digest(body))),
            body: (detail == Detail::Bodies).then(|| body.to_vec()),
        }
    }

    fn into_record(
        self,
        request: &Request<'_>,
        number: u64,
        elapsed: Duration,
        key: Option<&str>,
    ) -> Received {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Received {
            number,
            elapsed,
            method: text(request.method),
            target: text(request.target),
            headers: request
                .headers()
                .map(|(name, value)| (text(name).to_ascii_lowercase(), text(value)))
                .collect(),
            key: key.map(Into::into),
            body_bytes: request.body.len(),
            sha256: self.sha256,
            body: self.body,
            effect: Effect::None,
            status: None,
            fault: None,
        }
    }
}

/// The key without the quotes and escapes of the structured form, so that both forms are the same key.
fn read_key(value: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(value);
    let inner = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match inner {
        None => text,
        Some(inner) => {
            let mut key = String::with_capacity(inner.len());
            let mut letters = inner.chars();
            while let Some(letter) = letters.next() {
                key.push(if letter == '\\' {
                    letters.next().unwrap_or(letter)
                } else {
                    letter
                });
            }
            Cow::Owned(key)
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(DIGITS[usize::from(value & 15)]);
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(*byte)])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_key_is_the_same_key() {
        assert_eq!(read_key(b"ac1-00ff"), "ac1-00ff");
        assert_eq!(read_key(b"\"ac1-00ff\""), "ac1-00ff");
        assert_eq!(read_key(br#""a\"b\\c""#), r#"a"b\c"#);
        assert_eq!(read_key(b"\""), "\"");
    }

    #[test]
    fn a_body_is_kept_only_if_bodies_are_asked_for() {
        let prepared = Prepared::of(b"abc", Detail::Digests);
        assert_eq!(prepared.body, None);
        let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(prepared.sha256.as_deref(), Some(digest));
        let prepared = Prepared::of(b"abc", Detail::Counts);
        assert_eq!((prepared.body, prepared.sha256), (None, None));
    }
}
