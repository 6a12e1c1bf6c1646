//! CPU time of processes, to the nanosecond, as the scheduler counts it.

use std::fs;
use std::time::Duration;

/// Of this process so far.
pub(crate) fn own() -> Duration {
    of("self")
}

/// Of the server's processes so far.
pub(crate) fn of_children(parent: u32) -> Duration {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    processes
        .filter(|process| parent_of(*process) == Some(parent))
        .map(|process| of(&process.to_string()))
        .sum()
}

/// The parent of a process, if it lives.
pub(crate) fn parent_of(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()
}

fn of(process: &str) -> Duration {
    let threads = fs::read_dir(format!("/proc/{process}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let on_cpu = threads.filter_map(|thread| {
        let line = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(on_cpu.sum())
}
