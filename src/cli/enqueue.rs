//! `aftercommit enqueue`: rows from NDJSON or CSV into the outbox, in one transaction.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use serde::Serialize;

use super::exit::{Exit, Problem};
use super::output::OutputArgs;
use super::progress::Progress;
use super::settings::Settings;
use super::words::counted;
use crate::capture::{self, Csv, CsvOptions, Mapping, Ndjson, Rows};
use crate::config::Config;
use crate::core::row::{Op, TopicKind};
use crate::relay::assemble;
use crate::store::{Database, Enqueued};

/// How long the transaction may wait for more input before the server ends it.
const IDLE_INPUT: Duration = Duration::from_hours(1);

#[derive(clap::Args)]
pub(super) struct Enqueue {
    /// The file to read; `-` or none: standard input
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// The topic of every row. Without it, each line is a whole row with `topic`, `row_key`, `row_version`, `op`,
    /// `payload` and `headers`
    #[arg(long, requires = "key")]
    topic: Option<String>,

    /// What happened to every row: upsert, delete or event. Left out: by the topic's kind in the configuration
    #[arg(long, requires = "topic")]
    op: Option<Op>,

    /// The field that is the row key; several fields, separated by commas, are joined by `/`, escaped as in a JSON Pointer
    #[arg(long, requires = "topic", value_name = "FIELD", value_delimiter = ',')]
    key: Vec<String>,

    /// The field that orders the versions of a row: a whole number, or a time such as 2026-11-29T18:05:37Z
    #[arg(long = "version", requires = "topic", value_name = "FIELD")]
    row_version: Option<String>,

    /// The format of the file; left out: csv if its name ends so, else ndjson
    #[arg(long)]
    format: Option<InputFormat>,

    /// The text in CSV that means null; left out: every value is a string
    #[arg(long, value_name = "TEXT")]
    csv_null: Option<String>,

    /// What stands between two values in CSV
    #[arg(long, value_name = "CHARACTER", default_value_t = ',')]
    csv_delimiter: char,

    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum InputFormat {
    /// One JSON object a line
    Ndjson,
    /// Comma-separated values with a header
    Csv,
}

#[derive(Serialize)]
struct Summary {
    admitted: u64,
    unchanged: u64,
    stale: u64,
    refused: u64,
    total: u64,
}

impl Summary {
    fn of(enqueued: Enqueued) -> Self {
        Self {
            admitted: enqueued.admitted,
            unchanged: enqueued.unchanged,
            stale: enqueued.stale,
            refused: 0,
            total: enqueued.total(),
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            admitted,
            unchanged,
            stale,
            refused,
            total,
        } = self;
        let rows = counted(*total, "row", "rows");
        write!(
            f,
            "{rows}: {admitted} admitted, {unchanged} unchanged, {stale} stale, {refused} refused"
        )
    }
}

pub(super) async fn run(verb: Enqueue, settings: &Settings) -> anyhow::Result<Exit> {
    let config = settings.read()?;
    let mapping = verb.mapping(&config)?;
    let input = Input::open(verb.file.as_deref())?;
    let progress = input.progress.clone();
    let name = Arc::clone(&input.name);
    let rows = verb.rows(input, mapping)?;

    let mut options = assemble::database_options(&config.database);
    options.idle_in_transaction_timeout = IDLE_INPUT;
    let database = Database::connect(&config.database.url, &options)?;
    database.check().await?;
    let bar = progress.clone();
    let written = move |rows| bar.tell(counted(rows, "row", "rows"));
    let enqueued = capture::enqueue(&database, name, rows, written).await;
    progress.done();
    database.close().await;

    let enqueued = enqueued?;
    let summary = Summary::of(enqueued);
    verb.output.open().print(&summary, Summary::to_string)?;
    Ok(Exit::Done)
}

impl Enqueue {
    fn format(&self) -> InputFormat {
        let is_csv = |path: &PathBuf| {
            path.extension()
                .is_some_and(|ending| ending.eq_ignore_ascii_case("csv"))
        };
        match self.format {
            Some(format) => format,
            None if self.file.as_ref().is_some_and(is_csv) => InputFormat::Csv,
            None => InputFormat::Ndjson,
        }
    }

    fn mapping(&self, config: &Config) -> Result<Option<Mapping>, Problem> {
        let Some(topic) = &self.topic else {
            return match self.format() {
                InputFormat::Ndjson => Ok(None),
                InputFormat::Csv => Err(Problem::BadInput(
                    "CSV does not say which topic its rows belong to; give --topic and --key".to_owned(),
                )),
            };
        };
        let op = match (self.op, config.topics.get(topic).map(|topic| topic.kind)) {
            (Some(op), _) => op,
            (None, Some(TopicKind::State)) => Op::Upsert,
            (None, Some(TopicKind::Event)) => Op::Event,
            (None, None) => {
                let declared: Vec<&str> = config.topics.keys().map(String::as_str).collect();
                let declared = match declared[..] {
                    [] => "declares none".to_owned(),
                    _ => format!("declares {}", declared.join(", ")),
                };
                return Err(Problem::BadInput(format!(
                    "the configuration has no topic `{topic}`, so its kind is not known (it {declared}); name a topic \
                     that is declared, or give --op upsert, delete or event"
                )));
            }
        };
        Ok(Some(Mapping {
            topic: topic.clone(),
            op,
            key: self.key.clone(),
            version: self.row_version.clone(),
        }))
    }

    fn rows(&self, input: Input, mapping: Option<Mapping>) -> anyhow::Result<Rows> {
        match (self.format(), mapping) {
            (InputFormat::Csv, Some(mapping)) => {
                let options = CsvOptions {
                    delimiter: u8::try_from(self.csv_delimiter).map_err(|_| {
                        Problem::BadInput("--csv-delimiter must be one ASCII character".to_owned())
                    })?,
                    null: self.csv_null.clone(),
                };
                Ok(Csv::rows(input.name, input.reader, mapping, options)?)
            }
            (_, mapping) => Ok(Ndjson::rows(
                input.name,
                Box::new(BufReader::new(input.reader)),
                mapping,
            )),
        }
    }
}

/// What is read, what errors call it, and how far it has been read.
struct Input {
    name: Arc<str>,
    reader: Box<dyn Read + Send>,
    progress: Progress,
}

impl Input {
    fn open(path: Option<&Path>) -> Result<Self, Problem> {
        let Some(path) = path.filter(|path| *path != Path::new("-")) else {
            let progress = Progress::reading(None);
            return Ok(Self {
                name: "stdin".into(),
                reader: Box::new(progress.bar().wrap_read(io::stdin())),
                progress,
            });
        };
        let name = path.display().to_string();
        let file =
            File::open(path).map_err(|error| Problem::BadInput(format!("cannot read {name}: {error}")))?;
        let size = file
            .metadata()
            .ok()
            .map(|metadata| metadata.len())
            .filter(|&size| size > 0);
        let progress = Progress::reading(size);
        Ok(Self {
            name: name.into(),
            reader: Box::new(progress.bar().wrap_read(file)),
            progress,
        })
    }
}
