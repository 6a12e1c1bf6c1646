//! Retrying now: what waits for a later time is due at once.
//!
//! A relay that has it in memory learns of it by its next sweep, which compares what it waits for with what the database says
//! (`relay::dispatcher::offers`). What a receiver asked one row to wait is cut short too: that is what the person asks for. A
//! destination that was asked to wait as a whole still waits.

use super::by_hand::{Counts, Deed, How};
use super::filter::Selection;
use super::on_record::{Changed, outbox_ids};
use super::{Act, AdminError, AdminStore};
use crate::store::StoreError;
use crate::store::database::{Args, Transaction, sql};

/// What became of the deliveries that were selected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct Hurried {
    /// They waited for a later time, and are due now.
    pub hurried: u64,
    /// They are due already, on the wire, or have ended.
    pub left_alone: u64,
}

impl AdminStore {
    /// Makes due at once what is selected and waits for a later time.
    pub async fn retry_now(&self, selection: &Selection, act: &Act) -> Result<Hurried, AdminError> {
        let how = How::Done(act.clone(), None);
        Ok(self.settle_all(selection, Deed::RetryNow, how).await?.into())
    }

    /// What [`AdminStore::retry_now`] would do. Nothing is written.
    pub async fn would_retry_now(&self, selection: &Selection) -> Result<Hurried, AdminError> {
        let counts = self.settle_all(selection, Deed::RetryNow, How::DryRun).await?;
        Ok(counts.into())
    }
}

/// Makes those due that are still owed and wait for a later time.
pub(super) async fn hurry(
    transaction: &mut Transaction,
    destination: &str,
    ids: &[i64],
) -> Result<Changed, StoreError> {
    let args = Args::new().text(destination).ints(ids);
    let rows = transaction.rows(sql!("hurry"), args).await?;
    Ok(Changed {
        done: outbox_ids(&rows)?,
        ..Changed::default()
    })
}

impl From<Counts> for Hurried {
    fn from(counts: Counts) -> Self {
        Self {
            hurried: counts.done,
            left_alone: counts.left_alone,
        }
    }
}
