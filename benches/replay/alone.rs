//! The steps of a replay, one after the other, with nothing beside them.

use aftercommit::relay::REPLAY_STEP;
use aftercommit::store::{SqlStore, Store as _};

use super::place::Place;
use crate::drain::base::Backend;
use crate::drain::meter::now;

/// Prints how many deliveries a second became due, and fails if one was missed.
#[expect(clippy::cast_precision_loss, reason = "figures for people")]
pub(crate) async fn run(backend: Backend, rows: u64) -> anyhow::Result<()> {
    let place = Place::new(backend, rows, "http://127.0.0.1:9/").await?;
    let asked = place.ask().await?;
    let store = SqlStore::new(asked.database.clone());
    let start = now();
    while store.advance_replays(REPLAY_STEP).await?.looked_at > 0 {}
    let took = start.elapsed();
    let requeued = asked.look().await?.requeued;
    anyhow::ensure!(requeued == rows, "{requeued} of {rows} became due");
    let rate = rows as f64 / took.as_secs_f64();
    println!("alone:  {requeued} became due, {rate:.0} rows/s");
    asked.database.close().await;
    Ok(())
}
