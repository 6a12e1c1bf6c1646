//! A backlog that a relay drains, with and without a replay that it works off beside it.

use std::time::Duration;

use super::place::Place;
use crate::drain::base::Backend;
use crate::drain::child::Process;
use crate::drain::figures::median;
use crate::drain::meter::now;
use crate::drain::receiver::Receiver;

/// Prints what a drain kept beside a replay, and how fast the replay went meanwhile.
pub(crate) async fn run(backend: Backend, rows: u64, drained: u64, rounds: u32) -> anyhow::Result<()> {
    let (mut kept, mut replayed) = (vec![], vec![]);
    let (mut alone, mut beside) = (vec![], vec![]);
    for _ in 0..rounds {
        let (without, _) = turn(backend, 1, drained, Replayed::Nothing).await?;
        let (with, rate) = turn(backend, rows, drained, Replayed::Everything).await?;
        kept.push(with / without);
        replayed.push(rate);
        alone.push(without);
        beside.push(with);
    }
    println!(
        "beside: {:.0} rows/s made due while a backlog drained at {:.0} rows/s, {:.0} without: kept {:.2}",
        median(replayed.into_iter()),
        median(beside.into_iter()),
        median(alone.into_iter()),
        median(kept.into_iter())
    );
    Ok(())
}

/// Whether there is a replay.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Replayed {
    Nothing,
    Everything,
}

/// Rows a second that were delivered, and that became due again meanwhile.
#[expect(clippy::cast_precision_loss, reason = "figures for people")]
async fn turn(backend: Backend, rows: u64, drained: u64, replayed: Replayed) -> anyhow::Result<(f64, f64)> {
    let receiver = Receiver::start("")?;
    let place = Place::new(backend, rows, receiver.url()).await?;
    place.wait_for_busy(drained).await?;
    let asked = match replayed {
        Replayed::Nothing => None,
        Replayed::Everything => Some(place.ask().await?),
    };
    let mut relay = Process::again(&["--relay", &place.config.display().to_string()])?;
    let start = now();
    relay.begin()?;
    let mut looks = tokio::time::interval(Duration::from_millis(20));
    while receiver.unique_keys().await? < drained {
        looks.tick().await;
    }
    let took = start.elapsed().as_secs_f64();
    let mut made_due = 0;
    if let Some(asked) = asked {
        made_due = asked.look().await?.requeued;
        asked.database.close().await;
    }
    Ok((drained as f64 / took, made_due as f64 / took))
}
