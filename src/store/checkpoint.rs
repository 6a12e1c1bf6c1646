//! How far an input has been enqueued in batches: kept in the transaction of each batch, so that it tells exactly what has
//! been committed.

use super::database::{Args, Database, Transaction, sql};
use super::{Objection, StoreError};

/// How far an input has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checkpoint {
    /// How many rows, good and bad.
    pub rows: u64,
    /// The line of the last of them, from 1.
    pub line: u64,
    /// A digest of all of them: another input has another.
    pub digest: [u8; 32],
}

impl Checkpoint {
    /// The checkpoint of this name.
    pub async fn find(database: &Database, name: &str) -> Result<Option<Self>, StoreError> {
        let rows = database
            .read(sql!(shared "checkpoint"), Args::new().text(name))
            .await?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let digest = row.opt_bytes("digest")?.and_then(|digest| digest.try_into().ok());
        Ok(Some(Self {
            rows: row.int("rows_read")?,
            line: row.int("line")?,
            digest: digest.ok_or_else(|| {
                StoreError::Unexpected(format!("the checkpoint `{name}` has no sound digest"))
            })?,
        }))
    }

    /// Keeps it in place of `known`, the one of this name that the run went on from. Refused where that is no longer there.
    pub(crate) async fn keep(
        &self,
        transaction: &mut Transaction,
        name: &str,
        known: Option<&Self>,
    ) -> Result<(), StoreError> {
        let args = Args::new()
            .text(name)
            .int(self.rows.cast_signed())
            .int(self.line.cast_signed())
            .bytes(self.digest.to_vec())
            .int(known.map(|known| known.rows.cast_signed()))
            .bytes(known.map(|known| known.digest.to_vec()));
        let kept = transaction.execute(sql!(shared "keep_checkpoint"), args).await?;
        moved_on(kept, name)
    }

    /// Forgets it. Refused where it is no longer there.
    pub(crate) async fn forget(&self, transaction: &mut Transaction, name: &str) -> Result<(), StoreError> {
        let forgotten = transaction
            .execute(sql!(shared "forget_checkpoint"), self.args(name))
            .await?;
        moved_on(forgotten, name)
    }

    /// Forgets it, in a transaction of its own, if it is still there.
    pub async fn discard(&self, database: &Database, name: &str) -> Result<(), StoreError> {
        database
            .run(sql!(shared "forget_checkpoint"), self.args(name))
            .await?;
        Ok(())
    }

    /// What tells it from another of this name.
    fn args(&self, name: &str) -> Args {
        Args::new()
            .text(name)
            .int(self.rows.cast_signed())
            .bytes(self.digest.to_vec())
    }
}

fn moved_on(changed: u64, name: &str) -> Result<(), StoreError> {
    match changed {
        0 => Err(StoreError::Refused(Objection::new(
            format!("another run has moved the checkpoint `{name}` meanwhile"),
            "let it end, or give this one another name",
        ))),
        _ => Ok(()),
    }
}
