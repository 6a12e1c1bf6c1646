//! What a receiver would hear: the newest rows of the topic, with older versions before and after them, go from a scratch
//! database through a relay to a mock receiver.
//!
//! ```text
//!  older, for every second row ─▶ the newest ─▶ older again     (three transactions, while the relay delivers)
//! ```
//! In a scratch place, since a relay beside the real ones would take its share of their leases.

use std::collections::HashMap;
use std::env::VarError;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use uuid::Uuid;

use super::error::ScratchError;
use super::out_of_order::OLDER;
use crate::clock::{Clock, SystemClock};
use crate::config::{Config, DATABASE_URL, Sources};
use crate::core::row::{NewRow, Op};
use crate::mock::receiver::{Receiver, ReceiverOptions};
use crate::relay::{Relay, assemble};
use crate::store::topic::Newest;
use crate::store::{
    Database, DatabaseOptions, FetchLimits, MissingFile, Outbox, RelayId, Shard, SqlStore, Store as _,
};

/// How often is looked whether all is delivered, and how long before that is given up.
const LOOK: Duration = Duration::from_millis(10);
const STALLED: Duration = Duration::from_secs(30);
/// How long the relay has to end.
const GRACE: Duration = Duration::from_secs(10);
const TOPIC: &str = "rows";
const RECEIVER: &str = "receiver";

const CONFIG: &str = r#"
[admin]
listen = "off"

[database]
max_payload_bytes = "256MiB"

[relay]
poll_busy = "5ms"
poll_idle = "20ms"

[topics.rows]
kind = "state"

[destinations.receiver]
type = "webhook"
url = { env = "RECEIVER_URL" }
topics = ["rows"]
allow_http = true
allow_networks = ["127.0.0.0/8"]
"#;

/// Delivers `newest`, out of order, and returns the row keys of which the receiver did not hear the newest version last.
pub(super) async fn overwritten(newest: &[Newest], clock: &dyn Clock) -> Result<Vec<String>, ScratchError> {
    let folder = tempfile::Builder::new().prefix("aftercommit-verify-").tempdir()?;
    let url = format!("sqlite://{}", folder.path().join("verify.db").display());
    let receiver = Receiver::start(ReceiverOptions::default()).await?;
    let addresses = Addresses {
        database_url: url.clone(),
        receiver_url: receiver.url(),
    };
    let config = Config::parse(CONFIG, &addresses)?;
    let options = DatabaseOptions {
        missing_file: MissingFile::Create,
        ..DatabaseOptions::default()
    };
    let store = SqlStore::new(Database::connect(&SecretString::from(url), &options)?);
    store.database().migrate("aftercommit-verify").await?;
    store.apply(assemble::plan(&config)).await?;
    let relay_clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let id = RelayId(Uuid::new_v4());
    let context = assemble::context(id, Arc::new(store.clone()), &config, Arc::clone(&relay_clock)).await?;
    let relay = Relay::start(context, assemble::destinations(&config, &relay_clock)?);

    let delivered = deliver(&store, newest, clock).await;
    relay.shutdown(GRACE).await?;
    delivered?;
    store.database().close().await;
    let heard = heard(&receiver);
    receiver.shutdown().await?;
    let numbered = newest.iter().enumerate();
    let wrong = numbered.filter(|(number, row)| {
        let body = heard.get(&number.to_string());
        body.is_none_or(|body| *body != row.payload.as_bytes())
    });
    Ok(wrong.map(|(_, row)| row.row_key.clone()).collect())
}

/// Commits the rows and what is older, and waits until all is delivered.
async fn deliver(store: &SqlStore, newest: &[Newest], clock: &dyn Clock) -> Result<(), ScratchError> {
    let second = newest.iter().enumerate().filter(|(number, _)| number % 2 == 1);
    let before = second.map(|(number, row)| older(number, row, 2)).collect();
    let now = newest
        .iter()
        .enumerate()
        .map(|(number, row)| scratch(number, row))
        .collect();
    let after = newest
        .iter()
        .enumerate()
        .map(|(number, row)| older(number, row, 1))
        .collect();
    for rows in [before, now, after] {
        commit(store, rows).await?;
        until_delivered(store, clock).await?;
    }
    Ok(())
}

async fn commit(store: &SqlStore, rows: Vec<NewRow>) -> Result<(), ScratchError> {
    let write = store.database().write(move |transaction| {
        Box::pin(async move { Outbox::enqueue_all(transaction, &rows).await.map(|_| ()) })
    });
    Ok(write.await?)
}

async fn until_delivered(store: &SqlStore, clock: &dyn Clock) -> Result<(), ScratchError> {
    let shard = Shard {
        destination: RECEIVER.into(),
        number: 0,
        of: 1,
    };
    let limits = FetchLimits { rows: 1, bytes: 1 };
    let start = clock.monotonic();
    while !store.fetch(&shard, 0, limits).await?.owed.is_empty() {
        if clock.monotonic().saturating_sub(start) > STALLED {
            return Err(ScratchError::Stalled);
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}

/// The body that came last, by row key.
fn heard(receiver: &Receiver) -> HashMap<String, Vec<u8>> {
    let effects = receiver.effects();
    let words = effects.iter().filter_map(|effect| {
        let row_key = effect.row_key()?.to_owned();
        Some((row_key, effect.body.clone().unwrap_or_default()))
    });
    words.collect()
}

/// The row under a number in place of its row key, which a header need not be able to carry as it is.
fn scratch(number: usize, row: &Newest) -> NewRow {
    NewRow {
        topic: TOPIC.to_owned(),
        row_key: number.to_string(),
        row_version: Some(row.row_version),
        op: row.op,
        payload: row.payload.clone(),
        headers: None,
    }
}

fn older(number: usize, row: &Newest, by: i64) -> NewRow {
    NewRow {
        row_version: Some(row.row_version.saturating_sub(by)),
        op: Op::Upsert,
        payload: OLDER.to_owned(),
        ..scratch(number, row)
    }
}

/// What the configuration takes from its environment.
struct Addresses {
    database_url: String,
    receiver_url: String,
}

impl Sources for Addresses {
    fn name(&self) -> String {
        "the configuration of verify".to_owned()
    }

    fn variable(&self, name: &str) -> Result<String, VarError> {
        match name {
            DATABASE_URL => Ok(self.database_url.clone()),
            "RECEIVER_URL" => Ok(self.receiver_url.clone()),
            _ => Err(VarError::NotPresent),
        }
    }

    fn file(&self, _: &Path) -> io::Result<String> {
        Err(io::ErrorKind::NotFound.into())
    }
}
