//! What is owed, counted by destination.
//!
//! To count it is to walk through all of it: a second for five million. So where there is much, one walk serves everybody for a
//! while, and nobody begins another beside it. Where there is little, every answer is of its own moment.

use std::sync::Arc;
use std::time::Duration;

use crate::core::time::Timestamp;
use crate::store::StoreError;
use crate::store::admin::AdminStore;
use crate::store::database::{Args, Row, sql};

/// So many are counted anew for everybody who asks: 40 ms.
const FEW: u64 = 200_000;

/// So long a walk through more of them serves.
const SERVES: Duration = Duration::from_secs(10);

/// What is owed to a destination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OwedCount {
    /// Empty: to none yet.
    pub(super) destination: String,
    pub(super) owed: u64,
    pub(super) due: u64,
    pub(super) oldest_owed_at: Option<Timestamp>,
}

/// The last walk, if it was a long one.
#[derive(Debug, Default)]
pub(in crate::store::admin) struct LastWalk(tokio::sync::Mutex<Option<Walk>>);

#[derive(Debug, Clone)]
struct Walk {
    at: Timestamp,
    counts: Arc<[OwedCount]>,
}

impl AdminStore {
    /// What is owed now, or was a short while ago.
    pub(super) async fn owed_counts(&self) -> Result<Arc<[OwedCount]>, StoreError> {
        // Held to the end of the walk: who asks meanwhile is served by it.
        let mut last = self.last_walk.0.lock().await;
        if let Some(walk) = last.as_ref().filter(|walk| walk.is_long())
            && walk.serves(self.now().await?)
        {
            return Ok(Arc::clone(&walk.counts));
        }
        let at = self.now().await?;
        let rows = self
            .database
            .read(sql!(shared "owed_counts"), Args::new())
            .await?;
        let counts: Arc<[OwedCount]> = rows.iter().map(OwedCount::read).collect::<Result<_, _>>()?;
        *last = Some(Walk {
            at,
            counts: Arc::clone(&counts),
        });
        Ok(counts)
    }
}

impl Walk {
    fn is_long(&self) -> bool {
        self.counts.iter().map(|count| count.owed).sum::<u64>() > FEW
    }

    fn serves(&self, now: Timestamp) -> bool {
        now.since(self.at) < SERVES
    }
}

impl OwedCount {
    fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            destination: row.text("destination")?.to_owned(),
            owed: row.int("owed")?,
            due: row.int("due")?,
            oldest_owed_at: row.opt_time("oldest_owed_at")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_walk_serves_for_ten_seconds_and_a_short_one_for_nobody_else() {
        let walk = |owed| Walk {
            at: Timestamp::from_micros(1_000_000),
            counts: Arc::new([OwedCount {
                destination: "crm".to_owned(),
                owed,
                due: 0,
                oldest_owed_at: None,
            }]),
        };
        assert!(!walk(FEW).is_long() && walk(FEW + 1).is_long());
        assert!(walk(FEW + 1).serves(Timestamp::from_micros(10_999_999)));
        assert!(!walk(FEW + 1).serves(Timestamp::from_micros(11_000_000)));
    }
}
