//! How many requests the org took in its day, and when it takes no more.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;

use super::error::refusal;
use crate::mock::crm::Answer;

const DAY: Duration = Duration::from_hours(24);

#[derive(Debug)]
pub(super) struct Usage {
    limit: u64,
    used: u64,
    day_ends: Option<Timestamp>,
}

impl Usage {
    pub(super) fn new(limit: u64) -> Self {
        Self {
            limit,
            used: 0,
            day_ends: None,
        }
    }

    /// Counts a request, or refuses it.
    pub(super) fn count(&mut self, now: Timestamp) -> Result<(), Answer> {
        if self.day_ends.is_none_or(|end| end <= now) {
            self.used = 0;
            self.day_ends = now.checked_add(DAY).ok();
        }
        if self.used >= self.limit {
            return Err(
                refusal(403, "REQUEST_LIMIT_EXCEEDED", "TotalRequests Limit exceeded.")
                    .with("sforce-limit-info", self.header()),
            );
        }
        self.used += 1;
        Ok(())
    }

    /// The value of `Sforce-Limit-Info`.
    pub(super) fn header(&self) -> String {
        format!("api-usage={}/{}", self.used, self.limit)
    }

    pub(super) fn limits(&self) -> Answer {
        let left = self.limit.saturating_sub(self.used);
        let body = json!({
            "DailyApiRequests": { "Max": self.limit, "Remaining": left },
            "DailyBulkV2QueryJobs": { "Max": 10_000, "Remaining": 10_000 },
        });
        Answer::json(200, &body)
    }

    pub(super) fn clear(&mut self) {
        self.used = 0;
        self.day_ends = None;
    }
}
