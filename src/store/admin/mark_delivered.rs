//! Marking as delivered: a person has evidence that the receiver took what is uncertain, or was given up.
//!
//! The evidence goes on record with the act. An uncertain delivery lets go of its row key with it, and an older version of
//! its row is overtaken from then on, as if the answer had come.

use super::by_hand::{Counts, Deed, How};
use super::filter::Selection;
use super::on_record::{Changed, outbox_ids};
use super::{Act, AdminError, AdminStore};
use crate::store::StoreError;
use crate::store::database::{Args, Transaction, sql};

/// The longest evidence, in characters.
pub const MAX_EVIDENCE_CHARS: usize = 4_000;

/// How a person knows that the receiver took it. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence(String);

/// What became of the deliveries that were selected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct Marked {
    /// They are delivered, with the reason `confirmed`.
    pub marked: u64,
    /// They are neither uncertain nor dead.
    pub left_alone: u64,
}

impl Evidence {
    /// What is known and from where, for example the id that the receiver gave; 1 to [`MAX_EVIDENCE_CHARS`]
    /// characters.
    pub fn new(text: &str) -> Result<Self, AdminError> {
        let text = text.trim();
        match text.chars().count() {
            0 => Err(AdminError::NoEvidence),
            long if long > MAX_EVIDENCE_CHARS => Err(AdminError::LongEvidence(long)),
            _ => Ok(Self(text.to_owned())),
        }
    }

    /// As it goes on record.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl AdminStore {
    /// Marks as delivered what is selected and uncertain or dead.
    pub async fn mark_delivered(
        &self,
        selection: &Selection,
        evidence: &Evidence,
        act: &Act,
    ) -> Result<Marked, AdminError> {
        let how = How::Done(act.clone(), Some(evidence.clone()));
        let counts = self.settle_all(selection, Deed::MarkDelivered, how).await?;
        Ok(counts.into())
    }

    /// What [`AdminStore::mark_delivered`] would do. Nothing is written.
    pub async fn would_mark_delivered(&self, selection: &Selection) -> Result<Marked, AdminError> {
        let deed = Deed::MarkDelivered;
        Ok(self.settle_all(selection, deed, How::DryRun).await?.into())
    }
}

/// Marks those that are still uncertain or dead.
pub(super) async fn mark(
    transaction: &mut Transaction,
    destination: &str,
    ids: &[i64],
) -> Result<Changed, StoreError> {
    let args = Args::new().text(destination).ints(ids);
    let rows = transaction.rows(sql!("mark_delivered"), args).await?;
    Ok(Changed {
        done: outbox_ids(&rows)?,
        ..Changed::default()
    })
}

impl From<Counts> for Marked {
    fn from(counts: Counts) -> Self {
        Self {
            marked: counts.done,
            left_alone: counts.left_alone,
        }
    }
}
