//! Adds what this relay has done to the charts in the database, every few seconds and once more at its end.
//!
//! What it adds is what the counters of `metrics` have grown by: nothing is counted twice, and the hot path knows nothing of
//! it. A chart, not a ledger: what could not be written is let be, since the write may have arrived.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::Context;
use crate::store::{StoreError, Tally};

/// How often something is added, and so how much a crash loses at most.
const EVERY: Duration = Duration::from_secs(10);

/// Of each destination: deliveries that were delivered, and attempts that were not accepted, since the process began.
type Totals = BTreeMap<Arc<str>, (u64, u64)>;

/// Keeps the charts until `stop`, and adds the rest then.
pub(super) async fn keep(context: Context, stop: CancellationToken) -> Result<(), StoreError> {
    let mut told = Totals::new();
    while !stop.is_cancelled() {
        tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep(EVERY) => {}
        }
        let totals = context.metrics.totals();
        let tallies = grown(&told, &totals);
        told = totals;
        if tallies.is_empty() {
            continue;
        }
        if let Err(error) = context.store.add_tallies(&tallies).await {
            tracing::warn!(%error, "what was done in the last seconds is missing in the charts");
        }
    }
    Ok(())
}

/// What the totals have grown by, where they have.
fn grown(before: &Totals, now: &Totals) -> Vec<Tally> {
    let tally = |(destination, (delivered, failed)): (&Arc<str>, &(u64, u64))| {
        let (delivered_before, failed_before) = before.get(destination).copied().unwrap_or_default();
        Tally {
            destination: destination.to_string(),
            delivered: delivered - delivered_before,
            failed: failed - failed_before,
        }
    };
    let tallies = now.iter().map(tally);
    tallies
        .filter(|one| (one.delivered, one.failed) != (0, 0))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_is_what_the_counters_have_grown_by_and_nothing_where_they_have_not() {
        let totals = |of: &[(&str, u64, u64)]| -> Totals {
            of.iter()
                .map(|(name, delivered, failed)| ((*name).into(), (*delivered, *failed)))
                .collect()
        };
        let before = totals(&[("crm", 3, 1), ("hook", 5, 5)]);
        let now = totals(&[("crm", 10, 1), ("hook", 5, 5), ("new", 0, 2)]);
        let tally = |destination: &str, delivered, failed| Tally {
            destination: destination.to_owned(),
            delivered,
            failed,
        };
        assert_eq!(grown(&before, &now), [tally("crm", 7, 0), tally("new", 0, 2)]);
    }
}
