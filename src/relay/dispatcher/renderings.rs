//! What was sent once is what is resent: renderings by the ids that the store keeps them under.
//!
//! A delivery that was never attempted is rendered under the current configuration; one that was, under the rendering
//! of its first attempt, to its end.

use std::collections::HashMap;
use std::sync::Arc;

use crate::destination::{Destination, Rendering, UnknownRendering};
use crate::relay::Active;
use crate::store::{Store, StoreError};

/// The renderings that are known, and the destination under each that was needed.
pub(super) struct Renderings {
    current: i64,
    destination: Arc<dyn Destination>,
    specs: HashMap<i64, String>,
    ready: HashMap<i64, Arc<dyn Destination>>,
}

impl Renderings {
    /// Keeps the rendering of a configuration, and reads every other. While a shard is leased, only its owner adds any
    /// that matter to it.
    pub(super) async fn open(store: &dyn Store, active: &Active) -> Result<Self, StoreError> {
        let current = store.keep_rendering(&active.destination.rendering().0).await?;
        Ok(Self {
            current,
            specs: store.renderings().await?,
            // URL, secrets and time-outs are not part of a rendering: they follow the configuration at once.
            ready: HashMap::from([(current, active.destination.clone())]),
            destination: active.destination.clone(),
        })
    }

    /// The same for whoever only looks: nothing is kept.
    pub(super) async fn look(store: &dyn Store, active: &Active) -> Result<Self, StoreError> {
        let specs = store.renderings().await?;
        let spec = active.destination.rendering().0;
        let kept = specs.iter().find(|(_, kept)| **kept == spec).map(|(id, _)| *id);
        // One that was never kept is told from the others all the same.
        let current = kept.unwrap_or_else(|| specs.keys().max().map_or(1, |last| last + 1));
        Ok(Self {
            current,
            specs,
            ready: HashMap::from([(current, active.destination.clone())]),
            destination: active.destination.clone(),
        })
    }

    pub(super) fn current(&self) -> &dyn Destination {
        &*self.destination
    }

    /// The same, for a task.
    pub(super) fn shared(&self) -> Arc<dyn Destination> {
        self.destination.clone()
    }

    pub(super) fn current_id(&self) -> i64 {
        self.current
    }

    /// What a delivery is rendered under, given the rendering of its first attempt.
    pub(super) fn of(
        &mut self,
        recorded: Option<i64>,
    ) -> Result<(i64, Arc<dyn Destination>), UnknownRendering> {
        let id = recorded.unwrap_or(self.current);
        if let Some(destination) = self.ready.get(&id) {
            return Ok((id, destination.clone()));
        }
        let spec = self.specs.get(&id).ok_or_else(|| UnknownRendering {
            why: format!("there is no number {id}"),
        })?;
        let destination: Arc<dyn Destination> = self.destination.under(&Rendering(spec.clone()))?.into();
        self.ready.insert(id, destination.clone());
        Ok((id, destination))
    }
}
