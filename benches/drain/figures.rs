//! What is measured, and how it is printed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::relayed::Backend;

/// Measures one turn.
pub(crate) struct Meter {
    start: Instant,
    others: Vec<u32>,
    cpu_before: (Duration, Duration),
}

/// One turn of the loop or the relay.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    /// Rows a second.
    pub(crate) rows_per_s: f64,
    /// CPU of this process, microseconds a row.
    pub(crate) cpu_us: f64,
    /// CPU of receiver and database, microseconds a row.
    pub(crate) other_cpu_us: f64,
    /// The most memory that this process has had so far, in MiB.
    pub(crate) peak_mib: f64,
}

/// The two turns of a round.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Figures {
    /// Of the loop.
    pub(crate) limit: Turn,
    /// Of the relay.
    pub(crate) relay: Turn,
}

impl Meter {
    /// Starts now; `others` are the processes of receiver and database.
    pub(crate) fn start(others: &[u32]) -> Self {
        let others = others.to_vec();
        let cpu_before = (cpu_of("self"), cpu_of_all(&others));
        #[expect(clippy::disallowed_methods, reason = "a benchmark measures")]
        let start = Instant::now();
        Self {
            start,
            others,
            cpu_before,
        }
    }

    /// Ends the turn.
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    pub(crate) fn stop(self, rows: u64) -> Turn {
        let rows = rows as f64;
        let took = self.start.elapsed().as_secs_f64();
        let own = cpu_of("self").saturating_sub(self.cpu_before.0);
        let others = cpu_of_all(&self.others).saturating_sub(self.cpu_before.1);
        Turn {
            rows_per_s: rows / took,
            cpu_us: own.as_secs_f64() * 1e6 / rows,
            other_cpu_us: others.as_secs_f64() * 1e6 / rows,
            peak_mib: peak_kib() as f64 / 1024.0,
        }
    }
}

/// All rounds.
#[derive(Debug, Default)]
pub(crate) struct Summary(BTreeMap<Backend, Vec<Figures>>);

impl Summary {
    /// Adds a round.
    pub(crate) fn add(&mut self, backend: Backend, figures: Figures) {
        self.0.entry(backend).or_default().push(figures);
    }

    /// For people: the median of each figure.
    pub(crate) fn print_table(&self) {
        println!(
            "                    rows/s   CPU µs a row: own / receiver and database   peak MiB   ratio to the loop"
        );
        for (backend, rounds) in &self.0 {
            let limit = |figure: fn(&Turn) -> f64| median(rounds.iter().map(|round| figure(&round.limit)));
            let relay = |figure: fn(&Turn) -> f64| median(rounds.iter().map(|round| figure(&round.relay)));
            println!(
                "{:<14} loop {:>9.0} {:>20.1} / {:<22.1}",
                format!("{backend:?}").to_lowercase(),
                limit(|turn| turn.rows_per_s),
                limit(|turn| turn.cpu_us),
                limit(|turn| turn.other_cpu_us),
            );
            println!(
                "{:<13} relay {:>9.0} {:>20.1} / {:<22.1} {:>8.0} {:>12.2}",
                "",
                relay(|turn| turn.rows_per_s),
                relay(|turn| turn.cpu_us),
                relay(|turn| turn.other_cpu_us),
                relay(|turn| turn.peak_mib),
                ratio(rounds),
            );
        }
    }

    /// For programs: one object.
    pub(crate) fn print_json(&self) {
        let of = |rounds: &Vec<Figures>| {
            let relay = |figure: fn(&Turn) -> f64| median(rounds.iter().map(|round| figure(&round.relay)));
            serde_json::json!({
                "ratio": ratio(rounds),
                "rows_per_s": relay(|turn| turn.rows_per_s),
                "limit_rows_per_s": median(rounds.iter().map(|round| round.limit.rows_per_s)),
                "cpu_us": relay(|turn| turn.cpu_us),
                "other_cpu_us": relay(|turn| turn.other_cpu_us),
                "peak_mib": relay(|turn| turn.peak_mib),
            })
        };
        let all: BTreeMap<String, _> = self
            .0
            .iter()
            .map(|(backend, rounds)| (format!("{backend:?}").to_lowercase(), of(rounds)))
            .collect();
        println!("{}", serde_json::json!(all));
    }
}

/// The median over the rounds of what the relay reached of that round's limit.
fn ratio(rounds: &[Figures]) -> f64 {
    median(
        rounds
            .iter()
            .map(|round| round.relay.rows_per_s / round.limit.rows_per_s),
    )
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// CPU time of a process and its children that have ended, by the kernel's clock ticks of 10 ms.
fn cpu_of(process: &str) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields: Vec<u64> = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .skip(11)
        .take(4)
        .filter_map(|field| field.parse().ok())
        .collect();
    Duration::from_millis(fields.iter().sum::<u64>() * 10)
}

/// The processes and the children that they have now.
fn cpu_of_all(processes: &[u32]) -> Duration {
    let children = every_process()
        .filter(|process| parent_of(*process).is_some_and(|parent| processes.contains(&parent)));
    children
        .chain(processes.iter().copied())
        .map(|process| cpu_of(&process.to_string()))
        .sum()
}

fn every_process() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The parent of a process, if it lives.
pub(crate) fn parent_of(process: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()
}

fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.and_then(|line| line.split_whitespace().nth(1))
        .and_then(|kib| kib.parse().ok())
        .unwrap_or(0)
}
