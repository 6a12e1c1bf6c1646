//! A database in which many deliveries to one destination have ended, and the job that replays them.

use std::path::PathBuf;
use std::time::Duration;

use aftercommit::core::delivery::State;
use aftercommit::store::Database;
use aftercommit::store::admin::{
    Act, Actor, AdminStore, Created, DeliveryFilter, KeyMode, Replay, ReplayRequest, Selection, StaleRows,
};

use crate::drain::base::{Backend, Base, Rows};
use crate::drain::relay::{Hook, config};

/// The destination that is replayed, and its topic. It is paused, so nothing is sent there.
pub(crate) const ENDED: &str = "ended";
/// The destination that is drained, and its topic.
pub(crate) const BUSY: &str = "busy";

/// Bytes of payload of each row.
const BYTES: usize = 200;

/// The database, and the configuration of a relay that works on it.
pub(crate) struct Place {
    pub(crate) base: Base,
    pub(crate) config: PathBuf,
}

impl Place {
    /// Deliveries to [`ENDED`] that are dead; `busy` is where requests to the other destination go.
    pub(crate) async fn new(backend: Backend, rows: u64, busy: &str) -> anyhow::Result<Self> {
        let base = Base::new(backend).await?;
        let hook = |name: &str, url: &str| Hook {
            name: name.to_owned(),
            url: url.to_owned(),
            options: String::new(),
        };
        let hooks = [hook(ENDED, busy), hook(BUSY, busy)];
        let config = base.apply(&config(base.url(), &hooks)).await?;
        base.fill(ENDED, self::rows(rows)).await?;
        let schema = if base.server().is_some() {
            "aftercommit."
        } else {
            ""
        };
        base.execute(&format!(
            "insert into {schema}destination_state (destination, paused_at, paused_by, pause_reason)
             values ('{ENDED}', {}, 'bench', 'it stays due')",
            if base.server().is_some() { "now()" } else { "1" }
        ))
        .await?;
        base.execute(&format!(
            "insert into {schema}settled (outbox_id, destination, state, reason, attempts, key_epoch)
             select outbox_id, destination, 'dead', 'refused', 1, 0 from {schema}owed where destination = '{ENDED}'"
        ))
        .await?;
        base.execute(&format!("delete from {schema}owed where destination = '{ENDED}'"))
            .await?;
        base.come_to_rest().await?;
        Ok(Self { base, config })
    }

    /// Rows wait for [`BUSY`].
    pub(crate) async fn wait_for_busy(&self, count: u64) -> anyhow::Result<()> {
        self.base.fill(BUSY, rows(count)).await
    }

    /// Asks for a replay of all that has ended.
    pub(crate) async fn ask(&self) -> anyhow::Result<Asked> {
        let database = self.base.connect()?;
        let admin = AdminStore::new(database.clone(), Duration::from_secs(30));
        let filter = DeliveryFilter {
            states: vec![State::Dead],
            ..DeliveryFilter::default()
        };
        let request = ReplayRequest {
            selection: Selection::Filter(filter).into(),
            key: KeyMode::Same,
            stale: StaleRows::Skip,
            rate: None,
        };
        let act = Act::new(Actor::new("bench", "command line"), "it is measured")?;
        let Created::New(replay) = admin.create_replay(&request, None, &act).await? else {
            anyhow::bail!("the replay is not a new one");
        };
        Ok(Asked {
            database,
            admin,
            id: replay.id,
        })
    }
}

/// A replay that was asked for.
pub(crate) struct Asked {
    pub(crate) database: Database,
    admin: AdminStore,
    id: i64,
}

impl Asked {
    /// How it stands.
    pub(crate) async fn look(&self) -> anyhow::Result<Replay> {
        Ok(self.admin.replay(self.id).await?)
    }
}

fn rows(count: u64) -> Rows {
    Rows {
        from: 1,
        count,
        bytes: BYTES,
        large: 0,
    }
}
