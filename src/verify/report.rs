//! What a verification found: an outcome for each test, what it saw, and the way out.

use serde::Serialize;

use super::picture::Picture;

/// The three tests that every idempotent pipeline should pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Test {
    MidRunFailure,
    ReRun,
    OutOfOrder,
}

/// What a test came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    Passed,
    Failed,
    /// It saw nothing wrong, and could not have.
    NotProven,
}

/// What came of one test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    pub(crate) test: Test,
    pub(crate) outcome: Outcome,
    /// What was seen, in one sentence.
    pub(crate) seen: String,
    /// A line each: what differs, or for which row keys.
    pub(crate) details: Vec<String>,
    /// What to do about it, where the test has not passed.
    pub(crate) way_out: Option<String>,
}

/// What a verification found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Report {
    pub(crate) topic: String,
    /// Whether every test has passed: one that is not proven has not.
    pub(crate) passed: bool,
    /// In the order of [`Test`].
    pub(crate) tests: Vec<Finding>,
    /// How often the pipeline was begun.
    pub(crate) runs: u32,
    /// The topic after the last run.
    pub(crate) picture: Picture,
}

impl Test {
    /// For people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::MidRunFailure => "mid-run failure",
            Self::ReRun => "re-run",
            Self::OutOfOrder => "out of order",
        }
    }

    pub(super) fn passed(self, seen: String) -> Finding {
        self.finding(Outcome::Passed, seen, None)
    }

    pub(super) fn failed(self, seen: String, way_out: &str) -> Finding {
        self.finding(Outcome::Failed, seen, Some(way_out))
    }

    pub(super) fn not_proven(self, seen: String, way_out: &str) -> Finding {
        self.finding(Outcome::NotProven, seen, Some(way_out))
    }

    fn finding(self, outcome: Outcome, seen: String, way_out: Option<&str>) -> Finding {
        Finding {
            test: self,
            outcome,
            seen,
            details: vec![],
            way_out: way_out.map(str::to_owned),
        }
    }
}

impl Finding {
    pub(super) fn with(self, details: Vec<String>) -> Self {
        Self { details, ..self }
    }
}

impl Outcome {
    /// For people; what is no pass draws the eye.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "FAILED",
            Self::NotProven => "NOT PROVEN",
        }
    }
}
