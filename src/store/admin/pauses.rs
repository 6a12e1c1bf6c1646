//! A person pauses a destination, and lets it go on.

use super::act::Act;
use super::{AdminError, AdminStore};
use crate::core::time::Timestamp;
use crate::store::database::{Args, Row, sql};
use crate::store::{StoreError, pauses};

/// A pause.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct Pause {
    /// Since when.
    pub at: Timestamp,
    /// By whom.
    pub by: String,
    /// Why.
    pub reason: String,
}

/// A destination, and whether it is paused now.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct Paused {
    /// Its name.
    pub destination: String,
    /// The pause; none if it goes on. A destination that was paused already stays so for the first one's reason.
    pub pause: Option<Pause>,
}

impl AdminStore {
    /// Begins nothing more for the destination until it is resumed. `configured` names those of the configuration.
    pub async fn pause(
        &self,
        destination: &str,
        configured: &[String],
        act: &Act,
    ) -> Result<Paused, AdminError> {
        self.require_destination(destination, configured).await?;
        pauses::pause(&self.database, destination, act.actor(), act.reason()).await?;
        Ok(self.pause_of(destination).await?)
    }

    /// Lets a paused destination go on. Nothing happens to one that is not paused.
    pub async fn resume(
        &self,
        destination: &str,
        configured: &[String],
        act: &Act,
    ) -> Result<Paused, AdminError> {
        self.require_destination(destination, configured).await?;
        let (name, act) = (destination.to_owned(), act.clone());
        self.database
            .write(move |transaction| {
                Box::pin(async move {
                    let args = Args::new().text(&name);
                    if transaction.execute(sql!(shared "resume"), args).await? > 0 {
                        pauses::audit(transaction, act.actor(), "resume", &name, Some(act.reason())).await?;
                    }
                    Ok(())
                })
            })
            .await?;
        Ok(self.pause_of(destination).await?)
    }

    async fn pause_of(&self, destination: &str) -> Result<Paused, StoreError> {
        let args = Args::new().text(destination);
        let rows = self.database.read(sql!(shared "pause_of"), args).await?;
        Ok(Paused {
            destination: destination.to_owned(),
            pause: rows.first().map(Pause::read).transpose()?,
        })
    }
}

impl Pause {
    pub(super) fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            at: row.time("paused_at")?,
            by: row.opt_text("paused_by")?.unwrap_or_default().to_owned(),
            reason: row.opt_text("pause_reason")?.unwrap_or_default().to_owned(),
        })
    }
}
