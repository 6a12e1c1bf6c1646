//! A replay that a relay works off, with nothing else to do.

use std::time::Duration;

use super::place::Place;
use crate::drain::base::Backend;
use crate::drain::child::Process;
use crate::drain::meter::now;

/// Prints how many deliveries a second became due, and fails if one was missed.
#[expect(clippy::cast_precision_loss, reason = "figures for people")]
pub(crate) async fn run(backend: Backend, rows: u64) -> anyhow::Result<()> {
    let place = Place::new(backend, rows, "http://127.0.0.1:9/").await?;
    let asked = place.ask().await?;
    let mut relay = Process::again(&["--relay", &place.config.display().to_string()])?;
    let start = now();
    relay.begin()?;
    let mut looks = tokio::time::interval(Duration::from_millis(50));
    let done = loop {
        looks.tick().await;
        let seen = asked.look().await?;
        if seen.finished_at.is_some() {
            break seen;
        }
    };
    let took = start.elapsed();
    let requeued = done.requeued;
    anyhow::ensure!(requeued == rows, "{requeued} of {rows} became due");
    let rate = rows as f64 / took.as_secs_f64();
    println!("alone:  {requeued} became due, {rate:.0} rows/s");
    asked.database.close().await;
    Ok(())
}
