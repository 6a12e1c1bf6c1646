//! What is refused, and the way out of it: two texts, so that nobody has to find the second within the first, where what a
//! user wrote may stand.

use std::fmt;

/// What is refused, and the way out of it. Displays as `what is wrong; the way out`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objection {
    /// What is wrong.
    pub problem: String,
    /// What to do about it, if anybody knows: in lower case, without a full stop.
    pub way_out: Option<String>,
}

impl Objection {
    /// Of a problem whose way out is known.
    pub fn new(problem: impl Into<String>, way_out: impl Into<String>) -> Self {
        Self {
            problem: problem.into(),
            way_out: Some(way_out.into()),
        }
    }

    /// Of what PostgreSQL says, and of its hint, which is a sentence or several.
    pub(super) fn with_hint(message: &str, hint: Option<&str>) -> Self {
        Self {
            problem: message.to_owned(),
            way_out: hint.map(as_way_out),
        }
    }

    /// Of what a trigger of SQLite says, which has no hints: ours say `problem; way out`, and the way out is ours alone.
    pub(super) fn of_trigger(message: &str) -> Self {
        match message.rsplit_once("; ") {
            Some((problem, way_out)) => Self::new(problem, way_out),
            None => Self::from(message.to_owned()),
        }
    }
}

impl From<String> for Objection {
    fn from(problem: String) -> Self {
        Self {
            problem,
            way_out: None,
        }
    }
}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { problem, way_out } = self;
        match way_out {
            Some(way_out) => write!(f, "{problem}; {way_out}"),
            None => f.write_str(problem),
        }
    }
}

/// A hint begins with a capital letter and ends with a full stop; a way out does neither.
fn as_way_out(hint: &str) -> String {
    let hint = hint.trim().trim_end_matches('.');
    let mut letters = hint.chars();
    match (letters.next(), letters.next()) {
        // Not the first letter of a word such as JSON.
        (Some(first), Some(second)) if !second.is_uppercase() => {
            let rest = &hint[first.len_utf8()..];
            first.to_lowercase().chain(rest.chars()).collect()
        }
        _ => hint.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_becomes_a_way_out_whatever_the_message_holds() {
        let objection = Objection::with_hint("no such thing: a; b", Some("Write columns beside literals."));
        assert_eq!(objection.problem, "no such thing: a; b");
        assert_eq!(
            objection.way_out.as_deref(),
            Some("write columns beside literals")
        );
        assert_eq!(
            objection.to_string(),
            "no such thing: a; b; write columns beside literals"
        );
        let plain = Objection::with_hint("no; such", None);
        assert_eq!((plain.to_string().as_str(), plain.way_out), ("no; such", None));
        let capitals = Objection::with_hint("no", Some("JSON has none"));
        assert_eq!(capitals.way_out.as_deref(), Some("JSON has none"));
    }
}
