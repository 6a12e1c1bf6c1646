//! CPU and memory of processes, as the kernel counts them.

use std::time::{Duration, Instant};

use super::base::{Base, Counters};

/// Whose CPU is counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parties {
    /// The loop or the relay.
    pub(crate) sender: u32,
    /// PostgreSQL's first process, which has the others as children.
    pub(crate) database: Option<u32>,
    /// The receiver.
    pub(crate) receiver: u32,
}

/// One turn of the loop or the relay.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Turn {
    /// Rows a second, from the start until the last row has arrived.
    pub(crate) rows_per_s: f64,
    /// CPU of the sender, microseconds a row.
    pub(crate) sender_us: f64,
    /// CPU of PostgreSQL, microseconds a row; SQLite's is the sender's.
    pub(crate) database_us: f64,
    /// CPU of the receiver, microseconds a row.
    pub(crate) receiver_us: f64,
    /// The most memory that the sender has had, in MiB.
    pub(crate) peak_mib: f64,
    /// Bytes of write-ahead log a row; PostgreSQL only, as what follows.
    pub(crate) wal_bytes: Option<f64>,
    /// Statements a row.
    pub(crate) statements: Option<f64>,
    /// The speed of the last tenth of the rows as a share of that of the first tenth.
    pub(crate) last_tenth: Option<f64>,
    /// The same of the CPU a row, which other programs on the machine disturb less.
    pub(crate) last_tenth_cpu: Option<f64>,
}

impl Turn {
    /// CPU of all three.
    pub(crate) fn cpu_us(&self) -> f64 {
        self.sender_us + self.database_us + self.receiver_us
    }
}

/// Measures one turn.
pub(crate) struct Meter {
    parties: Parties,
    cpu: [Duration; 3],
    counters: Option<Counters>,
    start: Instant,
}

impl Meter {
    /// Starts now.
    pub(crate) async fn start(parties: Parties, base: Option<&Base>) -> anyhow::Result<Self> {
        let counters = match base {
            Some(base) => base.counters().await?,
            None => None,
        };
        Ok(Self {
            parties,
            counters,
            cpu: parties.cpu(),
            start: now(),
        })
    }

    /// How long it has been running.
    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// CPU of all three since the start.
    pub(crate) fn cpu(&self) -> Duration {
        let all = |cpu: [Duration; 3]| cpu.iter().sum::<Duration>();
        all(self.parties.cpu()).saturating_sub(all(self.cpu))
    }

    /// Ends the turn, in which all `rows` had arrived after `took`.
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    pub(crate) async fn stop(self, rows: u64, took: Duration, base: Option<&Base>) -> anyhow::Result<Turn> {
        let cpu = self.parties.cpu();
        let rows = rows as f64;
        let us = |party: usize| cpu[party].saturating_sub(self.cpu[party]).as_secs_f64() * 1e6 / rows;
        let mut turn = Turn {
            rows_per_s: rows / took.as_secs_f64(),
            sender_us: us(0),
            database_us: us(1),
            receiver_us: us(2),
            peak_mib: peak_kib(self.parties.sender) as f64 / 1024.0,
            ..Turn::default()
        };
        if let (Some(base), Some(before)) = (base, self.counters)
            && let Some(after) = base.counters().await?
        {
            turn.wal_bytes = Some((after.wal - before.wal) as f64 / rows);
            let statements = after.statements.zip(before.statements);
            turn.statements = statements.map(|(after, before)| (after - before) as f64 / rows);
        }
        Ok(turn)
    }
}

impl Parties {
    fn cpu(&self) -> [Duration; 3] {
        [
            cpu_of(self.sender),
            self.database.map(cpu_of_family).unwrap_or_default(),
            cpu_of(self.receiver),
        ]
    }
}

/// The monotonic clock.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// CPU time of a process and its children that have ended, by the kernel's clock ticks of 10 ms.
pub(crate) fn cpu_of(process: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(11).take(4);
    Duration::from_millis(10 * ticks.filter_map(|field| field.parse::<u64>().ok()).sum::<u64>())
}

/// The process and the children that it has now.
pub(crate) fn cpu_of_family(parent: u32) -> Duration {
    let children = every_process().filter(|process| parent_of(*process) == Some(parent));
    children.chain([parent]).map(cpu_of).sum()
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

/// The most memory that a process has had, in KiB.
pub(crate) fn peak_kib(process: u32) -> u64 {
    status_kib(process, "VmHWM:")
}

/// Memory that a process has now and shares with no other, in KiB.
pub(crate) fn private_kib(process: u32) -> u64 {
    status_kib(process, "RssAnon:")
}

fn status_kib(process: u32, field: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(field));
    line.and_then(|line| line.split_whitespace().nth(1))
        .and_then(|kib| kib.parse().ok())
        .unwrap_or(0)
}
