//! What is wrong with a configuration: all of it at once, a line for each fault, as a compiler prints it.
//!
//! A fault names the key, the line and the way out. It never holds the value of a secret.

use std::fmt;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The line of the configuration, from 1; none for a default, a variable or the file itself.
    pub line: Option<usize>,
    /// The path of the key, such as `destinations.crm.retry.first`; none where the text is not TOML at all.
    pub key: Option<String>,
    /// What is wrong with it and how to mend it.
    pub problem: String,
}

/// All that is wrong with a configuration, in the order of its lines. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFaults {
    file: String,
    faults: Vec<Fault>,
}

impl ConfigFaults {
    /// The faults of the configuration called `file`.
    pub(super) fn new(file: String, mut faults: Vec<Fault>) -> Self {
        faults.sort_by_key(|fault| fault.line);
        Self { file, faults }
    }

    /// Each fault, in the order of its line.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }
}

impl fmt::Display for ConfigFaults {
    /// `aftercommit.toml:12: destinations.crm.retry.frist: unknown key; did you mean `first`?`, a line for each.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.faults.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            f.write_str(&self.file)?;
            if let Some(line) = fault.line {
                write!(f, ":{line}")?;
            }
            if let Some(key) = &fault.key {
                write!(f, ": {key}")?;
            }
            write!(f, ": {}", fault.problem)?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigFaults {}

/// What a wrong word was probably meant to be, or else what it could be: the second half of a fault.
pub(super) fn way_out(wrong: &str, known: &[&str]) -> String {
    match nearest(wrong, known.iter().copied()) {
        Some(candidate) => format!("did you mean `{candidate}`?"),
        None => format!("known are {}", known.join(", ")),
    }
}

/// The known word that `wrong` was probably meant to be.
pub(super) fn nearest<'k>(wrong: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let wrong = wrong.to_lowercase();
    known
        .map(|candidate| {
            (
                strsim::damerau_levenshtein(&wrong, &candidate.to_lowercase()),
                candidate,
            )
        })
        .min()
        .filter(|(distance, _)| *distance <= 1 + wrong.chars().count() / 3)
        .map(|(_, candidate)| candidate)
}
