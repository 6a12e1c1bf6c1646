//! SIGHUP: the configuration again, while the relay works.
//!
//! Wholly or not at all: a configuration that is broken, or that the database refuses, changes nothing.

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
    warn_of_what_stays(&daemon.config, &new);
    // Every key of this process holds the namespace that it began with.
    new.database
        .namespace
        .clone_from(&daemon.config.database.namespace);
    let destinations =
        assemble::changed_destinations(&daemon.destinations, &daemon.config, &new, &daemon.clock)?;
    let applied = daemon.store.apply(assemble::plan(&new)).await?;
    daemon.relay.reload(destinations.clone());
    if let Some(admin) = &daemon.admin {
        admin.reload(admin_settings(&new));
    }
    warn_of_what_is_held(&daemon.store, &new).await;
    daemon.destinations = destinations;
    daemon.config = new;
    Ok(applied)
}

/// What is looked at only when the process starts.
fn warn_of_what_stays(old: &Config, new: &Config) {
    let changed = [
        (
            "database.namespace",
            old.database.namespace != new.database.namespace,
        ),
        ("admin.listen", old.admin.listen != new.admin.listen),
        ("relay", old.relay != new.relay),
        ("log", old.log != new.log),
    ];
    for (key, _) in changed.into_iter().filter(|(_, changed)| *changed) {
        tracing::warn!(key, "this change takes effect when the process starts again");
    }
}
