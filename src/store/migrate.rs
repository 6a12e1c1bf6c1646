//! The schema: bringing it up to date, and saying in a sentence what is wrong with it.
//!
//! Migrations are compiled in; which of them a database has had stands in its table `migration`. Several programs may
//! migrate at once: one transaction goes around all, on PostgreSQL under a lock.

use std::borrow::Cow;
use std::time::Duration;

use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::postgres::{PgConnection, PgPool};
use sqlx::sqlite::{SqliteConnection, SqlitePool};
use sqlx::{ConnectOptions as _, Connection as _, Row as _, SqlSafeStr as _};
use tokio::time::timeout;

use super::database::{Args, Database, Engine, only, sql};
use super::error::{Objection, StoreError};

/// The oldest PostgreSQL that its own makers still mend. What the schema needs is in version 13 already.
const OLDEST_POSTGRES: i64 = 140_000;

/// The migrations of one database, as (version, name, text).
type Migrations = &'static [(i64, &'static str, &'static str)];

macro_rules! migrations {
    ($database:literal: $($version:literal $name:literal),+) => {
        &[$((
            $version,
            $name,
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/", $database, "/", $name, ".sql")),
        )),+]
    };
}

const POSTGRES: Migrations = migrations!("postgres": 1 "0001_tables", 2 "0002_admission", 3 "0003_sources", 4 "0004_capture", 5 "0005_attach", 6 "0006_attached");
const SQLITE: Migrations = migrations!("sqlite": 1 "0001_tables", 2 "0002_admission", 3 "0003_sources", 4 "0004_capture", 5 "0005_attach", 6 "0006_attached");

/// The schema version that this program brings.
pub const SCHEMA_VERSION: i64 = POSTGRES[POSTGRES.len() - 1].0;

impl Database {
    /// Brings the schema up to date. A database that has no namespace yet gets `namespace`, which goes into every key:
    /// a fresh random text, or what the configuration says.
    pub async fn migrate(&self, namespace: &str) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Postgres(postgres) => {
                let pool = postgres.pool.clone();
                self.in_a_task(async move {
                    // Without the time-outs of the pool: a migration may take long, and waits for another that runs.
                    let mut connection = connect(&pool).await?;
                    require_version(server_version(&mut connection).await?)?;
                    // The driver's own lock is the session's, which a pooler lends to others; this one is the
                    // transaction's.
                    let mut transaction = connection.begin().await?;
                    sqlx::raw_sql(include_str!("sql/postgres/lock_migration.sql"))
                        .execute(&mut *transaction)
                        .await?;
                    migrate_postgres(&mut transaction).await?;
                    crate::crash_point!("in_migration");
                    // The driver names what it prepares, and a pooler lends the session to others next.
                    sqlx::raw_sql("deallocate all").execute(&mut *transaction).await?;
                    transaction.commit().await?;
                    Ok(connection.close().await?)
                })
                .await?;
            }
            Engine::Sqlite(sqlite) => {
                let writer = sqlite.writer.clone();
                self.in_a_task(async move {
                    let patience = writer.options().get_acquire_timeout();
                    timeout(patience, first_contact(&writer))
                        .await
                        .map_err(|_| busy())??;
                    // The driver has no lock for SQLite; a transaction around the whole is one.
                    let mut transaction = writer.begin_with("begin immediate").await?;
                    migrate_sqlite(&mut transaction).await?;
                    crate::crash_point!("in_migration");
                    Ok(transaction.commit().await?)
                })
                .await?;
            }
        }
        crate::crash_point!("after_migration");
        let args = Args::new().text(namespace);
        self.run(sql!(shared "add_namespace"), args).await?;
        Ok(())
    }

    /// The version of the schema, or nothing if there is none.
    pub async fn schema_version(&self) -> Result<Option<i64>, StoreError> {
        match self.read(sql!(shared "schema_version"), Args::new()).await {
            Ok(rows) => only(rows)?.opt_int("version"),
            Err(StoreError::NotMigrated) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether this program can work with the database: it answers, takes writes, and has the right schema.
    pub async fn check(&self) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Postgres(postgres) => {
                let pool = postgres.pool.clone();
                self.in_a_task(async move {
                    // Not from the pool, which says no more than that nothing came in time.
                    let mut connection = connect(&pool).await?;
                    let asking = server_version(&mut connection);
                    let version = timeout(pool.options().get_acquire_timeout(), asking).await;
                    require_version(version.map_err(|_| silent())??)?;
                    Ok(connection.close().await?)
                })
                .await?;
            }
            Engine::Sqlite(_) => {}
        }
        match self.schema_version().await? {
            None => return Err(StoreError::NotMigrated),
            Some(found) if found < SCHEMA_VERSION => {
                let needed = SCHEMA_VERSION;
                return Err(StoreError::TooOld { found, needed });
            }
            Some(found) if found > SCHEMA_VERSION => {
                let known = SCHEMA_VERSION;
                return Err(StoreError::TooNew { found, known });
            }
            Some(_) => {}
        }
        // A write that changes nothing: a replica, a read-only file or a full disk refuses it.
        self.run(sql!(shared "try_to_write"), Args::new()).await?;
        Ok(())
    }
}

async fn migrate_postgres(connection: &mut PgConnection) -> Result<(), StoreError> {
    let mut migrator = migrator(POSTGRES);
    migrator.set_locking(false);
    migrator.create_schema("aftercommit");
    migrator.dangerous_set_table_name("aftercommit.migration");
    migrator
        .run_direct(None, connection, false)
        .await
        .map_err(migration_error)
}

/// How long after a refusal a new file is tried again.
const TRY_AGAIN: Duration = Duration::from_millis(10);

/// Opens the file to write. Of several that open a new one at once, all want to change its journal, and SQLite lets all but
/// one fail right away, whatever the time-out says.
async fn first_contact(writer: &SqlitePool) -> Result<(), StoreError> {
    loop {
        match writer.acquire().await.map_err(StoreError::from) {
            Err(error) if error.is_transient() => tokio::time::sleep(TRY_AGAIN).await,
            opened => return opened.map(drop),
        }
    }
}

fn busy() -> StoreError {
    StoreError::Unavailable("another program writes to the file for long: end its transaction".to_owned())
}

async fn migrate_sqlite(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    let mut migrator = migrator(SQLITE);
    migrator.dangerous_set_table_name("migration");
    migrator
        .run_direct(None, connection, false)
        .await
        .map_err(migration_error)
}

fn migrator(migrations: Migrations) -> Migrator {
    let migration = |&(version, name, text): &(i64, &'static str, &'static str)| {
        let no_transaction = false;
        Migration::new(
            version,
            Cow::Borrowed(name),
            MigrationType::Simple,
            text.into_sql_str(),
            no_transaction,
        )
    };
    Migrator::with_migrations(migrations.iter().map(migration).collect())
}

fn migration_error(error: MigrateError) -> StoreError {
    match error {
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => error.into(),
        MigrateError::VersionMissing(found) => StoreError::TooNew {
            found,
            known: SCHEMA_VERSION,
        },
        MigrateError::VersionMismatch(version) => StoreError::Refused(Objection::new(
            format!("migration {version} of this database is not the one that this program brings"),
            "use the program that made it",
        )),
        other => StoreError::Unexpected(other.to_string()),
    }
}

/// A connection that does not belong to the pool.
async fn connect(pool: &PgPool) -> Result<PgConnection, StoreError> {
    let options = pool.connect_options();
    // Nothing is lost where this future is dropped: no transaction has begun.
    let connected = timeout(pool.options().get_acquire_timeout(), options.connect()).await;
    Ok(connected.map_err(|_| silent())??)
}

fn silent() -> StoreError {
    StoreError::Unavailable("it does not answer; check host and port in its address".to_owned())
}

async fn server_version(connection: &mut PgConnection) -> Result<i64, StoreError> {
    // As one text, for which nothing is prepared: a pooler would lend a session for each half.
    let row = sqlx::raw_sql(include_str!("sql/postgres/server_version.sql"))
        .fetch_one(connection)
        .await?;
    Ok(row.try_get::<i32, _>(0)?.into())
}

fn require_version(found: i64) -> Result<(), StoreError> {
    if found >= OLDEST_POSTGRES {
        return Ok(());
    }
    Err(StoreError::Refused(Objection::new(
        format!("the server is PostgreSQL {}", found / 10_000),
        format!("Aftercommit needs {} or newer", OLDEST_POSTGRES / 10_000),
    )))
}
