//! Which destinations there are: the one place that decides whether a name that a person gave is one.
//!
//! A misspelt name would match nothing, and look as if there were nothing to match.

use super::filter::{DeliveryFilter, Selection};
use super::{AdminError, AdminStore, ReplaySelection, walk};

impl AdminStore {
    /// Refuses a selection that names a destination which neither the configuration nor the database knows: one that was
    /// removed is known by what it was owed. `configured` names those of the configuration.
    pub async fn require_destinations(
        &self,
        selection: &Selection,
        configured: &[String],
    ) -> Result<(), AdminError> {
        let mut names = selection.destinations();
        names.sort_unstable();
        names.dedup();
        for name in names {
            self.require_destination(name, configured).await?;
        }
        Ok(())
    }

    /// The same for what a replay is about.
    pub async fn require_replay_destinations(
        &self,
        selection: &ReplaySelection,
        configured: &[String],
    ) -> Result<(), AdminError> {
        match selection {
            ReplaySelection::Known(selection) => self.require_destinations(selection, configured).await,
            ReplaySelection::Missing { missing } => {
                self.require_destination(&missing.destination, configured).await
            }
        }
    }

    /// The same for one name.
    pub async fn require_destination(
        &self,
        destination: &str,
        configured: &[String],
    ) -> Result<(), AdminError> {
        if configured.iter().any(|name| name == destination) {
            return Ok(());
        }
        let mut known = walk::known_destinations(&self.database).await?;
        if known.iter().any(|name| name == destination) {
            return Ok(());
        }
        known.extend(configured.iter().cloned());
        known.sort_unstable();
        known.dedup();
        let name = destination.to_owned();
        Err(AdminError::UnknownDestination { name, known })
    }
}

impl Selection {
    fn destinations(&self) -> Vec<&str> {
        match self {
            Self::Ids(ids) => ids.iter().map(|id| id.destination.as_str()).collect(),
            Self::Filter(DeliveryFilter { destination, .. }) => destination.as_deref().into_iter().collect(),
            Self::All => vec![],
        }
    }
}
