//! Where a run begins: at the first row, or behind the last checkpoint of an earlier run of the same input.

use std::num::NonZeroU64;
use std::path::Path;

use super::super::exit::Problem;
use super::super::progress::{Progress, say};
use super::super::words::counted;
use super::input::Input;
use crate::capture::{Batches, Prefix, Rows};
use crate::store::{Checkpoint, Database};

/// Where a run begins.
pub(super) struct Start {
    pub(super) rows: Rows,
    pub(super) prefix: Prefix,
    pub(super) batches: Option<Batches>,
    pub(super) progress: Progress,
    /// The line of the checkpoint, where the run goes on from one.
    pub(super) resumed_after: Option<u64>,
}

impl Start {
    /// All rows, in one transaction.
    pub(super) fn whole(rows: Rows, progress: Progress) -> Self {
        Self {
            rows,
            prefix: Prefix::default(),
            batches: None,
            progress,
            resumed_after: None,
        }
    }

    /// In batches, from the checkpoint on if there is one and the input begins as it did then.
    pub(super) async fn in_batches(
        database: &Database,
        input: &Input,
        mut rows: Rows,
        progress: Progress,
        batch_rows: NonZeroU64,
        checkpoint: Option<String>,
    ) -> anyhow::Result<Self> {
        let name = match (checkpoint, &input.file) {
            (Some(name), _) => name,
            (None, Some(path)) => name_of(path, input)?,
            (None, None) => {
                let problem =
                    "standard input has no name to remember it by; give --checkpoint a name of its own";
                return Err(Problem::BadInput(problem.to_owned()).into());
            }
        };
        let found = Checkpoint::find(database, &name).await?;
        let start = |rows, progress| Self {
            batches: Some(Batches {
                rows: batch_rows,
                checkpoint: name.clone(),
                found,
            }),
            ..Self::whole(rows, progress)
        };
        let Some(found) = found else {
            return Ok(start(rows, progress));
        };
        let (prefix, rows) = tokio::task::spawn_blocking(move || {
            let prefix = Prefix::skip(&mut rows, &found);
            (prefix, rows)
        })
        .await?;
        if let Some(prefix) = prefix? {
            let committed = counted(found.rows, "row", "rows");
            say(&format!(
                "going on after line {}: {committed} were committed before",
                found.line
            ));
            return Ok(Self {
                prefix,
                resumed_after: Some(found.line),
                ..start(rows, progress)
            });
        }
        progress.done();
        if input.file.is_none() {
            found.discard(database, &name).await?;
            let problem = format!(
                "standard input does not begin as it did when the checkpoint `{name}` was kept; that is forgotten now, so the \
                 same command begins anew"
            );
            return Err(Problem::BadInput(problem).into());
        }
        say("the file is not what it was when its checkpoint was kept: beginning anew");
        let (rows, progress) = input.open()?;
        Ok(start(rows, progress))
    }
}

/// After an error: what was committed before it is not lost.
pub(super) async fn tell_how_to_go_on(database: &Database, name: &str) {
    // Where the database is away, it has been said already.
    if let Ok(Some(checkpoint)) = Checkpoint::find(database, name).await {
        say(&format!(
            "lines 1 to {} are committed; the same command goes on behind them",
            checkpoint.line
        ));
    }
}

fn name_of(path: &Path, input: &Input) -> anyhow::Result<String> {
    let path = path.canonicalize()?.display().to_string();
    Ok(match &input.mapping {
        None => path,
        Some(mapping) => format!("{path} to {}", mapping.topic),
    })
}
