//! How the rounds are summed up and printed: the median of each figure.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::base::Backend;
use super::meter::Turn;

/// The two turns of a round.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Round {
    /// Of the loop.
    pub(crate) limit: Turn,
    /// Of the relay.
    pub(crate) relay: Turn,
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
            "                           CPU µs a row                          a row           last tenth"
        );
        println!(
            "            rows/s ratio   sender database receiver   sum   WAL B statements   / first   peak MiB"
        );
        for (backend, rounds) in &self.0 {
            let limit = middle(rounds, |round| &round.limit);
            let relay = middle(rounds, |round| &round.relay);
            line("loop", &limit, 1.0);
            line(backend.name(), &relay, ratio(rounds));
        }
    }

    /// For programs: one object. The figures of the first backend stand at its top, those of each under its name.
    pub(crate) fn print_json(&self) {
        let of = |rounds: &Vec<Round>| {
            let limit = middle(rounds, |round| &round.limit);
            let relay = middle(rounds, |round| &round.relay);
            json!({
                "ratio": ratio(rounds),
                "rows_per_s": relay.rows_per_s,
                "cpu_us": relay.cpu_us(),
                "relay_cpu_us": relay.sender_us,
                "database_cpu_us": relay.database_us,
                "receiver_cpu_us": relay.receiver_us,
                "peak_mib": relay.peak_mib,
                "wal_bytes_per_row": relay.wal_bytes,
                "statements_per_row": relay.statements,
                "last_tenth": relay.last_tenth,
                "limit_rows_per_s": limit.rows_per_s,
                "limit_cpu_us": limit.cpu_us(),
            })
        };
        let mut all = Map::new();
        if let Some((_, rounds)) = self.0.first_key_value()
            && let Value::Object(first) = of(rounds)
        {
            all.extend(first);
        }
        all.extend(
            self.0
                .iter()
                .map(|(backend, rounds)| (backend.name().to_owned(), of(rounds))),
        );
        println!("{}", Value::Object(all));
    }
}

fn line(name: &str, turn: &Turn, ratio: f64) {
    let known =
        |figure: Option<f64>, digits: usize| figure.map_or("-".to_owned(), |it| format!("{it:.digits$}"));
    println!(
        "{name:<9}{:>9.0} {ratio:>5.2} {:>8.1} {:>8.1} {:>8.1} {:>5.1} {:>7} {:>10} {:>9} {:>10.0}",
        turn.rows_per_s,
        turn.sender_us,
        turn.database_us,
        turn.receiver_us,
        turn.cpu_us(),
        known(turn.wal_bytes, 0),
        known(turn.statements, 3),
        known(turn.last_tenth, 2),
        turn.peak_mib,
    );
}

/// The median of each figure by itself.
fn middle(rounds: &[Round], of_whom: fn(&Round) -> &Turn) -> Turn {
    let turns = rounds.iter().map(of_whom);
    let of = |figure: fn(&Turn) -> f64| median(turns.clone().map(figure));
    let if_known = |figure: fn(&Turn) -> Option<f64>| {
        let known = turns.clone().filter_map(figure);
        known.clone().next().map(|_| median(known))
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
    }
}

/// The median over the rounds of what the relay reached of that round's limit.
fn ratio(rounds: &[Round]) -> f64 {
    let shares = rounds
        .iter()
        .map(|round| round.relay.rows_per_s / round.limit.rows_per_s);
    median(shares)
}

/// The middle one of some figures.
pub(crate) fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}
