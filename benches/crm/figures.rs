//! How the rounds are summed up and printed: the median of each figure.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::drain::figures::{middle, ratio};
use crate::drain::meter::Turn;
use crate::turns::Work;

/// The turns of all rounds: of the loop, and of the relay.
#[derive(Debug, Default)]
pub(crate) struct Summary(BTreeMap<Work, (Vec<Turn>, Vec<Turn>)>);

impl Summary {
    /// Adds a round.
    pub(crate) fn add(&mut self, work: Work, bare: Turn, relay: Turn) {
        let turns = self.0.entry(work).or_default();
        turns.0.push(bare);
        turns.1.push(relay);
    }

    /// For people.
    pub(crate) fn print_table(&self) {
        println!("                       answers      rows/s         the relay      CPU µs a row: relay");
        println!(
            "                         after     loop   relay    adds     loop   relay database   mock   peak MiB"
        );
        for (work, (bare, relay)) in &self.0 {
            let added = added(bare, relay);
            let (bare, relay) = (middle(bare), middle(relay));
            println!(
                "{:<9}{:<12} {:>5} ms {:>8.0} {:>7.0} {:>5.0} % {:>8.1} {:>7.1} {:>8.1} {:>6.1} {:>10.0}",
                work.backend.name(),
                work.case.name(),
                work.delay,
                bare.rows_per_s,
                relay.rows_per_s,
                100.0 * added,
                bare.sender_us,
                relay.sender_us,
                relay.database_us,
                relay.receiver_us,
                relay.peak_mib,
            );
        }
    }

    /// For programs: one object, the figures under `backend`, `case` and milliseconds.
    pub(crate) fn print_json(&self) {
        let mut all = Map::new();
        for (work, (bare, relay)) in &self.0 {
            let (added, bare, relay) = (added(bare, relay), middle(bare), middle(relay));
            let figures = json!({
                "added": added,
                "rows_per_s": relay.rows_per_s,
                "limit_rows_per_s": bare.rows_per_s,
                "relay_cpu_us": relay.sender_us,
                "limit_cpu_us": bare.sender_us,
                "database_cpu_us": relay.database_us,
                "mock_cpu_us": relay.receiver_us,
                "peak_mib": relay.peak_mib,
            });
            let of_backend = all.entry(work.backend.name()).or_insert_with(|| json!({}));
            of_backend[work.case.name()][work.delay.to_string()] = figures;
        }
        println!("{}", Value::Object(all));
    }
}

/// What the relay adds to the loop's time, as a share of it.
fn added(bare: &[Turn], relay: &[Turn]) -> f64 {
    ratio(bare, relay) - 1.0
}
