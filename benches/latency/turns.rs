//! The turns of a round, each on a fresh database.

use std::time::Duration;

use aftercommit::config::WakeupMode;
use tokio::task::JoinSet;

use super::cpu;
use super::figures::{Arrivals, Idle};
use super::place::{Backend, Place};
use super::producers::{self, Producer};
use super::receiver::Receiver;
use crate::Options;

/// Rows that come before those that count: connections, plans and pages are there then.
const WARM_UP: u32 = 100;

/// Commits rows at a pace, and sees when they arrive.
pub(crate) async fn arrivals(backend: Backend, options: &Options) -> anyhow::Result<Arrivals> {
    let receiver = Receiver::start().await?;
    let place = Place::start(backend, &options.settings, WakeupMode::Notify, receiver.url()).await?;
    let rows = options.rate * options.seconds / options.producers + WARM_UP;
    let every = Duration::from_secs(1) * options.producers / options.rate;
    let mut producing = JoinSet::new();
    for name in 0..options.producers {
        producing.spawn(producers::at_a_pace(
            Producer::at(&place).await?,
            name,
            rows,
            every,
        ));
    }
    let mut committed = Vec::new();
    while let Some(producer) = producing.join_next().await {
        committed.extend(producer??.into_iter().skip(usize::try_from(WARM_UP)?));
    }
    let mut looks = tokio::time::interval(Duration::from_millis(20));
    while receiver.count() < usize::try_from(rows * options.producers)? {
        looks.tick().await;
    }
    place.stop().await?;
    let arrived = receiver.arrivals();
    let took = committed
        .iter()
        .map(|(row_key, at)| arrived[row_key].saturating_duration_since(*at));
    Ok(Arrivals::of(took.collect()))
}

/// Lets a relay have nothing to do.
pub(crate) async fn idle(backend: Backend, options: &Options) -> anyhow::Result<Idle> {
    let receiver = Receiver::start().await?;
    let place = Place::start(backend, &options.settings, WakeupMode::Notify, receiver.url()).await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let time = Duration::from_secs(options.seconds.into());
    let of_server = || place.server.map(cpu::of_children).unwrap_or_default();
    let before = (cpu::own(), of_server());
    tokio::time::sleep(time).await;
    let percent = |now: Duration, before: Duration| {
        now.saturating_sub(before).as_secs_f64() / time.as_secs_f64() * 100.0
    };
    let idle = Idle {
        relay: percent(cpu::own(), before.0),
        database: percent(of_server(), before.1),
    };
    place.stop().await?;
    Ok(idle)
}

/// Lets a crowd commit as fast as it can beside a relay; says how many commits a second it reached.
pub(crate) async fn crowd(options: &Options, wakeup: WakeupMode) -> anyhow::Result<f64> {
    let receiver = Receiver::start().await?;
    let place = Place::start(Backend::Postgres, &options.settings, wakeup, receiver.url()).await?;
    let mut crowd = Vec::new();
    for _ in 0..options.crowd {
        crowd.push(Producer::at(&place).await?);
    }
    let time = Duration::from_secs(options.seconds.into());
    let until = producers::now() + time;
    let mut producing = JoinSet::new();
    for (name, producer) in (0..).zip(crowd) {
        producing.spawn(producers::in_a_crowd(producer, name, until));
    }
    let mut commits = 0;
    while let Some(producer) = producing.join_next().await {
        commits += producer??;
    }
    place.stop().await?;
    Ok(f64::from(commits) / time.as_secs_f64())
}
