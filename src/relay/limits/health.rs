//! Since when no request of a shard has worked: what is noted in the database, and who is warned.
//!
//! Every failure counts towards it in memory; only one that lasts, or an open breaker, is worth a write. Nothing is
//! written here.

use std::time::Duration;

use crate::core::limit::Verdict;
use crate::core::limit::breaker::{BreakerPolicy, Change};
use crate::core::time::Timestamp;
use crate::store::Failing;

/// A receiver that fails for so long is noted, breaker or not.
const WORTH_NOTING: Duration = Duration::from_mins(1);

/// How a shard has fared.
#[derive(Debug, Default)]
pub(in crate::relay) struct Health {
    since: Option<Timestamp>,
    warned: Warned,
    /// What the database knows, or will once the note that is under way is written.
    noted: Option<Failing>,
    /// What it is to know.
    to_note: Option<Note>,
    writing: bool,
}

/// What is to be noted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::relay) enum Note {
    /// It fails.
    Failing(Failing),
    /// It works again.
    Working,
}

/// Of how much of `max_age` a person has been warned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::relay) enum Warned {
    /// Of nothing.
    #[default]
    Not,
    /// Half of it is over.
    Half,
    /// Nine tenths are.
    Nearly,
}

/// What came back, as far as health is concerned.
#[derive(Debug, Clone, Copy)]
pub(in crate::relay) struct Landing<'a> {
    pub(in crate::relay) verdict: Verdict,
    /// How the breaker has changed by it.
    pub(in crate::relay) change: Option<Change>,
    /// Whether the breaker is open now.
    pub(in crate::relay) open: bool,
    /// What went wrong.
    pub(in crate::relay) detail: Option<&'a str>,
    pub(in crate::relay) max_age: Duration,
}

impl Health {
    /// Goes on where the owner before left it.
    pub(in crate::relay) fn left(noted: Option<Failing>, breaker: Option<&BreakerPolicy>) -> Self {
        let mut health = Self {
            since: noted.as_ref().map(|failing| failing.since),
            noted,
            ..Self::default()
        };
        if breaker.is_none() {
            health.breaker_is_gone();
        }
        health
    }

    /// A request came back. Returns what a person is to be warned of, once each.
    pub(in crate::relay) fn came_back(&mut self, landing: Landing<'_>, now: Timestamp) -> Option<Warned> {
        if landing.verdict == Verdict::Works {
            // What was on the wire when the breaker opened says nothing new.
            if !landing.open {
                self.works();
            }
            return None;
        }
        let since = *self.since.get_or_insert(now);
        let lasted = now.since(since);
        let opened = landing.change == Some(Change::Opened);
        if opened || (self.noted.is_none() && lasted >= WORTH_NOTING) {
            self.note(Failing {
                since,
                breaker_opened_at: landing.open.then_some(now),
                dying_from: since.plus(landing.max_age),
                detail: landing.detail.unwrap_or("no request works").to_owned(),
            });
        }
        self.warn(lasted, landing.max_age)
    }

    /// The breaker was switched off while it was open.
    pub(in crate::relay) fn breaker_is_gone(&mut self) {
        if let Some(noted) = self
            .noted
            .clone()
            .filter(|noted| noted.breaker_opened_at.is_some())
        {
            self.note(Failing {
                breaker_opened_at: None,
                ..noted
            });
        }
    }

    /// Since when no request has worked.
    pub(in crate::relay) fn since(&self) -> Option<Timestamp> {
        self.since
    }

    /// What is to be written now, if nothing is being written.
    pub(in crate::relay) fn next_note(&mut self) -> Option<Note> {
        if self.writing {
            return None;
        }
        let note = self.to_note.take();
        self.writing = note.is_some();
        note
    }

    /// The note is written, or could not be.
    pub(in crate::relay) fn written(&mut self) {
        self.writing = false;
    }

    fn works(&mut self) {
        self.since = None;
        self.warned = Warned::Not;
        if self.noted.take().is_some() {
            self.to_note = Some(Note::Working);
        }
    }

    fn note(&mut self, failing: Failing) {
        self.noted = Some(failing.clone());
        self.to_note = Some(Note::Failing(failing));
    }

    fn warn(&mut self, lasted: Duration, max_age: Duration) -> Option<Warned> {
        let of = if lasted >= max_age / 10 * 9 {
            Warned::Nearly
        } else if lasted >= max_age / 2 {
            Warned::Half
        } else {
            Warned::Not
        };
        let is_new = of > self.warned;
        self.warned = self.warned.max(of);
        is_new.then_some(of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX_AGE: Duration = Duration::from_mins(100);

    fn at(minutes: i64) -> Timestamp {
        Timestamp::from_micros(minutes * 60_000_000)
    }

    fn landing(verdict: Verdict) -> Landing<'static> {
        Landing {
            verdict,
            change: None,
            open: false,
            detail: Some("HTTP 500"),
            max_age: MAX_AGE,
        }
    }

    fn fails(health: &mut Health, minutes: i64) -> Option<Warned> {
        health.came_back(landing(Verdict::Fails), at(minutes))
    }

    #[test]
    fn a_blip_is_not_worth_a_write() {
        let mut health = Health::default();
        fails(&mut health, 1);
        health.came_back(landing(Verdict::Works), at(1));
        assert_eq!(health.next_note(), None);
        fails(&mut health, 2);
        assert_eq!(
            health.next_note(),
            None,
            "a minute counts from the last that worked"
        );
    }

    #[test]
    fn what_lasts_is_noted_once_and_its_end_too() {
        let mut health = Health::default();
        fails(&mut health, 1);
        fails(&mut health, 2);
        let failing = Failing {
            since: at(1),
            breaker_opened_at: None,
            dying_from: at(101),
            detail: "HTTP 500".to_owned(),
        };
        assert_eq!(health.next_note(), Some(Note::Failing(failing)));
        fails(&mut health, 3);
        health.came_back(landing(Verdict::Works), at(4));
        assert_eq!(health.next_note(), None, "one write at a time");
        health.written();
        assert_eq!(health.next_note(), Some(Note::Working));
    }

    #[test]
    fn an_open_breaker_is_noted_at_once_and_a_late_answer_does_not_end_it() {
        let mut health = Health::default();
        let opened = Landing {
            change: Some(Change::Opened),
            open: true,
            ..landing(Verdict::Fails)
        };
        health.came_back(opened, at(1));
        let Some(Note::Failing(failing)) = health.next_note() else {
            panic!("nothing is noted")
        };
        assert_eq!(failing.breaker_opened_at, Some(at(1)));
        health.written();
        let late = Landing {
            open: true,
            ..landing(Verdict::Works)
        };
        health.came_back(late, at(1));
        assert_eq!((health.next_note(), health.since()), (None, Some(at(1))));
    }

    #[test]
    fn a_person_is_warned_of_half_and_of_nine_tenths_once() {
        let mut health = Health::default();
        let warned: Vec<_> = (0..120)
            .filter_map(|minute| Some((minute, fails(&mut health, minute)?)))
            .collect();
        assert_eq!(warned, [(50, Warned::Half), (90, Warned::Nearly)]);
    }

    #[test]
    fn what_the_owner_before_noted_goes_on() {
        let mut health = Health::default();
        fails(&mut health, 0);
        fails(&mut health, 1);
        let Some(Note::Failing(noted)) = health.next_note() else {
            panic!("nothing is noted")
        };
        let mut after = Health::left(Some(noted), None);
        assert_eq!(fails(&mut after, 95), Some(Warned::Nearly));
        assert_eq!(after.next_note(), None, "it is on record already");
        after.came_back(landing(Verdict::Works), at(96));
        assert_eq!(after.next_note(), Some(Note::Working));
    }

    #[test]
    fn a_receiver_that_only_asks_to_wait_works_no_more_than_one_that_fails() {
        let mut health = Health::default();
        health.came_back(landing(Verdict::Neither), at(0));
        assert_eq!(health.since(), Some(at(0)));
    }
}
