//! What the receiver has seen: the records, in memory and as lines of a file.
//!
//! A record is made before the receiver answers or misbehaves, so that the journal is a witness independent of the
//! relay's database. It holds whatever was sent, credentials included: it is for tests, not for production data.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How the journal is kept.
#[derive(Debug, Clone)]
pub struct JournalOptions {
    /// What is kept of each request.
    pub detail: Detail,
    /// How many requests are kept in memory, each some 2 KB and its body; beyond it, the oldest go. Counts are never
    /// cut.
    pub newest: usize,
    /// A file to which each record is appended as one JSON line.
    pub file: Option<JournalFile>,
}

impl Default for JournalOptions {
    fn default() -> Self {
        Self {
            detail: Detail::Bodies,
            newest: 100_000,
            file: None,
        }
    }
}

/// What is kept of each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// Everything, bodies included.
    #[default]
    Bodies,
    /// Everything but the bodies, of which a SHA-256 is kept.
    Digests,
    /// Nothing in memory but the counts and the ledger of keys; for benchmarks. A file gets records without body
    /// and digest.
    Counts,
}

/// A journal on disk.
#[derive(Debug, Clone)]
pub struct JournalFile {
    /// Where it is; an existing file is continued.
    pub path: PathBuf,
    /// When a record counts as written.
    pub durability: Durability,
}

/// When a record counts as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// When the operating system has it: survives the death of this process.
    #[default]
    Process,
    /// When the disk has it (`fdatasync` before each answer): survives the death of the machine.
    Disk,
}

/// One request and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Received {
    /// Counts from 1, in the order of arrival.
    pub number: u64,
    /// Since the receiver started, in whole microseconds; `elapsed_us` in JSON.
    #[serde(rename = "elapsed_us", with = "micros")]
    pub elapsed: Duration,
    /// The method.
    pub method: String,
    /// Path and query, as they were sent.
    pub target: String,
    /// Names in lower case, in the order in which they were sent; values that are not UTF-8 are made so.
    pub headers: Vec<(String, String)>,
    /// The idempotency key, without quotes.
    pub key: Option<String>,
    /// Bytes of body.
    pub body_bytes: usize,
    /// SHA-256 of the body in hex, if the journal keeps digests.
    pub sha256: Option<String>,
    /// The body, if the journal keeps bodies. In JSON a string, or `{"base64": …}` if it is not UTF-8.
    #[serde(with = "body_text")]
    pub body: Option<Vec<u8>>,
    /// What the request changed at the receiver.
    pub effect: Effect,
    /// The status that the answer's head carries; none where a fault leaves no final answer.
    pub status: Option<u16>,
    /// The name of the fault that the request met.
    pub fault: Option<Cow<'static, str>>,
}

/// What a request changed at the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// The first request with its key to be processed, or one without a key: it took effect.
    First,
    /// Its key was known: answered from memory, nothing changed.
    Remembered,
    /// It was refused or failed before it changed anything.
    None,
}

impl Received {
    /// The first header of this name, given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// The path, without the query.
    pub fn path(&self) -> &str {
        self.target
            .split_once('?')
            .map_or(self.target.as_str(), |(path, _)| path)
    }

    /// The outbox row's topic, as the relay's header gives it.
    pub fn topic(&self) -> Option<&str> {
        self.header(TOPIC_HEADER)
    }

    /// The outbox row's row key, as the relay's header gives it.
    pub fn row_key(&self) -> Option<&str> {
        self.header(ROW_KEY_HEADER)
    }

    /// The outbox row's row version, as the relay's header gives it.
    pub fn row_version(&self) -> Option<&str> {
        self.header("aftercommit-row-version")
    }

    /// Whether the answer said that the request succeeded.
    pub fn is_accepted(&self) -> bool {
        self.status.is_some_and(|status| (200..300).contains(&status))
    }
}

pub(super) const TOPIC_HEADER: &str = "aftercommit-topic";
pub(super) const ROW_KEY_HEADER: &str = "aftercommit-row-key";

/// The newest records in memory, and the file.
#[derive(Debug)]
pub(super) struct Journal {
    detail: Detail,
    newest: usize,
    kept: VecDeque<Arc<Received>>,
    file: Option<Arc<File>>,
    line: Vec<u8>,
}

impl Journal {
    pub(super) fn open(options: &JournalOptions) -> io::Result<Self> {
        let open = |file: &JournalFile| OpenOptions::new().create(true).append(true).open(&file.path);
        let file = options.file.as_ref().map(open).transpose()?.map(Arc::new);
        let (detail, newest) = (options.detail, options.newest);
        Ok(Self {
            detail,
            newest,
            kept: VecDeque::new(),
            file,
            line: Vec::new(),
        })
    }

    pub(super) fn detail(&self) -> Detail {
        self.detail
    }

    pub(super) fn file(&self) -> Option<Arc<File>> {
        self.file.clone()
    }

    /// Whether records are of any use, or counting is all that is asked.
    pub(super) fn wants_records(&self) -> bool {
        self.detail != Detail::Counts || self.file.is_some()
    }

    /// Writes the record down. When this returns, the operating system has the line.
    pub(super) fn append(&mut self, record: Received) -> io::Result<()> {
        if let Some(file) = &self.file {
            self.line.clear();
            serde_json::to_writer(&mut self.line, &record)?;
            self.line.push(b'\n');
            (&**file).write_all(&self.line)?;
        }
        if self.detail != Detail::Counts && self.newest > 0 {
            if self.kept.len() == self.newest {
                self.kept.pop_front();
            }
            self.kept.push_back(Arc::new(record));
        }
        Ok(())
    }

    /// The records in memory, in the order of arrival.
    pub(super) fn kept(&mut self) -> &[Arc<Received>] {
        self.kept.make_contiguous()
    }

    pub(super) fn clear(&mut self) {
        self.kept.clear();
    }
}

/// Durations as whole microseconds in JSON.
mod micros {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_micros)
    }
}

/// Bodies as text in JSON where they are text.
mod body_text {
    use base64::prelude::{BASE64_STANDARD, Engine};
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Form<T> {
        Text(T),
        Binary { base64: String },
    }

    #[expect(clippy::ref_option, reason = "serde's `with` passes a reference")]
    pub(super) fn serialize<S: Serializer>(body: &Option<Vec<u8>>, serializer: S) -> Result<S::Ok, S::Error> {
        let form = body.as_ref().map(|body| match str::from_utf8(body) {
            Ok(text) => Form::Text(text),
            Err(_) => Form::Binary {
                base64: BASE64_STANDARD.encode(body),
            },
        });
        form.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Vec<u8>>, D::Error> {
        match Option::<Form<String>>::deserialize(deserializer)? {
            None => Ok(None),
            Some(Form::Text(text)) => Ok(Some(text.into_bytes())),
            Some(Form::Binary { base64 }) => {
                BASE64_STANDARD.decode(base64).map(Some).map_err(D::Error::custom)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(number: u64) -> Received {
        Received {
            number,
            elapsed: Duration::from_micros(1500),
            method: "POST".into(),
            target: "/in?a=1".into(),
            headers: vec![(TOPIC_HEADER.into(), "orders".into())],
            key: Some("k".into()),
            body_bytes: 2,
            sha256: None,
            body: Some(b"{}".to_vec()),
            effect: Effect::First,
            status: Some(200),
            fault: Some("slow-body".into()),
        }
    }

    #[test]
    fn a_record_survives_json_whatever_its_body() {
        for body in [None, Some(b"{\"a\": \"\xc3\xa9\"}".to_vec()), Some(vec![0xff, 0])] {
            let record = Received { body, ..record(1) };
            let line = serde_json::to_string(&record).unwrap();
            assert_eq!(serde_json::from_str::<Received>(&line).unwrap(), record, "{line}");
        }
    }

    #[test]
    fn memory_keeps_the_newest_and_the_file_keeps_all() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal.ndjson");
        let file = JournalFile {
            path: path.clone(),
            durability: Durability::Process,
        };
        let options = JournalOptions {
            newest: 2,
            file: Some(file),
            ..JournalOptions::default()
        };
        let mut journal = Journal::open(&options).unwrap();
        for number in 1..=3 {
            journal.append(record(number)).unwrap();
            let lines = std::fs::read_to_string(&path).unwrap();
            assert_eq!(
                lines.lines().count() as u64,
                number,
                "written before `append` returns"
            );
        }
        let numbers: Vec<_> = journal.kept().iter().map(|record| record.number).collect();
        assert_eq!(numbers, [2, 3]);
    }
}
