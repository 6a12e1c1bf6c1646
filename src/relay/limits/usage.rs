//! When what a receiver says of its daily limit is worth a write.
//!
//! Every answer says it; status needs it seldom. Nothing is written here.

use std::time::Duration;

use crate::core::limit::usage::Usage;
use crate::destination::usage::Heard;

/// So long after one write the next is made at the earliest.
const SELDOM: Duration = Duration::from_secs(10);

/// What of it the database knows.
#[derive(Debug, Default)]
pub(in crate::relay) struct UsageNotes {
    noted: Option<Usage>,
    /// Nothing is written before this (monotonic).
    next: Duration,
    writing: bool,
}

impl UsageNotes {
    /// What is to be written now, if anything: news, and a while after the last write.
    pub(in crate::relay) fn next(&mut self, heard: Option<Heard>, monotonic: Duration) -> Option<Heard> {
        let news = heard.filter(|heard| self.noted != Some(heard.usage))?;
        if self.writing || monotonic < self.next {
            return None;
        }
        self.noted = Some(news.usage);
        self.next = monotonic.saturating_add(SELDOM);
        self.writing = true;
        Some(news)
    }

    /// It is written, or could not be.
    pub(in crate::relay) fn written(&mut self) {
        self.writing = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(used: u32) -> Heard {
        Heard {
            usage: Usage {
                used,
                allowed: 100,
                reserve: 5,
            },
            at: Duration::ZERO,
        }
    }

    fn after(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn only_news_is_written_and_seldom() {
        let mut notes = UsageNotes::default();
        assert_eq!(notes.next(None, after(1)), None);
        assert_eq!(notes.next(Some(heard(1)), after(1)), Some(heard(1)));
        assert_eq!(notes.next(Some(heard(2)), after(12)), None, "one write at a time");
        notes.written();
        assert_eq!(
            notes.next(Some(heard(2)), after(10)),
            None,
            "a while has not passed"
        );
        assert_eq!(notes.next(Some(heard(1)), after(12)), None, "no news");
        assert_eq!(notes.next(Some(heard(2)), after(11)), Some(heard(2)));
    }
}
