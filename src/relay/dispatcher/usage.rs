//! Passes on what the receiver says of its daily limit, for status.

use std::time::Duration;

use super::Dispatcher;
use super::events::Event;
use crate::relay::reconnect::retrying;
use crate::store::{NotedUsage, StoreError};

impl Dispatcher {
    /// Writes the receiver's last word, if that is news. Nothing else waits for it.
    pub(super) fn start_usage_note(&mut self, monotonic: Duration) {
        let heard = self.renderings.current().usage();
        let Some(heard) = self.usage.next(heard, monotonic) else {
            return;
        };
        let noted = NotedUsage {
            usage: heard.usage,
            heard_at: self.clock.now(heard.at),
        };
        let (store, abort) = (self.context.store.clone(), self.stop.abort.clone());
        let destination = self.lease.shard.destination.clone();
        self.tasks.spawn(async move {
            let noted = retrying("note", &abort, || store.note_usage(&destination, &noted)).await;
            Event::UsageNoted(noted)
        });
    }

    pub(super) fn usage_noted(&mut self, noted: Option<Result<(), StoreError>>) {
        self.usage.written();
        if let Some(Err(error)) = noted {
            let destination = &self.lease.shard.destination;
            tracing::warn!(%destination, %error, "cannot note how much of the daily limit is used; status does not show it");
        }
    }
}
