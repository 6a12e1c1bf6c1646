//! How the rounds are summed up and printed: the median of each figure.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::base::Backend;
use super::meter::Turn;

/// The turns of all rounds.
#[derive(Debug, Default)]
struct Turns {
    limit: Vec<Turn>,
    relay: Vec<Turn>,
}

/// All rounds on each backend.
#[derive(Debug, Default)]
pub(crate) struct Summary(BTreeMap<Backend, Turns>);

impl Summary {
    /// Adds a round: a turn of the loop and one of the relay.
    pub(crate) fn add(&mut self, backend: Backend, limit: Turn, relay: Turn) {
        let turns = self.0.entry(backend).or_default();
        turns.limit.push(limit);
        turns.relay.push(relay);
    }

    /// For people.
    pub(crate) fn print_table(&self) {
        println!(
            "                           CPU µs a row                          a row          last tenth to first"
        );
        println!(
            "            rows/s ratio   sender database receiver   sum   WAL B statements     rows/s    CPU   peak MiB"
        );
        for (backend, turns) in &self.0 {
            line("loop", &middle(&turns.limit), 1.0);
            line(
                backend.name(),
                &middle(&turns.relay),
                ratio(&turns.relay, &turns.limit),
            );
        }
    }

    /// For programs: one object. The figures of the first backend stand at its top, those of each under its name.
    pub(crate) fn print_json(&self) {
        let of = |turns: &Turns| {
            let (limit, relay) = (middle(&turns.limit), middle(&turns.relay));
            json!({
                "ratio": ratio(&turns.relay, &turns.limit),
                "rows_per_s": relay.rows_per_s,
                "cpu_us": relay.cpu_us(),
                "relay_cpu_us": relay.sender_us,
                "database_cpu_us": relay.database_us,
                "receiver_cpu_us": relay.receiver_us,
                "peak_mib": relay.peak_mib,
                "wal_bytes_per_row": relay.wal_bytes,
                "statements_per_row": relay.statements,
                "last_tenth": relay.last_tenth,
                "last_tenth_cpu": relay.last_tenth_cpu,
                "limit_rows_per_s": limit.rows_per_s,
                "limit_cpu_us": limit.cpu_us(),
            })
        };
        let mut all = Map::new();
        if let Some((_, turns)) = self.0.first_key_value()
            && let Value::Object(first) = of(turns)
        {
            all.extend(first);
        }
        all.extend(
            self.0
                .iter()
                .map(|(backend, turns)| (backend.name().to_owned(), of(turns))),
        );
        println!("{}", Value::Object(all));
    }
}

fn line(name: &str, turn: &Turn, ratio: f64) {
    let known =
        |figure: Option<f64>, digits: usize| figure.map_or("-".to_owned(), |it| format!("{it:.digits$}"));
    println!(
        "{name:<9}{:>9.0} {ratio:>5.2} {:>8.1} {:>8.1} {:>8.1} {:>5.1} {:>7} {:>10} {:>10} {:>6} {:>10.0}",
        turn.rows_per_s,
        turn.sender_us,
        turn.database_us,
        turn.receiver_us,
        turn.cpu_us(),
        known(turn.wal_bytes, 0),
        known(turn.statements, 3),
        known(turn.last_tenth, 2),
        known(turn.last_tenth_cpu, 2),
        turn.peak_mib,
    );
}

/// The median of each figure by itself.
pub(crate) fn middle(turns: &[Turn]) -> Turn {
    let of = |figure: fn(&Turn) -> f64| median(turns.iter().map(figure));
    let if_known = |figure: fn(&Turn) -> Option<f64>| {
        let known: Vec<f64> = turns.iter().filter_map(figure).collect();
        (!known.is_empty()).then(|| median(known.into_iter()))
    };
    Turn {
        rows_per_s: of(|turn| turn.rows_per_s),
        sender_us: of(|turn| turn.sender_us),
        database_us: of(|turn| turn.database_us),
        receiver_us: of(|turn| turn.receiver_us),
        peak_mib: of(|turn| turn.peak_mib),
        wal_bytes: if_known(|turn| turn.wal_bytes),
        statements: if_known(|turn| turn.statements),
        last_tenth: if_known(|turn| turn.last_tenth),
        last_tenth_cpu: if_known(|turn| turn.last_tenth_cpu),
    }
}

/// The median over the rounds of how fast one was as a share of the other in the same round.
pub(crate) fn ratio(turns: &[Turn], others: &[Turn]) -> f64 {
    let rounds = turns.iter().zip(others);
    median(rounds.map(|(turn, other)| turn.rows_per_s / other.rows_per_s))
}

/// The middle one of some figures.
pub(crate) fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}
