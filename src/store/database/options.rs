//! How many connections, and how long the database may take.

use std::time::Duration;

pub use crate::config::Pooler;

/// Limits of the connections to the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseOptions {
    /// Connections at most, beside two for heartbeats and leases. SQLite: connections that read; one more writes, and one
    /// watches.
    pub max_connections: u32,
    /// How long a caller waits for a connection.
    pub acquire_timeout: Duration,
    /// How long one statement may run. The server ends it.
    pub statement_timeout: Duration,
    /// How long a statement may wait for a lock; on SQLite, for another process that writes.
    pub lock_timeout: Duration,
    /// How long a transaction may stand idle before the server ends it.
    pub idle_in_transaction_timeout: Duration,
    /// How long an answer is waited for before the connection is given up (PostgreSQL). Longer than `statement_timeout`:
    /// it is for a network that swallows what is sent, and the server speaks first where it can be heard.
    pub answer_timeout: Duration,
    /// What to do where a SQLite file is missing.
    pub missing_file: MissingFile,
    /// What stands between this program and PostgreSQL.
    pub pooler: Pooler,
}

/// What to do where a SQLite file is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingFile {
    /// Say so. The address can still ask for a new file with `?mode=rwc`.
    Refuse,
    /// Make an empty one.
    Create,
}

impl Default for DatabaseOptions {
    fn default() -> Self {
        Self {
            max_connections: 8,
            acquire_timeout: Duration::from_secs(10),
            statement_timeout: Duration::from_secs(30),
            lock_timeout: Duration::from_secs(10),
            idle_in_transaction_timeout: Duration::from_secs(30),
            answer_timeout: Duration::from_secs(35),
            missing_file: MissingFile::Refuse,
            pooler: Pooler::None,
        }
    }
}
