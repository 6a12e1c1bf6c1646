//! Whether the demo came out clean, judged from three sides that know nothing of one another: what the pipeline
//! committed, what the database says, and what the receiver saw.
//!
//! Pure.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use crate::core::delivery::State;

/// Which change of which row.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Id {
    pub(super) topic: String,
    pub(super) row_key: String,
    pub(super) row_version: Option<i64>,
}

/// A row that the pipeline committed, or the body of a request that took effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fact {
    pub(super) id: Id,
    pub(super) payload: String,
}

/// The three sides.
pub(super) struct Sides<'a> {
    /// What the pipeline committed, in its order.
    pub(super) committed: &'a [Fact],
    /// Where the database says that each delivery stands, and how many attempts it knows of.
    pub(super) recorded: &'a [(Id, State)],
    pub(super) attempts: u64,
    /// What took effect at the receiver, in its order, and how many requests it saw.
    pub(super) effects: &'a [Fact],
    pub(super) requests: u64,
}

/// What is wrong; all zero if nothing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub(super) struct Verdict {
    /// Committed rows without an effect, or without an end in the database.
    pub(super) lost: usize,
    /// Effects of what had taken effect already.
    pub(super) repeated: usize,
    /// Effects of what nobody committed.
    pub(super) invented: usize,
    /// Effects of an older version of a row after a newer one.
    pub(super) out_of_order: usize,
    /// Requests that the database knows nothing of.
    pub(super) unknown: u64,
}

impl Verdict {
    pub(super) fn is_clean(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn of(sides: &Sides<'_>) -> Self {
        let expected: HashMap<&Id, &str> = sides
            .committed
            .iter()
            .map(|fact| (&fact.id, fact.payload.as_str()))
            .collect();
        let (genuine, invented): (Vec<&Fact>, Vec<&Fact>) = sides
            .effects
            .iter()
            .partition(|effect| expected.get(&effect.id) == Some(&effect.payload.as_str()));
        let happened: HashSet<&Id> = genuine.iter().map(|effect| &effect.id).collect();
        Self {
            lost: lost(sides, &happened),
            repeated: genuine.len() - happened.len(),
            invented: invented.len(),
            out_of_order: out_of_order(sides.effects),
            unknown: sides.requests.saturating_sub(sides.attempts),
        }
    }
}

fn lost(sides: &Sides<'_>, happened: &HashSet<&Id>) -> usize {
    let recorded: HashMap<&Id, State> = sides.recorded.iter().map(|(id, state)| (id, *state)).collect();
    let mut newest: HashMap<(&str, &str), &Id> = HashMap::new();
    for fact in sides.committed {
        newest.insert((&fact.id.topic, &fact.id.row_key), &fact.id);
    }
    let is_lost = |id: &Id| match recorded.get(id) {
        Some(State::Delivered) => !happened.contains(id),
        // Only a newer version may take a row's place, and that one must have arrived.
        Some(State::Superseded) => newest
            .get(&(id.topic.as_str(), id.row_key.as_str()))
            .is_none_or(|newest| *newest == id),
        _ => true,
    };
    sides.committed.iter().filter(|fact| is_lost(&fact.id)).count()
}

fn out_of_order(effects: &[Fact]) -> usize {
    let mut last: HashMap<(&str, &str), Option<i64>> = HashMap::new();
    let mut count = 0;
    for Fact { id, .. } in effects {
        let last = last.entry((&id.topic, &id.row_key)).or_default();
        if id.row_version < *last {
            count += 1;
        }
        *last = id.row_version.max(*last);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(row_key: &str, row_version: Option<i64>) -> Id {
        Id {
            topic: "t".to_owned(),
            row_key: row_key.to_owned(),
            row_version,
        }
    }

    fn fact(row_key: &str, row_version: Option<i64>) -> Fact {
        let payload = format!("{row_key} {row_version:?}");
        Fact {
            id: id(row_key, row_version),
            payload,
        }
    }

    fn verdict(recorded: &[(Id, State)], effects: &[Fact]) -> Verdict {
        Verdict::of(&Sides {
            committed: &[fact("order", None), fact("ada", Some(1)), fact("ada", Some(2))],
            recorded,
            attempts: 3,
            effects,
            requests: 3,
        })
    }

    fn recorded(order: State, first: State, second: State) -> [(Id, State); 3] {
        [
            (id("order", None), order),
            (id("ada", Some(1)), first),
            (id("ada", Some(2)), second),
        ]
    }

    #[test]
    fn a_run_is_clean_if_each_row_arrived_once_or_gave_way_to_a_newer_version_that_did() {
        use State::{Delivered, Superseded};
        let all = [fact("order", None), fact("ada", Some(1)), fact("ada", Some(2))];
        assert!(verdict(&recorded(Delivered, Delivered, Delivered), &all).is_clean());
        let newest = [fact("ada", Some(2)), fact("order", None)];
        assert!(verdict(&recorded(Delivered, Superseded, Delivered), &newest).is_clean());
    }

    #[test]
    fn a_row_is_lost_if_any_side_misses_it() {
        use State::{Dead, Delivered, Pending, Superseded};
        let all = [fact("order", None), fact("ada", Some(1)), fact("ada", Some(2))];
        let lost = |recorded: &[(Id, State)], effects: &[Fact]| verdict(recorded, effects).lost;
        assert_eq!(lost(&recorded(Delivered, Delivered, Delivered), &all[1..]), 1);
        assert_eq!(lost(&recorded(Dead, Delivered, Delivered), &all), 1);
        assert_eq!(lost(&recorded(Pending, Delivered, Delivered), &all), 1);
        assert_eq!(lost(&recorded(Delivered, Delivered, Delivered)[..2], &all), 1);
        assert_eq!(
            lost(&recorded(Delivered, Superseded, Superseded), &all),
            1,
            "the newest gives way to none"
        );
        assert_eq!(
            lost(&recorded(Superseded, Delivered, Delivered), &all),
            1,
            "nothing is newer than an event"
        );
    }

    #[test]
    fn what_the_receiver_saw_too_much_of_is_told_apart() {
        let recorded = recorded(State::Delivered, State::Delivered, State::Delivered);
        let (order, old, new) = (fact("order", None), fact("ada", Some(1)), fact("ada", Some(2)));
        let all = [order.clone(), old.clone(), new.clone()];

        let repeated = verdict(&recorded, &[&all[..], std::slice::from_ref(&order)].concat());
        assert_eq!(
            repeated,
            Verdict {
                repeated: 1,
                ..Verdict::default()
            }
        );
        let invented = verdict(&recorded, &[&all[..], &[fact("ghost", None)][..]].concat());
        assert_eq!(
            invented,
            Verdict {
                invented: 1,
                ..Verdict::default()
            }
        );
        let disordered = verdict(&recorded, &[order, new, old]);
        assert_eq!(
            disordered,
            Verdict {
                out_of_order: 1,
                ..Verdict::default()
            }
        );
        let unknown = Verdict::of(&Sides {
            committed: &[],
            recorded: &[],
            attempts: 3,
            effects: &[],
            requests: 5,
        });
        assert_eq!(
            unknown,
            Verdict {
                unknown: 2,
                ..Verdict::default()
            }
        );
    }
}
