//! SIGHUP: the configuration again, while the relay works.
//!
//! Wholly or not at all: a configuration that is broken, or that the database refuses, changes nothing.

use secrecy::ExposeSecret as _;

use super::run::{Daemon, admin_settings, warn_of_what_is_held};
use super::settings::Settings;
use crate::config::Config;
use crate::relay::assemble;
use crate::store::Applied;

/// Reads and applies the configuration; says what came of it.
pub(super) async fn reload(daemon: &mut Daemon, settings: &Settings) {
    match try_reload(daemon, settings).await {
        Ok(Applied { added, removed }) => tracing::info!(
            destinations = daemon.destinations.len(),
            routes_added = added.len(),
            routes_removed = removed.len(),
            "the configuration was read again"
        ),
        Err(error) => {
            // A configuration with several faults has a line for each.
            for line in format!("{error:#}").lines() {
                tracing::error!("{line}");
            }
            tracing::error!("the configuration was not taken over; the relay goes on under the old one");
        }
    }
}

async fn try_reload(daemon: &mut Daemon, settings: &Settings) -> anyhow::Result<Applied> {
    let mut new = settings.read()?;
    warn_of_what_stays(&daemon.began, &new);
    // Every key of this process holds the namespace that it began with.
    new.database
        .namespace
        .clone_from(&daemon.began.database.namespace);
    let destinations =
        assemble::changed_destinations(&daemon.destinations, &daemon.config, &new, &daemon.clock)?;
    let applied = daemon.store.apply(assemble::plan(&new)).await?;
    daemon.relay.reload(destinations.clone());
    if let Some(admin) = &daemon.admin {
        admin.reload(admin_settings(&new, &destinations, &daemon.clock));
    }
    warn_of_what_is_held(&daemon.store, &new).await;
    daemon.destinations = destinations;
    daemon.config = new;
    Ok(applied)
}

fn warn_of_what_stays(began: &Config, new: &Config) {
    for key in what_stays(began, new) {
        tracing::warn!(key, "this change takes effect when the process starts again");
    }
}

/// What differs from the configuration that the process began with, and is looked at only when it starts.
fn what_stays(began: &Config, new: &Config) -> Vec<&'static str> {
    let (old, database) = (&began.database, &new.database);
    let changed = [
        (
            "database.url",
            old.url.expose_secret() != database.url.expose_secret(),
        ),
        (
            "database.max_connections",
            old.max_connections != database.max_connections,
        ),
        ("database.namespace", old.namespace != database.namespace),
        (
            "database.statement_timeout",
            old.statement_timeout != database.statement_timeout,
        ),
        ("admin.listen", began.admin.listen != new.admin.listen),
        ("relay", began.relay != new.relay),
        ("log", began.log != new.log),
    ];
    let keys = changed
        .into_iter()
        .filter_map(|(key, changed)| changed.then_some(key));
    keys.collect()
}
