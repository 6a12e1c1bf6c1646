//! What goes on record of an attempt.

use std::time::Duration;

use super::classify::{Judgement, Met};
use super::oauth::TokenTrouble;
use super::plan::LeftOut;
use super::request::Body;
use crate::core::outcome::{Outcome, Refusal, Report, Scope};
use crate::core::secrets::{Excerpt, Secrets};

/// What is known of a call, whatever it means for its rows.
#[derive(Clone)]
pub(super) struct Evidence {
    pub(super) status: Option<u16>,
    pub(super) excerpt: Option<Excerpt>,
    /// What the answer may repeat and nobody may read.
    pub(super) secrets: Secrets,
    pub(super) duration: Duration,
    digest: [u8; 32],
    /// Bytes that are kept of what is said of a row.
    keep: usize,
}

/// Whether a row was sent with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Company {
    Alone,
    Others,
}

impl Evidence {
    /// Of a call with `body` that has not been made yet; of what is said of a row `keep` bytes will be kept.
    pub(super) fn of(body: &Body, keep: usize) -> Self {
        Self {
            status: None,
            excerpt: None,
            secrets: Secrets::none(),
            duration: Duration::ZERO,
            digest: body.digest,
            keep,
        }
    }

    /// The same for each row of an answer that says something of each: of several, its start is about others.
    pub(super) fn of_each(&self, company: Company) -> Self {
        Self {
            excerpt: self.excerpt.clone().filter(|_| company == Company::Alone),
            ..self.clone()
        }
    }

    /// What is kept of the answer for people to read: what it says of the row alone, else how it starts.
    fn excerpt(&self, words: Option<String>) -> Option<Excerpt> {
        let words = words.map(|words| self.secrets.excerpt(words.as_bytes(), self.keep));
        words.or_else(|| self.excerpt.clone())
    }
}

impl Company {
    /// That of a row in a request of so many.
    pub(super) fn of(rows: usize) -> Self {
        if rows == 1 { Self::Alone } else { Self::Others }
    }
}

/// The report of a row that was sent.
pub(super) fn of(judgement: Judgement, company: Company, evidence: &Evidence) -> Report {
    let Judgement { met, detail, words } = judgement;
    let (outcome, detail) = match (met, company) {
        (Met::Outcome(outcome), _) => (outcome, detail),
        (Met::TokenRefused, _) => (Outcome::excused(), detail),
        (Met::RefusedTogether, _) => (Outcome::Refused(Refusal::Together), detail),
        (Met::Omitted, Company::Others) => (Outcome::Refused(Refusal::Alone), detail),
        (Met::Omitted, Company::Alone) => (
            Outcome::Refused(Refusal::Final),
            Some(
                "HubSpot answered with success and without this row, though it was sent alone: its record was merged \
                 into another, or is being archived"
                    .to_owned(),
            ),
        ),
    };
    let outcome = match company {
        Company::Alone => outcome.of_one_alone(),
        Company::Others => outcome,
    };
    Report {
        outcome,
        http_status: evidence.status,
        detail,
        excerpt: evidence.excerpt(words),
        body_digest: Some(evidence.digest),
        duration: evidence.duration,
    }
}

/// The report of a row that was not sent.
pub(super) fn left_out(why: &LeftOut) -> Report {
    match why {
        LeftOut::NotRenderable(bad) => Report::unanswered(
            Outcome::Refused(Refusal::NotRenderable),
            format!("not sent: {bad}"),
        ),
        LeftOut::SameRecord => Report::unanswered(
            Outcome::Refused(Refusal::Alone),
            "not sent: another row of the batch is about the same record; it comes next".to_owned(),
        ),
    }
}

/// The report of every row for which there was no token.
pub(super) fn without_token(trouble: &TokenTrouble) -> Report {
    let (outcome, why) = match trouble {
        TokenTrouble::Refused(why) => (Outcome::Refused(Refusal::Gone), why),
        TokenTrouble::Throttled(why, retry_after) => (
            Outcome::Throttled {
                scope: Scope::Destination,
                retry_after: *retry_after,
            },
            why,
        ),
        TokenTrouble::Unreachable(why) => (Outcome::Unreachable, why),
    };
    Report::unanswered(outcome, why.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a row keeps of an answer in this company, if `words` are about it alone.
    fn kept(company: Company, words: Option<&str>) -> Option<Excerpt> {
        let evidence = Evidence {
            status: Some(207),
            excerpt: Some(Secrets::none().excerpt("{…".as_bytes(), 4)),
            secrets: Secrets::none(),
            duration: Duration::ZERO,
            digest: [0; 32],
            keep: 4,
        };
        let judgement = Judgement {
            met: Met::Omitted,
            detail: None,
            words: words.map(str::to_owned),
        };
        of(judgement, company, &evidence.of_each(company)).excerpt
    }

    #[test]
    fn a_row_keeps_of_a_shared_answer_its_own_words_within_the_cap_and_nothing_of_the_others() {
        assert_eq!(kept(Company::Others, Some("own words")).as_deref(), Some("own "));
        assert_eq!(kept(Company::Others, None), None);
        assert_eq!(kept(Company::Alone, None).as_deref(), Some("{…"));
    }
}
