//! Connections that have served single statements, kept out of the pool for the next one. The last comes first.
//!
//! The pool hands its connections out in turn, asks each whether it lives, and ends what may have been left open on it:
//! two round trips more for each statement, on a connection whose session was used the longest time ago. A connection that
//! has only ever run statements by themselves needs none of that. One on which anything failed goes back to the pool, and
//! all others with it: what broke one has seldom spared them.

use std::sync::{Arc, Mutex, PoisonError};

use sqlx::Postgres;
use sqlx::pool::PoolConnection;

/// Cheap to clone; all clones share them.
#[derive(Debug, Clone)]
pub(super) struct Warm {
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug)]
struct Kept {
    connections: Vec<PoolConnection<Postgres>>,
    /// None once it is closed.
    most: usize,
}

impl Warm {
    /// Keeps half of so many connections: the rest is for transactions.
    pub(super) fn half_of(max_connections: u32) -> Self {
        let kept = Kept {
            connections: Vec::new(),
            most: usize::try_from(max_connections / 2).unwrap_or(usize::MAX),
        };
        Self {
            kept: Arc::new(Mutex::new(kept)),
        }
    }

    /// The connection that was kept last.
    pub(super) fn take(&self) -> Option<PoolConnection<Postgres>> {
        self.kept().connections.pop()
    }

    /// Keeps a connection, or gives it back where there are enough.
    pub(super) fn keep(&self, connection: PoolConnection<Postgres>) -> Option<PoolConnection<Postgres>> {
        let mut kept = self.kept();
        if kept.connections.len() >= kept.most {
            return Some(connection);
        }
        kept.connections.push(connection);
        None
    }

    /// How many are kept.
    pub(super) fn count(&self) -> usize {
        self.kept().connections.len()
    }

    /// All that are kept; others may follow.
    pub(super) fn clear(&self) -> Vec<PoolConnection<Postgres>> {
        std::mem::take(&mut self.kept().connections)
    }

    /// All that are kept; none will be from now on.
    pub(super) fn close(&self) -> Vec<PoolConnection<Postgres>> {
        self.kept().most = 0;
        self.clear()
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        // Nothing panics while it is locked, and a list of connections cannot be half changed.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
