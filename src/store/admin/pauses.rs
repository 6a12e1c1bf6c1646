//! A person pauses a destination, and lets it go on.

use super::{AdminError, AdminStore};
use crate::core::time::Timestamp;
use crate::store::database::{Args, Row, sql};
use crate::store::{StoreError, pauses};

/// Who changes something, and why. Both go on record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Act {
    actor: String,
    reason: String,
}

/// A pause.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Pause {
    /// Since when.
    pub at: Timestamp,
    /// By whom.
    pub by: String,
    /// Why.
    pub reason: String,
}

/// A destination, and whether it is paused now.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Paused {
    /// Its name.
    pub destination: String,
    /// The pause; none if it goes on. A destination that was paused already stays so for the first one's reason.
    pub pause: Option<Pause>,
}

impl Act {
    /// What `actor` does, for `reason`, which may not be empty.
    pub fn new(actor: &str, reason: &str) -> Result<Self, AdminError> {
        let reason = reason.trim();
        if reason.is_empty() {
            return Err(AdminError::NoReason);
        }
        Ok(Self {
            actor: actor.to_owned(),
            reason: reason.to_owned(),
        })
    }

    /// Who.
    pub fn actor(&self) -> &str {
        &self.actor
    }

    /// Why.
    pub fn reason(&self) -> &str {
        &self.reason
    }
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
        pauses::pause(&self.database, destination, &act.actor, &act.reason).await?;
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
                        pauses::audit(transaction, &act.actor, "resume", &name, Some(&act.reason)).await?;
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
