//! From the configuration into the database: topics, routes and settings, which the admission triggers read.
//!
//! And backfill: what was written before a route was there is owed to it on request.

use std::collections::BTreeSet;
use std::str::FromStr;

use super::database::{Args, Row, Transaction, only, sql};
use super::{Objection, SqlStore, StoreError};
use crate::core::row::{TopicKind, UnknownWord};

/// What the configuration says about the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Every configured topic with its kind.
    pub topics: Vec<(String, TopicKind)>,
    /// Every route. Those that are in the database and not here are removed.
    pub routes: BTreeSet<Route>,
    /// The largest payload that a pipeline may write, in bytes.
    pub max_payload_bytes: u32,
    /// The name that goes into every key, if the configuration sets one.
    pub namespace: Option<String>,
}

/// A topic goes to a destination.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Route {
    /// The topic.
    pub topic: String,
    /// The destination.
    pub destination: String,
}

/// What applying a plan changed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Applied {
    /// Routes that are new. What was written to a topic that had another route is not owed to them: see
    /// [`SqlStore::backfill`]. What was written to one that had none is.
    pub added: Vec<Route>,
    /// Routes that are gone. What is owed to their destinations stays owed.
    pub removed: Vec<Route>,
}

/// Which of the rows that were written before the route was there are to be owed to it.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Backfill {
    /// The newest row of each row key.
    #[default]
    Newest,
    /// Every row that the outbox still holds.
    All,
}

/// Outbox ids that one transaction of a backfill looks at.
const BACKFILL_IDS: i64 = 10_000;

impl SqlStore {
    /// Brings topics, routes and settings in line with the configuration, wholly or not at all.
    ///
    /// Refused where a topic that has rows would change its kind, and where the namespace would change under rows.
    pub async fn apply(&self, plan: Plan) -> Result<Applied, StoreError> {
        self.database
            .write(move |transaction| Box::pin(async move { apply(transaction, &plan).await }))
            .await
    }

    /// Makes rows that were written before the route was there owed to it. Returns how many.
    ///
    /// In several transactions; may be repeated, and then adds what is missing. A row of a transaction that was open
    /// while the route was added and is so still comes with the next backfill.
    pub async fn backfill(&self, route: &Route, which: Backfill) -> Result<u64, StoreError> {
        let last: Option<i64> = only(
            self.database
                .read(sql!(shared "last_outbox_id"), Args::new())
                .await?,
        )?
        .opt_int("id")?;
        let mut added = 0;
        for after in (0..last.unwrap_or(0)).step_by(usize::try_from(BACKFILL_IDS).unwrap_or(usize::MAX)) {
            let args = Args::new()
                .text(&route.topic)
                .text(&route.destination)
                .int(after)
                .int(after + BACKFILL_IDS)
                .text(which.as_str());
            added += only(self.database.run(sql!("backfill"), args).await?)?.int::<u64>("added")?;
        }
        Ok(added)
    }
}

impl Backfill {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Newest => "newest",
            Self::All => "all",
        }
    }
}

impl FromStr for Backfill {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        [Self::Newest, Self::All]
            .into_iter()
            .find(|backfill| backfill.as_str() == word)
            .ok_or(UnknownWord {
                what: "choice of versions",
                word: word.to_owned(),
                known: "newest, all",
            })
    }
}

async fn apply(transaction: &mut Transaction, plan: &Plan) -> Result<Applied, StoreError> {
    if let Some(namespace) = &plan.namespace {
        set_namespace(transaction, namespace).await?;
    }
    set_max_payload_bytes(transaction, plan.max_payload_bytes).await?;
    let mut topics: Vec<_> = plan.topics.iter().collect();
    topics.sort_by_key(|(name, _)| name);
    for (name, kind) in topics {
        put_topic(transaction, name, *kind, plan.max_payload_bytes).await?;
    }
    let there = routes(transaction).await?;
    let removed: Vec<Route> = there.difference(&plan.routes).cloned().collect();
    let added: Vec<Route> = plan.routes.difference(&there).cloned().collect();
    for route in &removed {
        let args = Args::new().text(&route.topic).text(&route.destination);
        transaction.execute(sql!(shared "remove_route"), args).await?;
    }
    for route in &added {
        let args = Args::new().text(&route.topic).text(&route.destination);
        transaction.execute(sql!(shared "add_route"), args).await?;
    }
    Ok(Applied { added, removed })
}

async fn set_namespace(transaction: &mut Transaction, namespace: &str) -> Result<(), StoreError> {
    let args = Args::new().text(namespace);
    transaction.execute(sql!(shared "change_namespace"), args).await?;
    let rows = transaction
        .rows(sql!(shared "setting"), Args::new().text("namespace"))
        .await?;
    let found = rows.first().ok_or(StoreError::NotMigrated)?.text("value")?;
    if found == namespace {
        return Ok(());
    }
    Err(StoreError::Refused(Objection::new(
        format!(
            "the database has the namespace `{found}` and holds rows under it, the configuration says `{namespace}`: every \
             key would change and receivers would take old rows for new"
        ),
        format!("set the namespace to `{found}` or leave it out"),
    )))
}

async fn set_max_payload_bytes(transaction: &mut Transaction, bytes: u32) -> Result<(), StoreError> {
    let args = Args::new().text("max_payload_bytes").text(&bytes.to_string());
    transaction.execute(sql!(shared "set_setting"), args).await?;
    // Topics that no configuration names took the limit of the day they came.
    let args = Args::new().int(i64::from(bytes));
    transaction.execute(sql!(shared "limit_topics"), args).await?;
    Ok(())
}

async fn put_topic(
    transaction: &mut Transaction,
    name: &str,
    kind: TopicKind,
    max_payload_bytes: u32,
) -> Result<(), StoreError> {
    let args = Args::new()
        .text(name)
        .text(kind.as_str())
        .int(i64::from(max_payload_bytes));
    if transaction.execute(sql!(shared "put_topic"), args).await? == 1 {
        return Ok(());
    }
    Err(StoreError::Refused(Objection::new(
        format!("the topic `{name}` already holds rows of the other kind than `{kind}`"),
        format!("give rows of kind `{kind}` a topic of another name, or set the kind back"),
    )))
}

async fn routes(transaction: &mut Transaction) -> Result<BTreeSet<Route>, StoreError> {
    let route = |row: &Row| -> Result<Route, StoreError> {
        Ok(Route {
            topic: row.text("topic")?.to_owned(),
            destination: row.text("destination")?.to_owned(),
        })
    };
    let rows = transaction.rows(sql!(shared "routes"), Args::new()).await?;
    rows.iter().map(route).collect()
}
