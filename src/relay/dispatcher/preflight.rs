//! Before the first row is sent, its receiver is looked at: one that would refuse every row pauses the destination.
//!
//! Looked at again after each pause and each change of the configuration, since that is when what was wrong is mended.
//! What cannot be seen keeps no row back. Nothing here waits; the look is a task beside the wheel.

use std::sync::Arc;

use super::Dispatcher;
use super::events::Event;
use crate::core::time::Timestamp;
use crate::destination::Destination;
use crate::destination::preflight::{Finding, Grade, refusal};

/// Where the look at the receiver stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Preflight {
    /// Nobody has looked yet.
    Due,
    /// Somebody looks.
    UnderWay,
    /// Rows may be sent.
    Done,
}

impl Dispatcher {
    /// Looks, if that is due. Whoever paused the destination is waited for first.
    pub(super) fn start_preflight(&mut self, now: Timestamp) {
        if self.intake.paused && self.preflight == Preflight::Done {
            self.preflight = Preflight::Due;
        }
        if self.preflight != Preflight::Due || self.intake.paused || self.draining() {
            return;
        }
        self.preflight = Preflight::UnderWay;
        let destination = self.renderings.shared();
        self.tasks.spawn(async move {
            let findings = destination.preflight(now).await;
            Event::Looked(destination, findings)
        });
    }

    /// The look has ended. One at what was configured before says nothing any more.
    pub(super) fn looked(&mut self, at: &Arc<dyn Destination>, findings: &[Finding]) {
        if !Arc::ptr_eq(at, &self.renderings.shared()) {
            self.preflight = Preflight::Due;
            return;
        }
        let destination = &self.lease.shard.destination;
        for finding in findings.iter().filter(|finding| finding.grade == Grade::Unclear) {
            tracing::warn!(%destination, finding = finding.sentence, "preflight: not to be seen; the rows will tell");
        }
        self.preflight = match refusal(findings) {
            Some(why) => {
                self.pause(format!("preflight: {why}"));
                // A read that was begun before the pause is recorded says that there is none: then it is looked at again.
                Preflight::Due
            }
            None => Preflight::Done,
        };
    }
}
