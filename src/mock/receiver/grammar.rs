//! Rules as text, for a command line: `fail=500:0.05,throttle=429/2:once,drop=once`.
//!
//! ```text
//! rules  := rule ("," rule)*
//! rule   := name ["=" arguments] [":" times] ("@" field "=" value)*
//! times  := "always" | "once" | COUNT | "every-" COUNT | "once-per-key" | PROBABILITY
//! field  := "topic" | "row-key" | "key" | "path"
//! ```
//! A fault without arguments may take its times after the `=`: `drop=once` is `drop:once`. A bare COUNT means the
//! next so many requests; a PROBABILITY has a decimal point (`0.05`). Without times, a rule fires always. Arguments
//! are separated by `/`, and durations are written `250ms`, `2s` or `1m`. A Retry-After that is a date holds commas
//! and colons: give it as JSON.
//!
//! | name | arguments |
//! |---|---|
//! | `fail`, `stored-failure` | STATUS |
//! | `throttle` | STATUS/RETRY-AFTER |
//! | `redirect` | STATUS/LOCATION (a path; a full address holds a colon: give it as JSON) |
//! | `delay`, `slow-head`, `slow-body`, `close-idle` | DURATION |
//! | `huge-head`, `huge-body` | BYTES |
//! | `gzip-bomb` | MEBIBYTES |
//! | `hang`, `reset`, `drop`, `drop-reset`, `drop-hang`, `endless-body`, `endless-1xx`, `truncated`, `invalid-utf8`, `nul-body`, `non-ascii-header` | none |

use std::str::FromStr;
use std::time::Duration;

use super::fault::Fault;
use super::script::{Only, Rule, RuleError};
use crate::mock::times::{NoTimes, Times, read_duration};

/// Why a text is not a list of rules. Each names the rule or the word that is wrong.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum GrammarError {
    /// No such fault.
    #[error("there is no fault `{name}`; did you mean `{nearest}`?")]
    UnknownFault {
        /// What was written.
        name: String,
        /// The fault whose name is nearest.
        nearest: &'static str,
    },
    /// The fault needs arguments that are not there, or has some that do not fit.
    #[error("`{rule}` needs {needs} after the `=`")]
    Arguments {
        /// The rule as it was written.
        rule: String,
        /// The arguments that the fault takes.
        needs: &'static str,
    },
    /// A word that says no times.
    #[error(transparent)]
    Times(#[from] NoTimes),
    /// A condition that is none.
    #[error("`@{condition}` is no condition; write @topic=, @row-key=, @key= or @path= with a value")]
    Condition {
        /// What was written after the `@`.
        condition: String,
    },
    /// Well formed, but it makes no sense.
    #[error("`{rule}`: {source}")]
    Rule {
        /// The rule as it was written.
        rule: String,
        /// What is wrong with it.
        source: RuleError,
    },
}

/// Parses a comma-separated list of rules; the module's page has the grammar.
pub fn parse_rules(text: &str) -> Result<Vec<Rule>, GrammarError> {
    text.split(',')
        .map(str::trim)
        .filter(|rule| !rule.is_empty())
        .map(Rule::from_str)
        .collect()
}

impl FromStr for Rule {
    type Err = GrammarError;

    fn from_str(text: &str) -> Result<Self, GrammarError> {
        let mut parts = text.split('@');
        let what = parts.next().unwrap_or_default();
        let only = parts.try_fold(Only::default(), read_condition)?;
        let (what, times) = match what.split_once(':') {
            Some((what, times)) => (what, Some(times)),
            None => (what, None),
        };
        let (name, argument) = match what.split_once('=') {
            Some((name, argument)) => (name, Some(argument)),
            None => (what, None),
        };
        let shape = Shape::of(name)?;
        let (argument, times) = match (shape, argument, times) {
            // `drop=once`: nothing else could stand there.
            (Shape::Bare(_), Some(times), None) => (None, Some(times)),
            other => (other.1, other.2),
        };
        let fault = shape.read(argument).ok_or_else(|| GrammarError::Arguments {
            rule: text.to_owned(),
            needs: shape.needs(),
        })?;
        let rule = Self {
            fault,
            times: times.map_or(Ok(Times::Always), Times::from_str)?,
            only,
        };
        rule.check().map_err(|source| GrammarError::Rule {
            rule: text.to_owned(),
            source,
        })?;
        Ok(rule)
    }
}

/// Which arguments a fault takes, and how to make it from them.
#[derive(Clone, Copy)]
enum Shape {
    Bare(fn() -> Fault),
    Status(fn(u16) -> Fault),
    StatusAndText(fn(u16, String) -> Fault),
    Time(fn(Duration) -> Fault),
    Bytes(fn(u64) -> Fault),
    Mebibytes(fn(u32) -> Fault),
}

const SHAPES: [(&str, Shape); 22] = [
    ("fail", Shape::Status(|status| Fault::Fail { status })),
    (
        "stored-failure",
        Shape::Status(|status| Fault::StoredFailure { status }),
    ),
    (
        "throttle",
        Shape::StatusAndText(|status, retry_after| Fault::Throttle { status, retry_after }),
    ),
    (
        "redirect",
        Shape::StatusAndText(|status, location| Fault::Redirect { status, location }),
    ),
    ("hang", Shape::Bare(|| Fault::Hang)),
    ("reset", Shape::Bare(|| Fault::Reset)),
    ("drop", Shape::Bare(|| Fault::ProcessedThenDropped)),
    ("drop-reset", Shape::Bare(|| Fault::ProcessedThenReset)),
    ("drop-hang", Shape::Bare(|| Fault::ProcessedThenHung)),
    ("delay", Shape::Time(|time| Fault::Delay { time })),
    ("slow-head", Shape::Time(|gap| Fault::SlowHead { gap })),
    ("slow-body", Shape::Time(|gap| Fault::SlowBody { gap })),
    ("huge-head", Shape::Bytes(|bytes| Fault::HugeHead { bytes })),
    ("huge-body", Shape::Bytes(|bytes| Fault::HugeBody { bytes })),
    ("endless-body", Shape::Bare(|| Fault::EndlessBody)),
    ("endless-1xx", Shape::Bare(|| Fault::Endless1xx)),
    ("truncated", Shape::Bare(|| Fault::Truncated)),
    ("invalid-utf8", Shape::Bare(|| Fault::InvalidUtf8)),
    ("nul-body", Shape::Bare(|| Fault::NulBody)),
    ("non-ascii-header", Shape::Bare(|| Fault::NonAsciiHeader)),
    (
        "gzip-bomb",
        Shape::Mebibytes(|mebibytes| Fault::GzipBomb { mebibytes }),
    ),
    ("close-idle", Shape::Time(|after| Fault::CloseIdle { after })),
];

/// The names of the faults, as rules name them.
pub fn fault_names() -> impl Iterator<Item = &'static str> {
    SHAPES.iter().map(|(name, _)| *name)
}

impl Shape {
    fn of(name: &str) -> Result<Self, GrammarError> {
        if let Some((_, shape)) = SHAPES.iter().find(|(known, _)| *known == name) {
            return Ok(*shape);
        }
        let nearest = SHAPES
            .iter()
            .map(|(known, _)| *known)
            .min_by_key(|known| strsim::levenshtein(known, name));
        Err(GrammarError::UnknownFault {
            name: name.to_owned(),
            nearest: nearest.unwrap_or("fail"),
        })
    }

    fn needs(self) -> &'static str {
        match self {
            Self::Bare(_) => "nothing but how often",
            Self::Status(_) => "a status such as 500",
            Self::StatusAndText(_) => "a status and a value, such as 429/2",
            Self::Time(_) => "a duration such as 250ms, 2s or 1m",
            Self::Bytes(_) => "a number of bytes",
            Self::Mebibytes(_) => "a number of MiB",
        }
    }

    fn read(self, argument: Option<&str>) -> Option<Fault> {
        match self {
            Self::Bare(make) => argument.is_none().then(make),
            Self::Status(make) => argument?.parse().ok().map(make),
            Self::StatusAndText(make) => {
                let (status, text) = argument?.split_once('/')?;
                Some(make(status.parse().ok()?, text.to_owned()))
            }
            Self::Time(make) => read_duration(argument?).map(make),
            Self::Bytes(make) => argument?.parse().ok().map(make),
            Self::Mebibytes(make) => argument?.parse().ok().map(make),
        }
    }
}

fn read_condition(mut only: Only, condition: &str) -> Result<Only, GrammarError> {
    let wrong = || GrammarError::Condition {
        condition: condition.to_owned(),
    };
    let (field, value) = condition.split_once('=').ok_or_else(wrong)?;
    let slot = match field {
        "topic" => &mut only.topic,
        "row-key" => &mut only.row_key,
        "key" => &mut only.key,
        "path" => &mut only.path,
        _ => return Err(wrong()),
    };
    *slot = Some(value.to_owned());
    Ok(only)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_form_reads_as_its_grammar_says() {
        let rules = parse_rules(
            "fail=500:0.05, throttle=429/2:once,drop=once,hang,delay=250ms:every-3@topic=orders@row-key=7,\
             redirect=302/elsewhere:2,reset:once-per-key@path=/in@key=k",
        )
        .unwrap();
        let expected = [
            Rule::new(Times::Chance(0.05), Fault::Fail { status: 500 }),
            Rule::once(Fault::Throttle {
                status: 429,
                retry_after: "2".into(),
            }),
            Rule::once(Fault::ProcessedThenDropped),
            Rule::always(Fault::Hang),
            Rule::new(
                Times::Every(3),
                Fault::Delay {
                    time: Duration::from_millis(250),
                },
            )
            .for_topic("orders")
            .for_row_key("7"),
            Rule::next(
                2,
                Fault::Redirect {
                    status: 302,
                    location: "elsewhere".into(),
                },
            ),
            Rule::new(Times::OncePerKey, Fault::Reset)
                .for_path("/in")
                .for_key("k"),
        ];
        assert_eq!(rules, expected);
        assert_eq!(parse_rules(" ").unwrap(), []);
    }

    #[test]
    fn each_name_in_the_text_form_is_the_name_of_its_fault() {
        for (name, shape) in SHAPES {
            let argument = match shape {
                Shape::Bare(_) => None,
                Shape::Status(_) => Some("500"),
                Shape::StatusAndText(_) => Some("399/x"),
                Shape::Time(_) => Some("1s"),
                Shape::Bytes(_) | Shape::Mebibytes(_) => Some("1"),
            };
            let fault = shape.read(argument).unwrap();
            assert_eq!(fault.name(), name);
            let json = serde_json::to_string(&fault).unwrap();
            assert!(json.contains(&format!("\"{name}\"")), "{json}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_the_way_out() {
        let message = |text: &str| parse_rules(text).unwrap_err().to_string();
        assert_eq!(
            message("fial=500"),
            "there is no fault `fial`; did you mean `fail`?"
        );
        assert_eq!(message("fail"), "`fail` needs a status such as 500 after the `=`");
        assert_eq!(
            message("hang,delay=3"),
            "`delay=3` needs a duration such as 250ms, 2s or 1m after the `=`"
        );
        assert!(message("fail=500:sometimes").starts_with("`sometimes` says not how often"));
        assert!(message("fail=500:1.5").contains("1.5 is not a probability"));
        assert!(message("fail=200").contains("give one from 300 to 599"));
        assert!(message("hang:every-0").contains("would never fire"));
        assert!(message("hang@colour=red").starts_with("`@colour=red` is no condition"));
    }
}
