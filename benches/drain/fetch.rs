//! What one fetch takes while more and more is owed.

use std::time::Duration;

use aftercommit::store::{FetchLimits, Shard, SqlStore, Store as _};

use super::base::{Backend, Base, Rows};
use super::meter::now;
use super::relay::{Hook, config};

/// Fetches at each backlog.
const FETCHES: i64 = 200;

/// Prints the time of a fetch of 1,000 rows of `bytes` each with 10,000, 100,000 and 1,000,000 rows owed, at places
/// spread over the whole backlog.
pub(crate) async fn run(backend: Backend, bytes: usize) -> anyhow::Result<()> {
    let base = Base::new(backend).await?;
    let hook = Hook {
        name: "hook".to_owned(),
        url: "http://127.0.0.1:1/".to_owned(),
        options: String::new(),
    };
    base.apply(&config(base.url(), &[hook])).await?;
    let database = base.connect()?;
    let store = SqlStore::new(database.clone());
    let shard = Shard {
        destination: "hook".into(),
        number: 0,
        of: 1,
    };
    let limits = FetchLimits {
        rows: 1000,
        bytes: 4 << 20,
    };
    let mut owed = 0;
    for backlog in [10_000, 100_000, 1_000_000] {
        let rows = Rows {
            from: owed + 1,
            count: backlog - owed,
            bytes,
            large: 0,
        };
        base.fill("hook", rows).await?;
        owed = backlog;
        let step = i64::try_from(backlog - u64::from(limits.rows))? / FETCHES;
        let mut times = Vec::new();
        for fetch in 0..FETCHES {
            let start = now();
            let fetched = store.fetch(&shard, fetch * step, limits).await?;
            times.push(start.elapsed());
            anyhow::ensure!(fetched.owed.len() == 1000, "a fetch was short");
        }
        times.sort();
        println!(
            "{backlog:>9} owed: a fetch of 1,000 rows takes {} ms, at best {} ms",
            ms(times[times.len() / 2]),
            ms(times[0])
        );
    }
    database.close().await;
    Ok(())
}

fn ms(time: Duration) -> String {
    format!("{:.2}", time.as_secs_f64() * 1e3)
}
