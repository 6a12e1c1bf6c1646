//! What two pictures do not have alike, in words. Pure.

/// Differences that one sentence names at most.
const NAMED: usize = 5;

/// Something of which two pictures have another number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    /// For people, such as `outbox rows`.
    pub(crate) what: String,
    pub(crate) before: u64,
    pub(crate) after: u64,
}

impl Difference {
    pub(super) fn new(what: String, before: u64, after: u64) -> Self {
        Self { what, before, after }
    }
}

/// All numbers of the two pictures are the same, and still they differ.
const SAME_NUMBERS: &str = "as many of everything, with other content or versions";

/// `outbox rows 500, then 1000; deliveries 500, then 1000`: what weighs most.
pub(super) fn in_one_line(differences: &[Difference]) -> String {
    if differences.is_empty() {
        return SAME_NUMBERS.to_owned();
    }
    let text = |one: &Difference| format!("{} {}, then {}", one.what, one.before, one.after);
    let first: Vec<String> = differences.iter().take(NAMED).map(text).collect();
    first.join("; ")
}

/// A line each, such as `outbox rows: 500, whole 1000`, where `whole` names the second picture.
pub(super) fn lines(differences: &[Difference], whole: &str) -> Vec<String> {
    if differences.is_empty() {
        return vec![SAME_NUMBERS.to_owned()];
    }
    let line = |one: &Difference| format!("{}: {}, {whole} {}", one.what, one.before, one.after);
    differences.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_numbers_are_said_to_be_equal_and_others_shown_both() {
        let rows = [Difference::new("outbox rows".to_owned(), 1, 2)];
        assert_eq!(in_one_line(&rows), "outbox rows 1, then 2");
        assert_eq!(lines(&rows, "whole"), ["outbox rows: 1, whole 2"]);
        assert_eq!(in_one_line(&[]), SAME_NUMBERS);
        assert_eq!(lines(&[], "whole"), [SAME_NUMBERS]);
    }
}
