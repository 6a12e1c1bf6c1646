//! A look at the receiver before the first row is sent: what would refuse every row is found while none was sent.
//!
//! What is found is for a person: a sentence, and the way out where there is one. Nothing is written at the receiver.

use serde::Serialize;

/// How the advice to whoever finds a destination paused ends.
const THEN_RESUME: &str = ", then resume";

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How it is.
    pub grade: Grade,
    /// What was found, and the way out: lower case, without secrets.
    pub sentence: String,
}

/// How a thing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// As it must be.
    Good,
    /// It could not be seen: the first rows will tell.
    Unclear,
    /// Rows would be refused: nothing is sent.
    Refused,
}

impl Finding {
    /// As it must be.
    pub fn good(sentence: impl Into<String>) -> Self {
        Self::of(Grade::Good, sentence)
    }

    /// Not to be seen.
    pub fn unclear(sentence: impl Into<String>) -> Self {
        Self::of(Grade::Unclear, sentence)
    }

    /// Every row, or every row with a certain field, would be refused.
    pub fn refused(sentence: impl Into<String>) -> Self {
        Self::of(Grade::Refused, sentence)
    }

    /// What refuses rows ends with the advice to resume; whoever looks beforehand has nothing paused yet.
    fn of(grade: Grade, sentence: impl Into<String>) -> Self {
        let mut sentence = sentence.into();
        if let Some(shorter) = sentence.strip_suffix(THEN_RESUME) {
            sentence.truncate(shorter.len());
        }
        Self { grade, sentence }
    }
}

/// The sentences for which nothing is sent, and the way on; none if there is no such finding.
pub fn refusal(findings: &[Finding]) -> Option<String> {
    let refused: Vec<&str> = findings
        .iter()
        .filter(|finding| finding.grade == Grade::Refused)
        .map(|finding| finding.sentence.as_str())
        .collect();
    (!refused.is_empty()).then(|| format!("{}{THEN_RESUME}", refused.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_refused_keeps_rows_back() {
        let fine = [Finding::good("a is there"), Finding::unclear("b cannot be seen")];
        assert_eq!(refusal(&fine), None);
        let refused = [
            Finding::refused("c is missing"),
            Finding::refused("d is read-only"),
        ];
        let findings = [&fine[..], &refused].concat();
        assert_eq!(
            refusal(&findings).as_deref(),
            Some("c is missing; d is read-only, then resume")
        );
    }

    #[test]
    fn what_is_found_beforehand_says_nothing_of_a_pause_that_there_is_not() {
        let finding = Finding::refused("e is missing; create e, then resume");
        assert_eq!(finding.sentence, "e is missing; create e");
        let why = refusal(&[finding]);
        assert_eq!(why.as_deref(), Some("e is missing; create e, then resume"));
    }
}
