//! The relay: what `aftercommit run` starts, on the same runtime, as a process that waits until it may begin.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use aftercommit::clock::{Clock, SystemClock};
use aftercommit::config::Config;
use aftercommit::relay::{Relay, assemble};
use aftercommit::store::{Database, RelayId, SqlStore};

use super::child::Orders;

/// A destination of the benchmark: it takes the topic of its own name.
#[derive(Debug, Clone)]
pub(crate) struct Hook {
    /// Its name, and that of its topic.
    pub(crate) name: String,
    /// Where requests go.
    pub(crate) url: String,
    /// Further lines of its configuration.
    pub(crate) options: String,
}

/// A configuration file's text for these destinations, which sign what they send.
pub(crate) fn config(database: &str, hooks: &[Hook]) -> String {
    let section = |Hook { name, url, options }: &Hook| {
        format!(
            "[topics.{name}]\nkind = \"event\"\n[destinations.{name}]\ntype = \"webhook\"\nurl = \"{url}\"\n\
             topics = [\"{name}\"]\nallow_http = true\nallow_networks = [\"127.0.0.0/8\"]\n\
             secrets = [\"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\"]\n{options}\n"
        )
    };
    let sections: String = hooks.iter().map(section).collect();
    format!("[database]\nurl = \"{database}\"\n{sections}")
}

/// What the process does.
pub(crate) async fn serve(config: &Path) -> anyhow::Result<()> {
    let mut orders = Orders::listen();
    let config = Config::read(config).map_err(|faults| anyhow::anyhow!("{faults}"))?;
    let options = assemble::database_options(&config.database);
    let database = Database::connect(&config.database.url, &options)?;
    let store = SqlStore::new(database.clone());
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let destinations = assemble::destinations(&config, &clock)?;
    let relay = RelayId(uuid::Uuid::new_v4());
    let context = assemble::context(relay, Arc::new(store), &config, clock).await?;
    orders.begin("ready").await;
    let relay = Relay::start(context, destinations);
    orders.end().await;
    relay.shutdown(Duration::from_secs(30)).await?;
    database.close().await;
    Ok(())
}
