//! The HubSpot destination: up to 100 rows a request, found by a property with unique values.
//!
//! ```text
//!  batch ─▶ plan ─┬─ upserts ─▶ batch/upsert ───────────────▶ reading ─▶ reports
//!                 └─ deletes ─▶ batch/read ─▶ batch/archive ─▶ reading ─▶ reports
//!                      every call carries a token of `tokens`
//! ```
//!
//! A row is delivered only if an answer says so of that row. Whatever a call meets, no row is sent twice within one
//! attempt: a token that is refused is replaced before the next.

mod calls;
mod classify;
mod oauth;
mod plan;
mod preflight;
mod reading;
mod rendering;
mod report;
mod request;
#[cfg(test)]
mod tests;
mod tokens;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use url::Url;

use super::client::GuardedClient;
use super::preflight::Finding;
use super::{Destination, Outgoing, Rendering, UnknownRendering};
use crate::clock::Clock;
use crate::core::outcome::Report;
use crate::core::time::Timestamp;
use calls::Sending;
use plan::Plan;
use rendering::HubSpotRendering;
use tokens::Tokens;

/// What HubSpot takes in one batch.
const MAX_INPUTS: usize = 100;

/// A portal of HubSpot, and the objects in it that rows go to.
pub struct HubSpot {
    portal: Arc<Portal>,
    rendering: HubSpotRendering,
}

/// What stays the same under every rendering.
struct Portal {
    url: Url,
    client: GuardedClient,
    tokens: Tokens,
    /// For a delivery with all its calls.
    timeout: Duration,
    clock: Arc<dyn Clock>,
}

#[async_trait::async_trait]
impl Destination for HubSpot {
    fn batch_limit(&self) -> usize {
        MAX_INPUTS
    }

    fn rendering(&self) -> Rendering {
        self.rendering.to_text()
    }

    fn under(&self, rendering: &Rendering) -> Result<Box<dyn Destination>, UnknownRendering> {
        Ok(Box::new(Self {
            portal: Arc::clone(&self.portal),
            rendering: HubSpotRendering::parse(rendering)?,
        }))
    }

    async fn preflight(&self, now: Timestamp) -> Vec<Finding> {
        preflight::look(&self.portal, &self.rendering, now).await
    }

    async fn deliver(&self, batch: &[Outgoing]) -> Vec<Report> {
        let Some(first) = batch.first() else {
            return vec![];
        };
        let deadline = self.portal.clock.monotonic().saturating_add(self.portal.timeout);
        let plan = Plan::of(&self.rendering, batch);
        let mut reports: Vec<Option<Report>> = vec![None; batch.len()];
        for (place, why) in &plan.left_out {
            reports[*place] = Some(report::left_out(why));
        }
        let unreported = match self.portal.tokens.get(first.now).await {
            Ok(token) => {
                let sending = Sending {
                    portal: &self.portal,
                    rendering: &self.rendering,
                    token: &token,
                    batch,
                    now: first.now,
                    deadline,
                };
                for (place, report) in sending.all(&plan).await {
                    reports[place] = Some(report);
                }
                Report::unknown("the answer says nothing of this row")
            }
            Err(trouble) => report::without_token(&trouble),
        };
        let reported = |report: Option<Report>| report.unwrap_or_else(|| unreported.clone());
        reports.into_iter().map(reported).collect()
    }
}
