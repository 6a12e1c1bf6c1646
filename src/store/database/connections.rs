//! How many connections there are, and how many of them are at work: for whoever watches the process. Asks no database.

use super::{Database, Engine};

/// The connections of a process to its database, without those of its pulse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connections {
    /// At work.
    pub in_use: u32,
    /// Open, and free.
    pub idle: u32,
    /// Open at most.
    pub most: u32,
}

impl Database {
    /// The connections as they are now.
    pub fn connections(&self) -> Connections {
        match &self.engine {
            Engine::Postgres(postgres) => {
                // Those that are kept warm have left the pool, and yet are free.
                let warm = postgres.warm.count();
                Connections::of(&postgres.pool, warm)
            }
            Engine::Sqlite(sqlite) => {
                let (writer, readers) = (
                    Connections::of(&sqlite.writer, 0),
                    Connections::of(&sqlite.readers, 0),
                );
                Connections {
                    in_use: writer.in_use + readers.in_use,
                    idle: writer.idle + readers.idle,
                    most: writer.most + readers.most,
                }
            }
        }
    }
}

impl Connections {
    fn of<DB: sqlx::Database>(pool: &sqlx::Pool<DB>, kept: usize) -> Self {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let idle = number(pool.num_idle() + kept).min(pool.size());
        Self {
            in_use: pool.size() - idle,
            idle,
            most: pool.options().get_max_connections(),
        }
    }
}
