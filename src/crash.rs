//! Crash points: places where a test can end the process as a power cut would.
//!
//! Compiled into debug builds only. `AFTERCOMMIT_CRASH=after_send:3` ends the process when it passes the point
//! `after_send` for the third time: at once, without destructors, without flushing anything.

/// Ends the process here if the environment asks for it.
#[macro_export]
macro_rules! crash_point {
    ($name:literal) => {
        #[cfg(debug_assertions)]
        $crate::crash::passed($name);
    };
}

/// Counts a pass of the point `name`; see [`crash_point!`](crate::crash_point).
#[cfg(debug_assertions)]
pub fn passed(name: &str) {
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static WANTED: LazyLock<Option<(String, u64)>> = LazyLock::new(|| {
        let wanted = std::env::var("AFTERCOMMIT_CRASH").ok()?;
        let (name, count) = wanted.split_once(':').unwrap_or((&wanted, "1"));
        Some((name.to_owned(), count.parse().ok()?))
    });
    static PASSES: AtomicU64 = AtomicU64::new(0);

    if let Some((wanted, count)) = &*WANTED
        && wanted == name
        && PASSES.fetch_add(1, Ordering::Relaxed) + 1 == *count
    {
        std::process::abort();
    }
}
