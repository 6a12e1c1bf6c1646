//! What goes on record of an attempt.

use std::time::Duration;

use super::classify::{Judgement, Met};
use super::login::Trouble;
use super::plan::LeftOut;
use crate::core::outcome::{Outcome, Refusal, Report, Scope};
use crate::core::secrets::{Excerpt, Secrets};

/// What is known of a request, whatever it means for its rows.
#[derive(Clone)]
pub(super) struct Evidence {
    pub(super) status: Option<u16>,
    pub(super) excerpt: Option<Excerpt>,
    /// What the answer may repeat and nobody may read.
    pub(super) secrets: Secrets,
    /// Bytes that are kept of what is said of a row.
    pub(super) keep: usize,
    pub(super) digest: [u8; 32],
    pub(super) duration: Duration,
}

impl Evidence {
    /// The same for each row of an answer that says something of each of so many: of several, its start is about others.
    pub(super) fn of_each(&self, rows: usize) -> Self {
        Self {
            excerpt: self.excerpt.clone().filter(|_| rows == 1),
            ..self.clone()
        }
    }

    /// What is kept of the answer for people to read: what it says of the row alone, else how it starts.
    fn excerpt(&self, words: Option<String>) -> Option<Excerpt> {
        let words = words.map(|words| self.secrets.excerpt(words.as_bytes(), self.keep));
        words.or_else(|| self.excerpt.clone())
    }
}

/// The report of a row that was sent. A token that was refused is replaced, so the row is worth another attempt.
pub(super) fn of(judgement: Judgement, evidence: &Evidence) -> Report {
    let outcome = match judgement.met {
        Met::Outcome(outcome) => outcome,
        Met::TokenRefused => Outcome::excused(),
    };
    Report {
        outcome,
        http_status: evidence.status,
        detail: judgement.detail,
        excerpt: evidence.excerpt(judgement.words),
        body_digest: Some(evidence.digest),
        duration: evidence.duration,
    }
}

/// The report of a row that was left out of the request.
pub(super) fn left_out(why: &LeftOut) -> Report {
    let alone = Outcome::Refused(Refusal::Alone);
    match why {
        LeftOut::NotRenderable(bad) => Report::unanswered(
            Outcome::Refused(Refusal::NotRenderable),
            format!("not sent: {bad}"),
        ),
        LeftOut::Unspeakable => Report::unanswered(
            Outcome::Refused(Refusal::NotRenderable),
            "not sent: no URL can name a record whose external id is a dot or two".to_owned(),
        ),
        LeftOut::SameRecord => Report::unanswered(
            alone,
            "not sent: another row of the request is about the same record; it comes next".to_owned(),
        ),
        LeftOut::Delete => Report::unanswered(
            alone,
            "not sent: the request was about other records, and a delete goes alone; it comes next"
                .to_owned(),
        ),
    }
}

/// The report of every row for which there is no session.
pub(super) fn without_session(trouble: &Trouble) -> Report {
    match trouble {
        Trouble::Refused(why) => Report::unanswered(Outcome::Refused(Refusal::Gone), why.clone()),
        Trouble::Throttled(why) => Report::unanswered(wait(None), why.clone()),
        Trouble::Unreachable(why) => Report::unanswered(Outcome::Unreachable, why.clone()),
    }
}

/// The report of every row while the org's reserve is reached.
pub(super) fn resting(left: Duration) -> Report {
    let detail =
        "not sent: the org has no more API calls left today than daily_limit_reserve leaves to others"
            .to_owned();
    Report::unanswered(wait(Some(left)), detail)
}

/// The report of every row for which no time was left.
pub(super) fn too_late() -> Report {
    Report::unanswered(
        Outcome::excused(),
        "not sent: logging in took all the time that a request has".to_owned(),
    )
}

/// The report of every row whose request cannot be made.
pub(super) fn unmakeable() -> Report {
    Report::unanswered(
        Outcome::Refused(Refusal::Gone),
        "not sent: duplicate_rule or call_options cannot be written into a header".to_owned(),
    )
}

fn wait(retry_after: Option<Duration>) -> Outcome {
    Outcome::Throttled {
        scope: Scope::Destination,
        retry_after,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::destination::salesforce::classify::judged;

    /// What a row keeps of an answer about so many, if `words` are about it alone.
    fn kept(rows: usize, words: Option<&str>) -> Option<Excerpt> {
        let evidence = Evidence {
            status: Some(200),
            excerpt: Some(Secrets::none().excerpt("[…".as_bytes(), 4)),
            secrets: Secrets::none(),
            keep: 4,
            digest: [0; 32],
            duration: Duration::ZERO,
        };
        let judgement = Judgement {
            words: words.map(str::to_owned),
            ..judged(Outcome::Accepted, String::new())
        };
        of(judgement, &evidence.of_each(rows)).excerpt
    }

    #[test]
    fn a_row_keeps_of_a_shared_answer_its_own_words_within_the_cap_and_nothing_of_the_others() {
        assert_eq!(kept(2, Some("own words")).as_deref(), Some("own "));
        assert_eq!(kept(2, None), None);
        assert_eq!(kept(1, None).as_deref(), Some("[…"));
    }
}
