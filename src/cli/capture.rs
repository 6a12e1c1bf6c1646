//! `aftercommit capture`: what differs between an attached table and the ledger, in one transaction.

use std::time::Duration;

use super::database;
use super::exit::{Exit, Problem};
use super::output::OutputArgs;
use super::settings::Settings;
use super::words::counted;
use crate::store::Database;
use crate::store::sources::{Captured, Deletes, Extent};

/// How long a table may take to be compared.
const LONGEST: Duration = Duration::from_hours(24);

#[derive(clap::Args)]
pub(super) struct CaptureVerb {
    /// The topic to which the table is attached
    topic: String,

    /// Look only at the slice that was written: columns beside values, such as `event_date = '2025-05-18'`
    #[arg(long, value_name = "CONDITION")]
    partition: Option<String>,

    /// Rows that are gone become deletes; without it they are left
    #[arg(long)]
    deletes: bool,

    /// The part of the rows that may be deleted at most, 0 to 1; all of them never
    #[arg(long, value_name = "RATIO", default_value_t = 0.2, requires = "deletes")]
    max_delete_ratio: f64,

    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn run(verb: CaptureVerb, settings: &Settings) -> anyhow::Result<Exit> {
    if !(0.0..=1.0).contains(&verb.max_delete_ratio) {
        return Err(Problem::BadInput("--max-delete-ratio is a number from 0 to 1".to_owned()).into());
    }
    let extent = Extent {
        partition: verb.partition,
        deletes: if verb.deletes {
            Deletes::UpTo(verb.max_delete_ratio)
        } else {
            Deletes::Kept
        },
    };
    let database = patient_database(settings).await?;
    let captured = database.capture(&verb.topic, extent).await?;
    database.close().await;
    verb.output.open().print(&captured, text)?;
    Ok(Exit::Done)
}

/// The database, with the patience that a large table takes.
pub(super) async fn patient_database(settings: &Settings) -> anyhow::Result<Database> {
    let config = settings.read()?;
    let database = database::open_with(&config, |options| {
        options.statement_timeout = LONGEST;
        options.answer_timeout = LONGEST;
    });
    Ok(database.await?)
}

fn text(captured: &Captured) -> String {
    let Captured {
        admitted,
        unchanged,
        stale,
        deleted,
    } = *captured;
    let rows = counted(admitted + unchanged + stale, "row", "rows");
    let older = match stale {
        0 => String::new(),
        stale => format!(", {stale} older than what is known"),
    };
    let gone = match deleted {
        0 => String::new(),
        deleted => format!("; {} gone", counted(deleted, "row is", "rows are")),
    };
    format!("{rows}: {admitted} admitted, {unchanged} unchanged{older}{gone}")
}
