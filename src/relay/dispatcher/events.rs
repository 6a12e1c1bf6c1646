//! What comes back from the tasks of a dispatcher, and what it does about each.

use std::sync::Arc;

use tokio::task::{Id, JoinError};

use super::Dispatcher;
use super::bulk::JobEvent;
use super::reads::Reading;
use super::renderings::Renderings;
use crate::core::outcome::Report;
use crate::destination::Destination;
use crate::destination::preflight::Finding;
use crate::relay::Active;
use crate::store::{Recorded, StoreError};

/// What a task of the dispatcher ends with. `None`: it was aborted.
pub(super) enum Event {
    /// Something was read.
    Read(Option<Result<Reading, StoreError>>),
    /// The record in progress is committed.
    Recorded(Option<Result<Recorded, StoreError>>),
    /// What a changed configuration is rendered under is kept.
    Opened(Arc<Active>, Option<Result<Renderings, StoreError>>),
    /// How the shard fares is noted, or could not be.
    Noted(Option<Result<(), StoreError>>),
    /// What the receiver says of its daily limit is noted, or could not be.
    UsageNoted(Option<Result<(), StoreError>>),
    /// The receiver was looked at.
    Looked(Arc<dyn Destination>, Vec<Finding>),
    /// The destination is paused.
    Paused(Option<Result<(), StoreError>>),
    /// A job is a step further.
    Job(JobEvent),
    /// An answer came, one report per delivery.
    Sent(Vec<Report>),
}

impl Dispatcher {
    /// Takes note of one event.
    pub(super) fn handle(&mut self, event: Result<(Id, Event), JoinError>) -> Result<(), StoreError> {
        match event {
            Ok((
                _,
                Event::Read(None) | Event::Recorded(None) | Event::Opened(_, None) | Event::Paused(None),
            )) => Ok(()),
            Ok((_, Event::Paused(Some(paused)))) => {
                self.intake.pause_is_written();
                paused
            }
            Ok((_, Event::Looked(at, findings))) => {
                self.looked(&at, &findings);
                Ok(())
            }
            Ok((_, Event::Noted(noted))) => {
                self.noted(noted);
                Ok(())
            }
            Ok((_, Event::UsageNoted(noted))) => {
                self.usage_noted(noted);
                Ok(())
            }
            Ok((_, Event::Opened(active, Some(renderings)))) => {
                self.adopt(&active, renderings?);
                Ok(())
            }
            Ok((_, Event::Read(Some(reading)))) => {
                self.read(reading?);
                Ok(())
            }
            Ok((_, Event::Recorded(Some(recorded)))) => {
                let recorded = recorded?;
                self.recorded(&recorded);
                Ok(())
            }
            Ok((id, Event::Job(event))) => {
                self.job_moved(id, event);
                Ok(())
            }
            Ok((id, Event::Sent(reports))) => {
                self.sent(id, reports);
                Ok(())
            }
            Err(error) => self.panicked(&error),
        }
    }

    /// A request that panicked has an unknown outcome; a panic anywhere else is a bug that ends the process.
    fn panicked(&mut self, error: &JoinError) -> Result<(), StoreError> {
        let flight = self.sender.landed(error.id());
        let Some(flight) = flight.or_else(|| self.bulk.landed(error.id())) else {
            return Err(StoreError::Unexpected(format!(
                "a task of the dispatcher failed: {error}"
            )));
        };
        tracing::error!(destination = %self.lease.shard.destination, "a request panicked; its outcome is unknown");
        let reports = flight
            .deliveries
            .iter()
            .map(|_| Report::unknown("the request panicked"))
            .collect();
        self.answered(flight, reports);
        Ok(())
    }
}
