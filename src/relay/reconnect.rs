//! Trying again while the database is away: the only place that uses the crate `backoff`.
//!
//! `backoff` is unmaintained (RUSTSEC-2025-0012); `backon` is the way out, and only this file would change. The durable
//! schedule of deliveries is not here: that is `core::policy`, and it lives in the database.

use std::time::Duration;

use backoff::ExponentialBackoff;
use tokio_util::sync::CancellationToken;

use crate::store::StoreError;

/// The longest wait between two tries.
const MAX_INTERVAL: Duration = Duration::from_secs(10);
/// The first wait.
const INITIAL_INTERVAL: Duration = Duration::from_millis(50);

/// Repeats `verb` until it succeeds, fails for good, or `abort` is cancelled (`None`).
///
/// A verb of the store may be repeated after any error; `what` names it in the log.
pub(super) async fn retrying<T, F>(
    what: &'static str,
    abort: &CancellationToken,
    mut verb: impl FnMut() -> F,
) -> Option<Result<T, StoreError>>
where
    F: Future<Output = Result<T, StoreError>>,
{
    let schedule = ExponentialBackoff {
        initial_interval: INITIAL_INTERVAL,
        current_interval: INITIAL_INTERVAL,
        max_interval: MAX_INTERVAL,
        max_elapsed_time: None,
        ..ExponentialBackoff::default()
    };
    let attempts = backoff::future::retry_notify(
        schedule,
        || {
            let call = verb();
            async {
                call.await.map_err(|error| {
                    if error.is_transient() {
                        backoff::Error::transient(error)
                    } else {
                        backoff::Error::permanent(error)
                    }
                })
            }
        },
        |error: StoreError, wait: Duration| {
            let retry_in_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
            tracing::warn!(%error, what, retry_in_ms, "the database cannot serve this yet; trying again");
        },
    );
    tokio::select! {
        biased;
        result = attempts => Some(result),
        () = abort.cancelled() => None,
    }
}
