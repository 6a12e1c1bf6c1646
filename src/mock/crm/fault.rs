//! What can go wrong at a mock CRM, as values and as text: `request-limit:3,unable-to-lock-row:2@Ext__c=acct-7`.
//!
//! ```text
//! rules  := rule ("," rule)*
//! rule   := name ["=" argument] [":" times] ("@" field "=" value)*
//! times  := "always" | "once" | COUNT | "every-" COUNT | "once-per-key" | PROBABILITY
//! field  := "path" (its beginning) | "method" | the name of a record's field
//! ```
//! Times are those of the mock receiver; a key is a record's own. Faults of the wire are the same at each CRM, the others
//! are the CRM's own. Nothing happens in here: `server` acts the wire's faults out, the CRM its own.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::request::Request;
use crate::mock::times::{NoTimes, Times, TimesError, read_duration};

/// The faults of one CRM.
pub trait VendorFault: Copy + Eq + fmt::Debug + Send + Sync + 'static {
    /// Each fault with the name that rules give it.
    const ALL: &'static [(&'static str, Self)];

    /// What meets the fault.
    fn scope(self) -> Scope;

    /// Whether it can happen to such a request at all. Others neither meet nor count it.
    fn can_meet(self, request: &Request) -> bool {
        let _ = request;
        true
    }
}

/// What meets a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// A request as a whole, in place of being processed.
    Request,
    /// One record among those that a request carries.
    Record,
}

/// Something that goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault<V> {
    /// On the wire.
    Wire(WireFault),
    /// In the CRM.
    Vendor(V),
}

/// What goes wrong on the wire, whatever the CRM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireFault {
    /// `drop`: processes the request, then closes the connection without a byte of an answer.
    ProcessedThenDropped,
    /// `drop-hang`: processes the request, then never answers.
    ProcessedThenHung,
    /// `drop-fail=STATUS`: processes the request, then answers as a gateway would that lost the answer.
    ProcessedThenFailed(u16),
    /// `reset`: closes the connection without processing the request.
    Reset,
    /// `hang`: neither processes nor answers.
    Hang,
    /// `fail=STATUS`: answers with this status, unprocessed.
    Fail(u16),
    /// `delay=DURATION`: answers as usual, but later.
    Delay(Duration),
    /// `not-json`: processes the request and answers with the usual status, but a body that is no JSON.
    NotJson,
}

/// A fault and what meets it.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule<V> {
    /// What goes wrong.
    pub fault: Fault<V>,
    /// How often.
    pub times: Times,
    /// Where; all must agree, none is everywhere.
    pub triggers: Vec<Trigger>,
}

/// What a request or record must be for a rule to see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trigger {
    /// The path begins so.
    Path(String),
    /// The method.
    Method(String),
    /// A record has this value in this field.
    Field {
        /// The field's name.
        field: String,
        /// The value, as text.
        value: String,
    },
}

/// Why a text is not a list of rules. Each names the rule or the word that is wrong.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FaultError {
    /// No such fault.
    #[error("there is no fault `{name}`; there are {known}")]
    Unknown {
        /// What was written.
        name: String,
        /// All names, separated by commas.
        known: String,
    },
    /// Its argument is missing, or does not fit.
    #[error("`{rule}` needs {needs}")]
    Argument {
        /// The rule as it was written.
        rule: String,
        /// The argument that the fault takes.
        needs: &'static str,
    },
    /// A condition that is none.
    #[error("`@{condition}` is no condition; write @path=, @method= or the name of a field, with a value")]
    Condition {
        /// What was written after the `@`.
        condition: String,
    },
    /// It says not how often.
    #[error(transparent)]
    Times(#[from] NoTimes),
    /// It can never fire.
    #[error("`{rule}`: {source}")]
    Never {
        /// The rule as it was written.
        rule: String,
        /// Why.
        source: TimesError,
    },
}

/// Parses a comma-separated list of rules; the module's page has the grammar.
pub fn parse_rules<V: VendorFault>(text: &str) -> Result<Vec<Rule<V>>, FaultError> {
    text.split(',')
        .map(str::trim)
        .filter(|rule| !rule.is_empty())
        .map(Rule::from_str)
        .collect()
}

/// The names of all faults of a CRM, as rules name them, those of the wire first.
pub fn fault_names<V: VendorFault>() -> impl Iterator<Item = &'static str> {
    let vendor = V::ALL.iter().map(|(name, _)| *name);
    WIRE.iter().map(|(name, _)| *name).chain(vendor)
}

impl<V: VendorFault> Rule<V> {
    /// A rule that fires so often, at anything.
    pub fn new(times: Times, fault: Fault<V>) -> Self {
        Self {
            fault,
            times,
            triggers: Vec::new(),
        }
    }

    /// Only where this holds too.
    #[must_use]
    pub fn at(mut self, trigger: Trigger) -> Self {
        self.triggers.push(trigger);
        self
    }
}

impl<V: VendorFault> Fault<V> {
    /// What meets it.
    pub fn scope(self) -> Scope {
        match self {
            Self::Wire(_) => Scope::Request,
            Self::Vendor(fault) => fault.scope(),
        }
    }

    /// Whether it can happen to such a request at all.
    pub fn can_meet(self, request: &Request) -> bool {
        match self {
            Self::Wire(_) => true,
            Self::Vendor(fault) => fault.can_meet(request),
        }
    }

    fn read(rule: &str, name: &str, argument: Option<&str>) -> Result<Self, FaultError> {
        let needs = |needs| FaultError::Argument {
            rule: rule.to_owned(),
            needs,
        };
        if let Some((_, shape)) = WIRE.iter().find(|(known, _)| *known == name) {
            let fault = shape.read(argument).ok_or_else(|| needs(shape.needs()))?;
            return Ok(Self::Wire(fault));
        }
        match V::ALL.iter().find(|(known, _)| *known == name) {
            Some((_, fault)) if argument.is_none() => Ok(Self::Vendor(*fault)),
            Some(_) => Err(needs(Shape::Bare(WireFault::Reset).needs())),
            None => Err(FaultError::Unknown {
                name: name.to_owned(),
                known: fault_names::<V>().collect::<Vec<_>>().join(", "),
            }),
        }
    }
}

impl<V: VendorFault> FromStr for Rule<V> {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        let mut parts = text.split('@');
        let what = parts.next().unwrap_or_default();
        let triggers = conditions(parts);
        let triggers = triggers
            .iter()
            .map(|text| Trigger::read(text))
            .collect::<Result<_, _>>()?;
        let (what, times) = match what.split_once(':') {
            Some((what, times)) => (what, Times::from_str(times)?),
            None => (what, Times::Always),
        };
        times.check().map_err(|source| FaultError::Never {
            rule: text.to_owned(),
            source,
        })?;
        let (name, argument) = match what.split_once('=') {
            Some((name, argument)) => (name, Some(argument)),
            None => (what, None),
        };
        Ok(Self {
            fault: Fault::read(text, name, argument)?,
            times,
            triggers,
        })
    }
}

/// The conditions of a rule. A value may hold an `@`, as addresses do: what has no `=` belongs to the one before it.
fn conditions<'a>(parts: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut conditions: Vec<String> = Vec::new();
    for part in parts {
        match conditions.last_mut() {
            Some(before) if !part.contains('=') => {
                before.push('@');
                before.push_str(part);
            }
            _ => conditions.push(part.to_owned()),
        }
    }
    conditions
}

impl Trigger {
    fn read(condition: &str) -> Result<Self, FaultError> {
        let (name, value) = condition
            .split_once('=')
            .filter(|(name, _)| !name.is_empty())
            .ok_or_else(|| FaultError::Condition {
                condition: condition.to_owned(),
            })?;
        let value = value.to_owned();
        Ok(match name {
            "path" => Self::Path(value),
            "method" => Self::Method(value),
            _ => Self::Field {
                field: name.to_owned(),
                value,
            },
        })
    }
}

/// Which argument a fault takes, and how to make it from that.
#[derive(Clone, Copy)]
enum Shape {
    Bare(WireFault),
    Status(fn(u16) -> WireFault),
    Time(fn(Duration) -> WireFault),
}

const WIRE: [(&str, Shape); 8] = [
    ("drop", Shape::Bare(WireFault::ProcessedThenDropped)),
    ("drop-hang", Shape::Bare(WireFault::ProcessedThenHung)),
    ("drop-fail", Shape::Status(WireFault::ProcessedThenFailed)),
    ("reset", Shape::Bare(WireFault::Reset)),
    ("hang", Shape::Bare(WireFault::Hang)),
    ("fail", Shape::Status(WireFault::Fail)),
    ("delay", Shape::Time(WireFault::Delay)),
    ("not-json", Shape::Bare(WireFault::NotJson)),
];

impl Shape {
    fn needs(self) -> &'static str {
        match self {
            Self::Bare(_) => "nothing but how often, after a `:`",
            Self::Status(_) => "a status from 300 to 599 after the `=`",
            Self::Time(_) => "a duration such as 250ms, 2s or 1m after the `=`",
        }
    }

    fn read(self, argument: Option<&str>) -> Option<WireFault> {
        match self {
            Self::Bare(fault) => argument.is_none().then_some(fault),
            Self::Status(make) => {
                let status = argument?.parse().ok()?;
                (300..=599).contains(&status).then(|| make(status))
            }
            Self::Time(make) => read_duration(argument?).map(make),
        }
    }
}

impl<V: VendorFault> fmt::Display for Fault<V> {
    /// The name, as rules have it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Wire(WireFault::ProcessedThenDropped) => "drop",
            Self::Wire(WireFault::ProcessedThenHung) => "drop-hang",
            Self::Wire(WireFault::ProcessedThenFailed(_)) => "drop-fail",
            Self::Wire(WireFault::Reset) => "reset",
            Self::Wire(WireFault::Hang) => "hang",
            Self::Wire(WireFault::Fail(_)) => "fail",
            Self::Wire(WireFault::Delay(_)) => "delay",
            Self::Wire(WireFault::NotJson) => "not-json",
            Self::Vendor(fault) => name_of(*fault),
        })
    }
}

impl<V: VendorFault> fmt::Display for Rule<V> {
    /// As the grammar has it; it reads back as the same.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.fault)?;
        match self.fault {
            Fault::Wire(WireFault::ProcessedThenFailed(status) | WireFault::Fail(status)) => {
                write!(f, "={status}")?;
            }
            Fault::Wire(WireFault::Delay(time)) => write!(f, "={}ms", time.as_millis())?,
            Fault::Wire(_) | Fault::Vendor(_) => {}
        }
        write!(f, ":{}", self.times)?;
        self.triggers
            .iter()
            .try_for_each(|trigger| write!(f, "@{trigger}"))
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => write!(f, "path={path}"),
            Self::Method(method) => write!(f, "method={method}"),
            Self::Field { field, value } => write!(f, "{field}={value}"),
        }
    }
}

fn name_of<V: VendorFault>(fault: V) -> &'static str {
    V::ALL
        .iter()
        .find(|(_, known)| *known == fault)
        .map_or("unnamed", |(name, _)| name)
}
