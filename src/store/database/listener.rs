//! The wake-up on PostgreSQL: a connection of its own that listens, and sleeps only while nobody works.
//!
//! ```text
//!           no transaction is open that made rows owed unheard
//!   awake ──────────────────────────────────────────────────────▶ asleep   holds the sleepers' lock: each commit notifies
//!     ▲                                                              │
//!     └────────── the first of them was heard; the lock is let go ───┘
//! ```
//!
//! The other half is `aftercommit.wake_relays()` in `migrations/postgres/0002_admission.sql`. While one relay is awake
//! nobody notifies, so that a busy database pays nothing. Of several relays one sleeps with the lock, and all of them hear
//! what is said to it. The lock belongs to the connection: where that ends, however it does, the lock is gone.

use std::time::Duration;

use sqlx::postgres::{PgConnection, PgListener, PgPool, PgPoolOptions};
use sqlx::{Acquire as _, AssertSqlSafe, Connection as _, Row as _};
use tokio::time::timeout;

use super::Postgres;
use crate::store::error::StoreError;

const CHANNEL: &str = "aftercommit";
/// How soon after it woke a relay tries to fall asleep again. Each time that it cannot, it waits twice as long.
const FIRST_TRY: Duration = Duration::from_millis(1);
/// How long it waits at most.
const LAST_TRY: Duration = Duration::from_millis(250);
/// How often a sleeper says that it lives; the server ends a session that is silent for three times as long.
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);
/// How long an answer is waited for. Nothing that is said here takes long.
const PATIENCE: Duration = Duration::from_secs(10);

/// A connection that listens.
pub(super) struct Listener {
    connection: PgListener,
    session: i32,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Holds the lock: whoever commits notifies.
    Asleep,
    /// Was notified, and still holds the lock.
    Roused,
    /// Commits go unheard, or another relay holds the lock.
    Awake { try_after: Duration },
}

impl Listener {
    /// Connects and listens; `None` behind a pooler that lends a session for no longer than a transaction.
    pub(super) async fn open(postgres: &Postgres) -> Result<Option<Self>, StoreError> {
        if postgres.is_lent() {
            return Ok(None);
        }
        // Each as one text, for which nothing is prepared: a pooler might lend a session for each half.
        let asked_at: i64 = sqlx::raw_sql(include_str!("../sql/postgres/clock.sql"))
            .fetch_one(&postgres.pool)
            .await?
            .try_get(0)?;
        let mut listener = PgListener::connect_with(&pool_of_one(&postgres.pool)).await?;
        listener.eager_reconnect(false);
        let connection = listener.acquire().await?;
        let listen = include_str!("../sql/postgres/listen.sql").replace("$1", &asked_at.to_string());
        let answer = sqlx::raw_sql(AssertSqlSafe(listen))
            .fetch_one(&mut *connection)
            .await?;
        let (session, lent): (i32, bool) = (answer.try_get("session")?, answer.try_get("lent")?);
        if lent {
            return Ok(None);
        }
        sqlx::raw_sql(include_str!("../sql/postgres/listener_session.sql"))
            .execute(connection)
            .await?;
        listener.listen(CHANNEL).await?;
        Ok(Some(Self {
            connection: listener,
            session,
            state: State::Awake {
                try_after: Duration::ZERO,
            },
        }))
    }

    /// Returns when somebody may have committed.
    pub(super) async fn next(&mut self) -> Result<(), StoreError> {
        loop {
            match self.state {
                State::Asleep => {
                    if self.heard_within(SIGN_OF_LIFE).await? {
                        // The lock is let go with the next call: who waits for this one looks meanwhile.
                        self.state = State::Roused;
                        return Ok(());
                    }
                    self.say_alive().await?;
                }
                State::Roused => {
                    self.let_go().await?;
                    self.state = State::Awake { try_after: FIRST_TRY };
                }
                State::Awake { try_after } => {
                    if self.heard_within(try_after).await? {
                        self.state = State::Awake { try_after: FIRST_TRY };
                    } else {
                        self.state = if self.fall_asleep().await? {
                            State::Asleep
                        } else {
                            let twice = (try_after * 2).clamp(FIRST_TRY, LAST_TRY);
                            State::Awake { try_after: twice }
                        };
                    }
                    // In either case: what was committed unheard until now is in sight now.
                    return Ok(());
                }
            }
        }
    }

    /// Whether a notification came within `time`; several that came together count as one.
    async fn heard_within(&mut self, time: Duration) -> Result<bool, StoreError> {
        match timeout(time, self.connection.try_recv()).await {
            Err(_) => Ok(false),
            Ok(Ok(Some(_))) => {
                while self.connection.next_buffered().is_some() {}
                Ok(true)
            }
            Ok(Ok(None)) => Err(StoreError::Unavailable("the connection broke".to_owned())),
            Ok(Err(error)) => Err(error.into()),
        }
    }

    async fn fall_asleep(&mut self) -> Result<bool, StoreError> {
        self.in_own_session(include_str!("../sql/postgres/fall_asleep.sql"))
            .await
    }

    async fn let_go(&mut self) -> Result<(), StoreError> {
        if self
            .in_own_session(include_str!("../sql/postgres/awake.sql"))
            .await?
        {
            return Ok(());
        }
        Err(StoreError::Unexpected(
            "the sleepers' lock was not this session's".to_owned(),
        ))
    }

    /// Runs a statement that says whether it did what it is for.
    async fn in_own_session(&mut self, statement: &'static str) -> Result<bool, StoreError> {
        let own = self.session;
        let answer = sqlx::query_as(statement).fetch_one(self.own().await?);
        let (session, done): (i32, bool) = timeout(PATIENCE, answer).await.map_err(|_| silent())??;
        if session == own {
            return Ok(done);
        }
        Err(StoreError::Unavailable(
            "a pooler in transaction mode answers for it; say so in `database.pooler`".to_owned(),
        ))
    }

    async fn say_alive(&mut self) -> Result<(), StoreError> {
        let answer = timeout(PATIENCE, self.own().await?.ping()).await;
        Ok(answer.map_err(|_| silent())??)
    }

    async fn own(&mut self) -> Result<&mut PgConnection, StoreError> {
        Ok(self.connection.acquire().await?)
    }
}

fn silent() -> StoreError {
    StoreError::Unavailable("no answer came in time; check the network between here and there".to_owned())
}

/// `PgListener` takes its connection from a pool; this one ends with it, and a session with its connection.
fn pool_of_one(like: &PgPool) -> PgPool {
    PgPoolOptions::new()
        .max_connections(1)
        .acquire_timeout(like.options().get_acquire_timeout())
        .max_lifetime(None)
        .idle_timeout(None)
        .connect_lazy_with(like.connect_options().as_ref().clone())
}
