//! Tells the sessions of a run from those of others, and waits until nothing of a killed run is under way.
//!
//! The server goes on after its client is dead: what it was told last can still commit. Only PostgreSQL has sessions; a
//! process that is dead holds nothing of a SQLite file.

use std::collections::HashSet;
use std::time::Duration;

use super::error::VerifyError;
use super::trial::Trial;
use crate::store::StoreError;
use crate::store::topic::{Session, Topic};

/// How long a session of the run may stay without a transaction: one that a pooler keeps stays for ever.
const LINGER: Duration = Duration::from_secs(1);

/// What a run was doing in the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// It is not known: SQLite does not tell.
    Unknown,
    /// It had no session.
    Nothing,
    /// It had a session.
    Connected,
    /// It had written something that was not committed.
    Writing,
}

/// The sessions that were there before a run, and what they had open.
#[derive(Debug)]
pub(super) struct Others {
    sessions: HashSet<i64>,
    transactions: HashSet<String>,
}

impl Others {
    /// The sessions that there are now.
    pub(super) async fn of(topic: &Topic) -> Result<Self, StoreError> {
        let sessions = topic.sessions().await?.unwrap_or_default();
        Ok(Self {
            sessions: sessions.iter().map(|session| session.id).collect(),
            transactions: sessions
                .into_iter()
                .filter_map(|session| session.transaction)
                .collect(),
        })
    }

    /// What is done by sessions that came later.
    pub(super) async fn seen(&self, topic: &Topic) -> Result<Seen, StoreError> {
        let Some(sessions) = topic.sessions().await? else {
            return Ok(Seen::Unknown);
        };
        let ours = sessions.iter().filter(|session| !self.came_before(session));
        let seen = ours.map(|session| {
            if session.writes {
                Seen::Writing
            } else {
                Seen::Connected
            }
        });
        Ok(seen.fold(
            Seen::Nothing,
            |most, seen| if most == Seen::Writing { most } else { seen },
        ))
    }

    /// Waits until the sessions that came later have gone, and transactions that are open now have ended.
    pub(super) async fn until_gone(&self, topic: &Topic, trial: &Trial<'_>) -> Result<(), VerifyError> {
        let Some(sessions) = topic.sessions().await? else {
            return Ok(());
        };
        // Of a session that was there before, the transaction may be the run's, by way of a pooler.
        let open = sessions.into_iter().filter_map(|session| session.transaction);
        let open: HashSet<_> = open
            .filter(|transaction| !self.transactions.contains(transaction))
            .collect();
        let start = trial.around.clock.monotonic();
        loop {
            let sessions = topic.sessions().await?.unwrap_or_default();
            let waited = trial.around.clock.monotonic().saturating_sub(start);
            let is_open = |session: &Session| {
                let transaction = session.transaction.as_ref();
                transaction
                    .is_some_and(|transaction| open.contains(transaction) || !self.came_before(session))
            };
            let all_gone = sessions.iter().all(|session| self.came_before(session));
            if !sessions.iter().any(is_open) && (all_gone || waited >= LINGER) {
                return Ok(());
            }
            if waited >= trial.plan.timeout {
                return Err(VerifyError::StillOpen {
                    timeout: trial.plan.timeout,
                });
            }
            trial.pause().await?;
        }
    }

    fn came_before(&self, session: &Session) -> bool {
        self.sessions.contains(&session.id)
    }
}
