//! `aftercommit migrate`: makes the tables, or brings them up to date.
//!
//! Safe to repeat, and for several to do at once.

use serde::Serialize;
use uuid::Uuid;

use super::database;
use super::exit::Exit;
use super::output::OutputArgs;
use super::settings::Settings;
use crate::store::{MissingFile, SCHEMA_VERSION};

#[derive(clap::Args)]
pub(super) struct Migrate {
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Serialize)]
struct Migrated {
    from: Option<i64>,
    to: i64,
}

pub(super) async fn run(verb: &Migrate, settings: &Settings) -> anyhow::Result<Exit> {
    let config = settings.read()?;
    let database = database::connect(&config, MissingFile::Create)?;
    let from = database.schema_version().await.unwrap_or(None);
    let namespace = config
        .database
        .namespace
        .unwrap_or_else(|| Uuid::new_v4().simple().to_string());
    database.migrate(&namespace).await?;
    database.close().await;
    let migrated = Migrated {
        from,
        to: SCHEMA_VERSION,
    };
    verb.output
        .open()
        .print(&migrated, |migrated| match migrated.from {
            Some(from) if from == migrated.to => format!("schema version {from}: nothing to do"),
            Some(from) => format!("migrated from schema version {from} to {}", migrated.to),
            None => format!("made the tables, schema version {}", migrated.to),
        })?;
    Ok(Exit::Done)
}
