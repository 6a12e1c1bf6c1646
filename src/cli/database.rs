//! The database that a verb works on.

use super::settings::Settings;
use crate::config::Config;
use crate::relay::assemble;
use crate::store::admin::AdminStore;
use crate::store::{Database, DatabaseOptions, MissingFile, SqlStore, StoreError};

/// The configuration, and the database that it names, checked: it answers and has the right schema.
pub(super) async fn open(settings: &Settings) -> anyhow::Result<(Config, SqlStore)> {
    let config = settings.read()?;
    let database = open_with(&config, |_| ()).await?;
    Ok((config, SqlStore::new(database)))
}

/// The database that the configuration names, checked, with options that the verb changes.
pub(super) async fn open_with(
    config: &Config,
    change: impl FnOnce(&mut DatabaseOptions),
) -> Result<Database, StoreError> {
    let mut options = assemble::database_options(&config.database);
    change(&mut options);
    let database = Database::connect(&config.database.url, &options)?;
    database.check().await?;
    Ok(database)
}

/// The database that the configuration names; nothing is asked of it yet.
pub(super) fn connect(config: &Config, missing_file: MissingFile) -> Result<Database, StoreError> {
    let mut options = assemble::database_options(&config.database);
    options.missing_file = missing_file;
    Database::connect(&config.database.url, &options)
}

/// Where a person sits who looks at deliveries and steers them.
pub(super) struct Desk {
    pub(super) store: AdminStore,
    /// The names of the destinations that the configuration has.
    pub(super) configured: Vec<String>,
}

/// Opens the database to look at deliveries and steer them.
pub(super) async fn desk(settings: &Settings) -> anyhow::Result<Desk> {
    let (config, store) = open(settings).await?;
    Ok(Desk {
        store: AdminStore::new(store.database().clone(), config.relay.lease_ttl),
        configured: config.destinations.into_keys().collect(),
    })
}
