//! What is measured, and how it is printed.

use std::collections::BTreeMap;
use std::time::Duration;

use super::place::Backend;

/// How long rows took from commit to arrival.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrivals {
    /// Milliseconds: the middle, nine in ten, 99 in 100, and the slowest.
    pub(crate) p50: f64,
    pub(crate) p90: f64,
    pub(crate) p99: f64,
    pub(crate) max: f64,
}

impl Arrivals {
    /// Of at least one row.
    pub(crate) fn of(mut took: Vec<Duration>) -> Self {
        took.sort_unstable();
        let at = |share: usize| {
            let place = (took.len() * share / 100).min(took.len() - 1);
            took[place].as_secs_f64() * 1e3
        };
        Self {
            p50: at(50),
            p90: at(90),
            p99: at(99),
            max: at(100),
        }
    }
}

/// What a relay costs that has nothing to do, in percent of a core.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Idle {
    pub(crate) relay: f64,
    pub(crate) database: f64,
}

/// One round.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Round {
    pub(crate) arrivals: Arrivals,
    pub(crate) idle: Idle,
    /// Commits a second beside a relay that is woken, and beside one that polls.
    pub(crate) crowds: Option<(f64, f64)>,
}

/// All rounds.
#[derive(Debug, Default)]
pub(crate) struct Summary(BTreeMap<Backend, Vec<Round>>);

impl Summary {
    /// Adds a round.
    pub(crate) fn add(&mut self, backend: Backend, round: Round) {
        self.0.entry(backend).or_default().push(round);
    }

    /// For people.
    pub(crate) fn print_table(&self) {
        println!(
            "            commit to arrival, ms: p50    p90    p99    max   idle, % of a core: relay / database   \
             commits/s: woken / polling   ratio"
        );
        for (backend, rounds) in &self.0 {
            let of = |figure: fn(&Round) -> f64| median(rounds.iter().map(figure));
            print!(
                "{:<10} {:>29.2} {:>6.2} {:>6.2} {:>6.1} {:>25.2} / {:<8.2}",
                name(*backend),
                of(|round| round.arrivals.p50),
                of(|round| round.arrivals.p90),
                of(|round| round.arrivals.p99),
                of(|round| round.arrivals.max),
                of(|round| round.idle.relay),
                of(|round| round.idle.database),
            );
            match crowds(rounds) {
                Some((woken, polling, ratio)) => println!(" {woken:>18.0} / {polling:<9.0} {ratio:>7.2}"),
                None => println!(),
            }
        }
    }

    /// For programs: one object.
    pub(crate) fn print_json(&self) {
        let of = |rounds: &Vec<Round>| {
            let of = |figure: fn(&Round) -> f64| median(rounds.iter().map(figure));
            let crowds = crowds(rounds);
            serde_json::json!({
                "p50_ms": of(|round| round.arrivals.p50),
                "p90_ms": of(|round| round.arrivals.p90),
                "p99_ms": of(|round| round.arrivals.p99),
                "max_ms": of(|round| round.arrivals.max),
                "idle_relay_percent": of(|round| round.idle.relay),
                "idle_database_percent": of(|round| round.idle.database),
                "woken_commits_per_s": crowds.map(|(woken, _, _)| woken),
                "polling_commits_per_s": crowds.map(|(_, polling, _)| polling),
                "ratio": crowds.map(|(_, _, ratio)| ratio),
            })
        };
        let all: BTreeMap<String, _> = self
            .0
            .iter()
            .map(|(backend, rounds)| (name(*backend), of(rounds)))
            .collect();
        println!("{}", serde_json::json!(all));
    }
}

fn name(backend: Backend) -> String {
    format!("{backend:?}").to_lowercase()
}

/// Commits a second beside either relay, and the median of the rounds' ratios.
fn crowds(rounds: &[Round]) -> Option<(f64, f64, f64)> {
    let crowds: Vec<(f64, f64)> = rounds.iter().filter_map(|round| round.crowds).collect();
    if crowds.is_empty() {
        return None;
    }
    let of = |figure: fn(&(f64, f64)) -> f64| median(crowds.iter().map(figure));
    Some((
        of(|(woken, _)| *woken),
        of(|(_, polling)| *polling),
        of(|(woken, polling)| woken / polling),
    ))
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
