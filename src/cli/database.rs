//! The database that a verb works on.

use std::sync::Arc;

use super::settings::Settings;
use crate::clock::{Clock, SystemClock};
use crate::config::Config;
use crate::relay::assemble::{self, AssembleError};
use crate::relay::receivers::{Receivers, expectations};
use crate::store::admin::{AdminStore, Expectations};
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
    /// What it says of them, as far as words about deliveries depend on it.
    pub(super) expected: Expectations,
}

/// A desk with the destinations of the configuration on it, to look at them and try them out.
pub(super) struct Bench {
    pub(super) store: AdminStore,
    pub(super) receivers: Receivers,
}

/// The destinations of a configuration, without a relay.
pub(super) fn receivers(config: &Config) -> Result<Receivers, AssembleError> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let destinations = assemble::destinations(config, &clock)?;
    Ok(Receivers::of(config, &destinations, &clock))
}

/// Opens the database to look at the destinations of the configuration and try them out.
pub(super) async fn bench(settings: &Settings) -> anyhow::Result<Bench> {
    let (config, store) = open(settings).await?;
    Ok(Bench {
        store: AdminStore::new(store.database().clone(), config.relay.lease_ttl),
        receivers: receivers(&config)?,
    })
}

/// Opens the database to look at deliveries and steer them.
pub(super) async fn desk(settings: &Settings) -> anyhow::Result<Desk> {
    let (config, store) = open(settings).await?;
    Ok(Desk {
        store: AdminStore::new(store.database().clone(), config.relay.lease_ttl),
        expected: expectations(&config),
        configured: config.destinations.into_keys().collect(),
    })
}
