//! `aftercommit key`: the key of a row, so that another implementation can be checked against this one.
//!
//! Derives nothing by itself: `core::key` does.

use std::io::{self, BufRead as _};
use std::path::PathBuf;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::exit::{Exit, Problem};
use super::output::{Format, Output, OutputArgs};
use crate::core::canonical::{NotCanonical, RowHash, canonical};
use crate::core::key::{IdempotencyKey, KeyFacts, KeyForm, KeyVersion};
use crate::core::row::Op;

#[derive(clap::Args)]
pub(super) struct KeyVerb {
    /// Read facts from standard input, one JSON object a line, and answer each with one: fields as in
    /// tests/keys/vectors.json; a payload without a key is answered with {"error": …}
    #[arg(long, conflicts_with_all = ["namespace", "destination", "topic", "row_key", "op", "row_version", "epoch", "payload", "payload_file"])]
    ndjson: bool,

    /// The database's name in every key
    #[arg(long, required_unless_present = "ndjson")]
    namespace: Option<String>,

    /// The destination's name
    #[arg(long, required_unless_present = "ndjson")]
    destination: Option<String>,

    /// The row's topic
    #[arg(long, required_unless_present = "ndjson")]
    topic: Option<String>,

    /// The row's key
    #[arg(long, required_unless_present = "ndjson")]
    row_key: Option<String>,

    /// What happened to the row: upsert, delete or event
    #[arg(long, required_unless_present = "ndjson")]
    op: Option<Op>,

    /// The version, as it goes into the key: u:<row version or ->,g:<generation> for a state topic, u:<row version>
    /// for an event; left out: none
    #[arg(long = "version", value_name = "VERSION", value_parser = version)]
    row_version: Option<String>,

    /// How many replays have asked for a new key
    #[arg(long, default_value_t = 0)]
    epoch: u32,

    /// The payload, JSON text; left out: null
    #[arg(long, value_name = "JSON", conflicts_with = "payload_file")]
    payload: Option<String>,

    /// The file that holds the payload
    #[arg(long, value_name = "PATH")]
    payload_file: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,
}

/// What a key is derived from, as the vectors have it.
#[derive(Deserialize)]
struct Facts {
    #[serde(default)]
    name: Option<String>,
    namespace: String,
    destination: String,
    topic: String,
    row_key: String,
    op: Op,
    #[serde(default)]
    version: Option<String>,
    #[serde(default)]
    epoch: u32,
    payload: String,
}

/// What follows from the facts.
#[derive(Serialize)]
struct Derived {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    canonical: String,
    row_hash: String,
    key: String,
    token: String,
    quoted: String,
    short: String,
    uuid: String,
}

/// The answer to facts that have no key.
#[derive(Serialize)]
struct Refusal {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    error: String,
}

/// The text, if it is a version of either form.
fn version(text: &str) -> Result<String, &'static str> {
    let wrong = "write u:ROW_VERSION,g:GENERATION for a state topic, with - for no row version, or u:ROW_VERSION for \
                 an event";
    let rest = text.strip_prefix("u:").ok_or(wrong)?;
    let is_row_version = |text: &str| text.parse::<i64>().is_ok();
    let is_version = match rest.split_once(",g:") {
        Some((row_version, generation)) => {
            (row_version == "-" || is_row_version(row_version)) && generation.parse::<i64>().is_ok()
        }
        None => is_row_version(rest),
    };
    is_version.then(|| text.to_owned()).ok_or(wrong)
}

pub(super) fn run(verb: KeyVerb) -> anyhow::Result<Exit> {
    if verb.ndjson {
        return answer_lines();
    }
    let mut output = verb.output.open();
    let derived =
        derive(verb.facts()?).map_err(|refusal| Problem::BadInput(format!("payload: {}", refusal.error)))?;
    output.print(&derived, |derived| {
        let Derived {
            canonical,
            row_hash,
            key,
            token,
            quoted,
            short,
            uuid,
            ..
        } = derived;
        format!(
            "canonical  {canonical}\nrow hash   {row_hash}\nkey        {key}\ntoken      {token}\n\
             quoted     {quoted}\nshort      {short}\nuuid       {uuid}"
        )
    })?;
    Ok(Exit::Done)
}

impl KeyVerb {
    fn facts(self) -> anyhow::Result<Facts> {
        let payload = match (self.payload, &self.payload_file) {
            (Some(payload), _) => payload,
            (None, Some(path)) => std::fs::read_to_string(path)
                .map_err(|error| Problem::BadInput(format!("cannot read {}: {error}", path.display())))?,
            (None, None) => "null".to_owned(),
        };
        // clap has seen to it that they are there.
        Ok(Facts {
            name: None,
            namespace: self.namespace.context("--namespace is missing")?,
            destination: self.destination.context("--destination is missing")?,
            topic: self.topic.context("--topic is missing")?,
            row_key: self.row_key.context("--row-key is missing")?,
            op: self.op.context("--op is missing")?,
            version: self.row_version,
            epoch: self.epoch,
            payload,
        })
    }
}

/// Answers every line, whatever the lines before it held.
fn answer_lines() -> anyhow::Result<Exit> {
    let mut output = Output::new(Format::Json);
    for line in io::stdin().lock().split(b'\n') {
        let line = line.context("cannot read standard input")?;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let answer = match serde_json::from_slice(&line) {
            Ok(facts) => derive(facts),
            Err(error) => Err(Refusal {
                name: None,
                error: error.to_string(),
            }),
        };
        match answer {
            Ok(derived) => output.json_line(&derived)?,
            Err(refusal) => output.json_line(&refusal)?,
        }
    }
    Ok(Exit::Done)
}

fn derive(facts: Facts) -> Result<Derived, Refusal> {
    let hashed = |payload: &str| Ok::<_, NotCanonical>((canonical(payload)?, RowHash::of(payload)?));
    let (canonical, row_hash) = match hashed(&facts.payload) {
        Ok(hashed) => hashed,
        Err(error) => {
            return Err(Refusal {
                name: facts.name,
                error: error.to_string(),
            });
        }
    };
    let key = IdempotencyKey::derive(&KeyFacts {
        namespace: &facts.namespace,
        destination: &facts.destination,
        topic: &facts.topic,
        row_key: &facts.row_key,
        op: facts.op,
        version: facts.version.as_deref().map(KeyVersion::as_written),
        row_hash,
        epoch: facts.epoch,
    });
    Ok(Derived {
        name: facts.name,
        canonical,
        row_hash: row_hash.to_string(),
        key: key.wire(KeyForm::Hex),
        token: key.wire(KeyForm::Token),
        quoted: key.wire(KeyForm::Quoted),
        short: key.wire(KeyForm::Short),
        uuid: key.wire(KeyForm::Uuid),
    })
}
