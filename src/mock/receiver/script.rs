//! Which request meets which fault: rules, tried in order, the first that fires wins.
//!
//! Pure: no clock and no socket; chance comes from the seed, so that a seed and an order of arrival repeat a run.

use serde::{Deserialize, Serialize};

use super::fault::{Fault, FaultError};
use crate::mock::times::{Firing, Times, TimesError};

/// A fault and the requests that meet it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// What goes wrong.
    pub fault: Fault,
    /// How often, among the requests that `only` lets through.
    #[serde(default)]
    pub times: Times,
    /// Which requests; by default all.
    #[serde(default)]
    pub only: Only,
}

/// What a request must carry; what is not given does not matter, what is given must be equal.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Only {
    /// The idempotency key, without quotes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The `Aftercommit-Topic` header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    /// The `Aftercommit-Row-Key` header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row_key: Option<String>,
    /// The path, without the query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

impl Rule {
    /// A rule that fires `times`, at any request.
    pub fn new(times: Times, fault: Fault) -> Self {
        Self {
            fault,
            times,
            only: Only::default(),
        }
    }

    /// Fires at the next request.
    pub fn once(fault: Fault) -> Self {
        Self::new(Times::Next(1), fault)
    }

    /// Fires at the next `count` requests.
    pub fn next(count: u64, fault: Fault) -> Self {
        Self::new(Times::Next(count), fault)
    }

    /// Fires at each request.
    pub fn always(fault: Fault) -> Self {
        Self::new(Times::Always, fault)
    }

    /// Only at requests with this key.
    #[must_use]
    pub fn for_key(mut self, key: impl Into<String>) -> Self {
        self.only.key = Some(key.into());
        self
    }

    /// Only at requests of this topic.
    #[must_use]
    pub fn for_topic(mut self, topic: impl Into<String>) -> Self {
        self.only.topic = Some(topic.into());
        self
    }

    /// Only at requests of this row key.
    #[must_use]
    pub fn for_row_key(mut self, row_key: impl Into<String>) -> Self {
        self.only.row_key = Some(row_key.into());
        self
    }

    /// Only at requests to this path.
    #[must_use]
    pub fn for_path(mut self, path: impl Into<String>) -> Self {
        self.only.path = Some(path.into());
        self
    }

    /// Says whether the rule can fire and its fault be acted out.
    pub fn check(&self) -> Result<(), RuleError> {
        self.times.check()?;
        Ok(self.fault.check()?)
    }
}

/// Why a rule makes no sense.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RuleError {
    /// It could never fire, or says no probability.
    #[error(transparent)]
    Times(#[from] TimesError),
    /// The fault itself cannot be acted out.
    #[error(transparent)]
    Fault(#[from] FaultError),
}

/// What a rule looks at in a request.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Subject<'a> {
    pub(super) path: &'a str,
    pub(super) key: Option<&'a str>,
    pub(super) topic: Option<&'a str>,
    pub(super) row_key: Option<&'a str>,
}

/// The rules that are still to fire, with what they have seen.
#[derive(Debug)]
pub(super) struct Script {
    rules: Vec<ActiveRule>,
    chance: fastrand::Rng,
}

#[derive(Debug)]
struct ActiveRule {
    rule: Rule,
    firing: Firing,
}

impl Script {
    pub(super) fn new(rules: impl IntoIterator<Item = Rule>, seed: u64) -> Self {
        let mut script = Self {
            rules: Vec::new(),
            chance: fastrand::Rng::with_seed(seed),
        };
        script.extend(rules);
        script
    }

    pub(super) fn extend(&mut self, rules: impl IntoIterator<Item = Rule>) {
        self.rules.extend(rules.into_iter().map(|rule| ActiveRule {
            firing: Firing::new(rule.times),
            rule,
        }));
    }

    pub(super) fn clear(&mut self) {
        self.rules.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    pub(super) fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter().map(|active| &active.rule)
    }

    /// The fault that this request meets. Asking counts: each request asks once.
    pub(super) fn pick(&mut self, subject: Subject<'_>) -> Option<Fault> {
        let chance = &mut self.chance;
        let position = self
            .rules
            .iter_mut()
            .position(|active| active.fires(subject, chance))?;
        let active = &self.rules[position];
        let fault = active.rule.fault.clone();
        if active.firing.is_used_up() {
            self.rules.remove(position);
        }
        Some(fault)
    }
}

impl ActiveRule {
    fn fires(&mut self, subject: Subject<'_>, chance: &mut fastrand::Rng) -> bool {
        if !self.rule.only.lets_through(subject) {
            return false;
        }
        self.firing.fires(subject.key, chance)
    }
}

impl Only {
    fn lets_through(&self, subject: Subject<'_>) -> bool {
        let agrees = |wanted: &Option<String>, found: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| found == Some(wanted))
        };
        agrees(&self.key, subject.key)
            && agrees(&self.topic, subject.topic)
            && agrees(&self.row_key, subject.row_key)
            && agrees(&self.path, Some(subject.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picks(script: &mut Script, keys: &[&str]) -> Vec<Option<&'static str>> {
        keys.iter()
            .map(|key| {
                script
                    .pick(Subject {
                        key: Some(key),
                        ..Subject::default()
                    })
                    .map(|fault| fault.name())
            })
            .collect()
    }

    #[test]
    fn rules_for_the_next_requests_are_a_sequence() {
        let mut script = Script::new([Rule::once(Fault::Hang), Rule::next(2, Fault::Reset)], 1);
        let picked = picks(&mut script, &["a", "a", "a", "a"]);
        assert_eq!(picked, [Some("hang"), Some("reset"), Some("reset"), None]);
        assert!(script.is_empty(), "rules that are used up are gone");
    }

    #[test]
    fn every_third_request_meets_the_fault() {
        let mut script = Script::new([Rule::new(Times::Every(3), Fault::Hang)], 1);
        let picked = picks(&mut script, &["a"; 6]);
        assert_eq!(picked, [None, None, Some("hang"), None, None, Some("hang")]);
    }

    #[test]
    fn a_fault_once_per_key_spares_the_second_attempt_and_requests_without_a_key() {
        let mut script = Script::new([Rule::new(Times::OncePerKey, Fault::Hang)], 1);
        assert_eq!(
            picks(&mut script, &["a", "a", "b", "b"]),
            [Some("hang"), None, Some("hang"), None]
        );
        assert_eq!(script.pick(Subject::default()), None);
    }

    #[test]
    fn a_rule_for_one_row_leaves_the_others_alone() {
        let rule = Rule::always(Fault::Hang)
            .for_topic("orders")
            .for_row_key("7")
            .for_path("/in")
            .for_key("k");
        let mut script = Script::new([rule], 1);
        let subject = Subject {
            path: "/in",
            key: Some("k"),
            topic: Some("orders"),
            row_key: Some("7"),
        };
        assert!(script.pick(subject).is_some());
        assert!(
            script
                .pick(Subject {
                    path: "/out",
                    ..subject
                })
                .is_none()
        );
        assert!(script.pick(Subject { key: None, ..subject }).is_none());
        assert!(
            script
                .pick(Subject {
                    topic: Some("order"),
                    ..subject
                })
                .is_none()
        );
        assert!(
            script
                .pick(Subject {
                    row_key: Some("8"),
                    ..subject
                })
                .is_none()
        );
    }

    #[test]
    fn a_seed_repeats_the_chances() {
        let run = |seed| {
            let mut script = Script::new([Rule::new(Times::Chance(0.25), Fault::Hang)], seed);
            picks(&mut script, &["a"; 1000])
        };
        assert_eq!(run(7), run(7));
        assert_ne!(run(7), run(8));
        let fired = run(7).iter().flatten().count();
        assert!((180..320).contains(&fired), "{fired} of 1000 at a chance of 0.25");
    }

    #[test]
    fn rules_survive_json_and_unknown_fields_are_refused() {
        let rule = Rule::new(
            Times::Chance(0.5),
            Fault::Throttle {
                status: 429,
                retry_after: "2".into(),
            },
        );
        let text = serde_json::to_string(&rule.clone().for_topic("orders")).unwrap();
        assert_eq!(
            serde_json::from_str::<Rule>(&text).unwrap(),
            rule.for_topic("orders")
        );
        assert!(serde_json::from_str::<Rule>(r#"{"fault":"hang"}"#).is_ok());
        assert!(serde_json::from_str::<Rule>(r#"{"fault":"hang","tims":"always"}"#).is_err());
    }
}
