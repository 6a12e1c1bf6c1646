//! Tells the sessions of a run from those of others, and waits until nothing of a killed run is under way.
//!
//! The server goes on after its client is dead: what it was told last can still commit. Only PostgreSQL has sessions; of a
//! SQLite file the system tells who writes, and a process that is dead holds nothing of it.

use std::collections::HashSet;
use std::time::Duration;

use super::error::VerifyError;
use super::locks;
use super::picture::Picture;
use super::trial::Trial;
use crate::store::StoreError;
use crate::store::topic::{Session, Topic};

/// How long a session of the run may stay without a transaction: one that a pooler keeps stays for ever.
const LINGER: Duration = Duration::from_secs(1);

/// Pictures that are kept of what could be seen while the server went on.
const KEPT: usize = 16;

/// What a run was doing in the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// It is not known: SQLite does not tell, nor does this system.
    Unknown,
    /// It had no session, or did not write (SQLite).
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
        topic.warm_up().await?;
        let sessions = topic.sessions().await?.unwrap_or_default();
        Ok(Self {
            sessions: sessions.iter().map(|session| session.id).collect(),
            transactions: sessions
                .into_iter()
                .filter_map(|session| session.transaction)
                .collect(),
        })
    }

    /// What is done by sessions that came later, or by the processes of `group` (SQLite).
    pub(super) async fn seen(&self, topic: &Topic, group: u32) -> Result<Seen, StoreError> {
        let Some(sessions) = topic.sessions().await? else {
            let writes = topic
                .lock_file()
                .and_then(|file| locks::is_written_by(group, file));
            return Ok(match writes {
                Some(true) => Seen::Writing,
                Some(false) => Seen::Nothing,
                None => Seen::Unknown,
            });
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

    /// Waits until the sessions that came later have gone, and transactions that are open now have ended; `glimpses` sees what
    /// comes into sight meanwhile.
    pub(super) async fn until_gone(
        &self,
        topic: &Topic,
        trial: &Trial<'_>,
        glimpses: &mut Glimpses,
    ) -> Result<(), VerifyError> {
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
            glimpses.look(trial).await?;
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

/// What could be seen of the topic from a kill on, while the server went on with what the run had told it.
#[derive(Debug)]
pub(super) struct Glimpses {
    /// The last outbox id at the last look.
    mark: i64,
    pub(super) pictures: Vec<Picture>,
}

impl Glimpses {
    /// For what comes after the outbox id `mark`.
    pub(super) fn since(mark: i64) -> Self {
        Self {
            mark,
            pictures: vec![],
        }
    }

    /// Looks, if rows have come since the last look.
    pub(super) async fn look(&mut self, trial: &Trial<'_>) -> Result<(), VerifyError> {
        let mark = trial.topic.mark().await?;
        if mark == self.mark || self.pictures.len() == KEPT {
            return Ok(());
        }
        self.mark = mark;
        let picture = trial.picture().await?;
        if self.pictures.last() != Some(&picture) {
            self.pictures.push(picture);
        }
        Ok(())
    }
}
