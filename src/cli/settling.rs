//! Settling by hand to the end, with its progress: `cancel`, `retry-now` and `mark-delivered`.

use anyhow::Context as _;
use futures_util::FutureExt as _;

use super::database::Desk;
use super::exit::Problem;
use super::progress::Progress;
use super::signals::Signals;
use crate::store::admin::{Counts, Deed, How, Selection};

/// Settles what is selected, step by step. What was done before an error, or before the process was asked to end, is told.
pub(super) async fn settle(
    desk: &Desk,
    selection: &Selection,
    deed: Deed,
    how: How,
) -> anyhow::Result<Counts> {
    let mut signals = Signals::listen()?;
    let progress = Progress::reading(None);
    let mut settling = desk.store.settling(selection, deed, how, None).await?;
    loop {
        let so_far = settling.counts();
        let more = match settling.step().await {
            Ok(more) => more,
            Err(error) if so_far == Counts::default() => return Err(error.into()),
            Err(error) => return Err(error).with_context(|| told(so_far)),
        };
        progress.tell(format!(
            "{} looked at, {} settled",
            settling.looked_at(),
            settling.counts().done + settling.counts().requested
        ));
        if !more {
            progress.done();
            return Ok(settling.counts());
        }
        if signals.stop().now_or_never().is_some() {
            progress.done();
            let stopped = format!("stopped: {}; the same command goes on", told(settling.counts()));
            return Err(Problem::Failed(stopped).into());
        }
    }
}

fn told(
    Counts {
        done,
        requested,
        left_alone,
    }: Counts,
) -> String {
    format!(
        "{done} were settled before, {requested} asked of the relay that holds them, {left_alone} left alone"
    )
}
