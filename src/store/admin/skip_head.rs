//! Skipping a head: what stands first of a blocked row key ends, so that the next one goes on.
//!
//! The person names the delivery that does not move; what stands before it is found here. So a request that is sent twice
//! never ends the named one itself.

use super::by_hand::Deed;
use super::cancel::Cancelled;
use super::filter::{DeliveryId, Selection};
use super::{Act, AdminError, AdminStore, walk};
use crate::core::delivery::State;
use crate::store::database::{Args, sql};

/// What became of the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct SkippedHead {
    /// The outbox row whose delivery stood first.
    pub skipped: i64,
    /// What became of it.
    #[serde(flatten)]
    pub cancelled: Cancelled,
}

impl AdminStore {
    /// Cancels the oldest delivery that is owed or uncertain and stands before `blocked`: of the same row key, to the same
    /// destination.
    pub async fn skip_head(&self, blocked: &DeliveryId, act: &Act) -> Result<SkippedHead, AdminError> {
        // What has ended waits for nobody; and one that there is not is told from one that is not blocked.
        if self.delivery(blocked).await?.delivery.state != State::Pending {
            return Err(AdminError::NotBlocked(blocked.clone()));
        }
        let args = Args::new().int(blocked.outbox_id).text(&blocked.destination);
        let rows = self.database.read(sql!("head_before"), args).await?;
        let head = rows.first().map(walk::id).transpose()?;
        let head = head.ok_or_else(|| AdminError::NotBlocked(blocked.clone()))?;
        let skipped = head.outbox_id;
        let met = self
            .settle_by_hand(&Selection::Ids(vec![head]), Deed::SkipHead, None, act)
            .await?;
        Ok(SkippedHead {
            skipped,
            cancelled: met.into(),
        })
    }
}
