//! The rules that are armed at a mock: which request or record meets which fault. The first rule that fires wins.

use super::fault::{Fault, Rule, Scope, Trigger, VendorFault};
use super::request::Request;
use super::value::{Fields, Value};
use crate::mock::times::Firing;

/// The armed rules of one CRM, with what they have seen.
#[derive(Debug)]
pub struct Faults<V> {
    active: Vec<Active<V>>,
    chance: fastrand::Rng,
    /// The name of the fault that the request at hand has met.
    met: Option<String>,
}

#[derive(Debug)]
struct Active<V> {
    rule: Rule<V>,
    firing: Firing,
}

impl<V: VendorFault> Faults<V> {
    /// These rules; the seed is for those that fire by chance.
    pub fn new(rules: impl IntoIterator<Item = Rule<V>>, seed: u64) -> Self {
        let mut faults = Self {
            active: Vec::new(),
            chance: fastrand::Rng::with_seed(seed),
            met: None,
        };
        faults.arm(rules);
        faults
    }

    /// Adds rules behind those that are there.
    pub fn arm(&mut self, rules: impl IntoIterator<Item = Rule<V>>) {
        self.active.extend(rules.into_iter().map(|rule| Active {
            firing: Firing::new(rule.times),
            rule,
        }));
    }

    /// Takes all rules back.
    pub fn clear(&mut self) {
        self.active.clear();
    }

    /// The rules that can still fire.
    pub fn rules(&self) -> impl Iterator<Item = &Rule<V>> {
        self.active.iter().map(|active| &active.rule)
    }

    /// The fault that the request as a whole meets. Asking counts: each request asks once, before anything else.
    pub fn at_request(&mut self, request: &Request) -> Option<Fault<V>> {
        self.met = None;
        self.pick(Scope::Request, request, None, |trigger| match trigger {
            Trigger::Path(start) => request.path.starts_with(start.as_str()),
            Trigger::Method(method) => request.method.as_str().eq_ignore_ascii_case(method),
            Trigger::Field { field, value } => request.mentions(field, value),
        })
    }

    /// The fault that one record of the request meets. `key` is the record's own, for rules that fire once per key.
    /// Asking counts: each record asks once per request.
    pub fn at_record(&mut self, request: &Request, key: Option<&str>, fields: &Fields) -> Option<V> {
        let fault = self.pick(Scope::Record, request, key, |trigger| match trigger {
            Trigger::Path(start) => request.path.starts_with(start.as_str()),
            Trigger::Method(method) => request.method.as_str().eq_ignore_ascii_case(method),
            Trigger::Field { field, value } => {
                fields.get(field).and_then(Value::as_text) == Some(value.as_str())
            }
        });
        match fault {
            Some(Fault::Vendor(fault)) => Some(fault),
            Some(Fault::Wire(_)) | None => None,
        }
    }

    /// The name of the last fault that was met since the request began, for the journal.
    pub(super) fn take_met(&mut self) -> Option<String> {
        self.met.take()
    }

    fn pick(
        &mut self,
        scope: Scope,
        request: &Request,
        key: Option<&str>,
        agrees: impl Fn(&Trigger) -> bool,
    ) -> Option<Fault<V>> {
        let chance = &mut self.chance;
        let position = self.active.iter_mut().position(|active| {
            active.rule.fault.scope() == scope
                && active.rule.fault.can_meet(request)
                && active.rule.triggers.iter().all(&agrees)
                && active.firing.fires(key, chance)
        })?;
        let active = &self.active[position];
        let fault = active.rule.fault;
        if active.firing.is_used_up() {
            self.active.remove(position);
        }
        self.met = Some(fault.to_string());
        Some(fault)
    }
}
