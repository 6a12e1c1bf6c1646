//! `aftercommit enqueue`: rows from NDJSON, CSV or Parquet into the outbox, in one transaction or in batches.

mod input;
mod refused;
mod resume;

use std::fmt;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use self::input::{Input, InputFormat};
use self::refused::RefusedFile;
use self::resume::Start;
use super::database;
use super::exit::{Exit, Problem};
use super::output::OutputArgs;
use super::settings::Settings;
use super::words::counted;
use crate::capture::{self, BadRows, CsvOptions, Mapping, Summary};
use crate::config::Config;
use crate::core::row::Op;
use crate::store::{Database, DatabaseOptions};

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

    /// The field that orders the versions of a row: a whole number, a time such as 2026-11-29T18:05:37Z, or a date, which
    /// counts as its midnight in UTC
    #[arg(long = "version", requires = "topic", value_name = "FIELD")]
    row_version: Option<String>,

    /// The format of the file; left out: csv or parquet if its name ends so, else ndjson
    #[arg(long)]
    format: Option<InputFormat>,

    /// The text in CSV that means null; left out: every value is a string
    #[arg(long, value_name = "TEXT")]
    csv_null: Option<String>,

    /// What stands between two values in CSV
    #[arg(long, value_name = "CHARACTER", default_value_t = ',')]
    csv_delimiter: char,

    /// Commit every N rows and keep a checkpoint: the same command, run again, goes on after the last commit. Left out: all rows
    /// are one transaction
    #[arg(long, value_name = "N")]
    batch_rows: Option<NonZeroU64>,

    /// The name of the checkpoint; left out: path and topic. Standard input needs one
    #[arg(long, value_name = "NAME", requires = "batch_rows")]
    checkpoint: Option<String>,

    /// Write what is refused to this file, as NDJSON with line and problem, and admit the rest (exit code 1); commits at least every
    /// 30,000 rows. Left out: the first bad line ends the run, as does a quote in CSV that is never closed: behind it nothing can
    /// be told apart
    #[arg(long, value_name = "FILE", requires = "batch_rows")]
    refused: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Serialize)]
struct Done {
    #[serde(flatten)]
    summary: Summary,
    /// The line up to which an earlier run had committed; the numbers are of the lines behind it.
    #[serde(skip_serializing_if = "Option::is_none")]
    resumed_after: Option<u64>,
}

pub(super) async fn run(verb: Enqueue, settings: &Settings) -> anyhow::Result<Exit> {
    let config = settings.read()?;
    let input = Input {
        file: verb.file.clone().filter(|path| path.as_os_str() != "-"),
        format: verb.format(),
        mapping: verb.mapping(&config)?,
        csv: verb.csv_options()?,
    };
    let (rows, progress) = input.open()?;

    let patient = |options: &mut DatabaseOptions| options.idle_in_transaction_timeout = IDLE_INPUT;
    let database = database::open_with(&config, patient).await?;
    let start = match verb.batch_rows {
        None => Start::whole(rows, progress),
        Some(batch_rows) => {
            let checkpoint = verb.checkpoint.clone();
            Start::in_batches(&database, &input, rows, progress, batch_rows, checkpoint).await?
        }
    };
    let outcome = enqueue(&verb, &database, &input, start).await;
    database.close().await;

    let done = outcome?;
    verb.output.open().print(&done, Done::to_string)?;
    Ok(match done.summary.refused {
        0 => Exit::Done,
        _ => Exit::Failed,
    })
}

async fn enqueue(verb: &Enqueue, database: &Database, input: &Input, start: Start) -> anyhow::Result<Done> {
    let bad = match &verb.refused {
        None => BadRows::Stop,
        Some(path) => {
            let mut file = RefusedFile::open(path, start.resumed_after)?;
            BadRows::SetAside(Box::new(move |bad| file.write(bad)))
        }
    };
    let name = start.batches.as_ref().map(|batches| batches.checkpoint.clone());
    let what = capture::Enqueue {
        input: input.name(),
        rows: start.rows,
        prefix: start.prefix,
        batches: start.batches,
        bad,
    };
    let bar = start.progress.clone();
    let written = move |rows| bar.tell(counted(rows, "row", "rows"));
    let outcome = capture::enqueue(database, what, written).await;
    start.progress.done();
    if let (Err(_), Some(name)) = (&outcome, &name) {
        resume::tell_how_to_go_on(database, name).await;
    }
    Ok(Done {
        summary: outcome?.into(),
        resumed_after: start.resumed_after,
    })
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Summary {
            admitted,
            unchanged,
            stale,
            refused,
            total,
        } = self.summary;
        let rows = counted(total, "row", "rows");
        write!(
            f,
            "{rows}: {admitted} admitted, {unchanged} unchanged, {stale} stale, {refused} refused"
        )?;
        match self.resumed_after {
            None => Ok(()),
            Some(line) => write!(f, "; lines 1 to {line} had been committed before"),
        }
    }
}

impl Enqueue {
    fn format(&self) -> InputFormat {
        let by_ending = || InputFormat::of_ending(self.file.as_deref()?.extension()?);
        self.format.or_else(by_ending).unwrap_or(InputFormat::Ndjson)
    }

    fn csv_options(&self) -> Result<CsvOptions, Problem> {
        let one_character = || Problem::BadInput("--csv-delimiter must be one ASCII character".to_owned());
        Ok(CsvOptions {
            delimiter: u8::try_from(self.csv_delimiter).map_err(|_| one_character())?,
            null: self.csv_null.clone(),
        })
    }

    fn mapping(&self, config: &Config) -> Result<Option<Mapping>, Problem> {
        let Some(topic) = &self.topic else {
            return match self.format() {
                InputFormat::Ndjson => Ok(None),
                InputFormat::Csv | InputFormat::Parquet => Err(Problem::BadInput(
                    "the file does not say which topic its rows belong to; give --topic and --key".to_owned(),
                )),
            };
        };
        let op = match (self.op, config.topics.get(topic).map(|topic| topic.kind)) {
            (Some(op), _) => op,
            (None, Some(kind)) => kind.op(),
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
}
