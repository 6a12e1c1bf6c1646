//! Looks at a topic: reads it page by page into a picture, all of it as of one moment.
//!
//! Of one moment, since the server may commit what a run has told it while its rows are being read: a picture that has half
//! of that would blame a pipeline that commits once.

use super::picture::{Painter, Picture};
use crate::store::StoreError;
use crate::store::database::Transaction;
use crate::store::topic::{self, Topic};

/// Bytes of payload that a page is to bring, going by the page before it.
const PAGE_BYTES: usize = 4 << 20;
/// Rows of the first page, and of any at most.
const ROWS: (u32, u32) = (100, 1_000);

/// The picture of `topic` now. Memory stays flat.
pub(super) async fn picture(topic: &Topic) -> Result<Picture, StoreError> {
    let name = topic.name.clone();
    let read = topic
        .database
        .snapshot(move |moment| Box::pin(async move { paint(moment, &name).await }));
    read.await
}

async fn paint(moment: &mut Transaction, topic: &str) -> Result<Picture, StoreError> {
    let mut painter = Painter::default();
    let (mut after, mut limit) = ((String::new(), 0), ROWS.0);
    loop {
        let page = topic::rows(moment, topic, (&after.0, after.1), limit).await?;
        let Some(last) = page.last() else { break };
        after = (last.row_key.clone(), last.id);
        let bytes: usize = page.iter().map(|row| row.payload.len()).sum();
        limit = next_limit(page.len(), bytes);
        for row in page {
            painter.row(row);
        }
    }
    let (mut after, mut limit) = (String::new(), ROWS.0);
    loop {
        let page = topic::ledger(moment, topic, &after, limit).await?;
        let Some(last) = page.last() else { break };
        after.clone_from(&last.identity);
        let bytes = page
            .iter()
            .map(|entry| entry.identity.len() + entry.fingerprint.len())
            .sum();
        limit = next_limit(page.len(), bytes);
        for entry in &page {
            painter.entry(entry);
        }
    }
    Ok(painter.done())
}

/// How many rows the next page is to have, where the last had `rows` of together so many `bytes`.
fn next_limit(rows: usize, bytes: usize) -> u32 {
    let fitting = PAGE_BYTES / (bytes / rows.max(1) + 1);
    u32::try_from(fitting).unwrap_or(u32::MAX).clamp(1, ROWS.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_large_rows_are_short_and_none_is_empty() {
        assert_eq!(next_limit(100, 100 * 100), 1_000);
        assert_eq!(next_limit(100, 100 << 20), 3);
        assert_eq!(next_limit(1, 1 << 30), 1);
    }
}
