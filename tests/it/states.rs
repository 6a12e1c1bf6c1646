//! The states of a delivery stand three times: as types, as the `CHECK` constraint of `settled`, and as a table for
//! people in ARCHITECTURE.md. These stories hold that the three say the same.

use std::collections::BTreeSet;

use aftercommit::core::delivery::{REASONS, STATES, State};

use crate::store::world::{Backend, World, on_both};

/// Every pair of a state and a reason that explains it, as the types have it.
fn by_type() -> BTreeSet<(String, String)> {
    REASONS
        .iter()
        .map(|(reason, state)| (state.to_string(), reason.to_string()))
        .collect()
}

/// The same as the table of ARCHITECTURE.md has it, and the states that it lists.
fn by_document() -> (BTreeSet<(String, String)>, Vec<String>) {
    let text = include_str!("../../ARCHITECTURE.md");
    let (mut pairs, mut states) = (BTreeSet::new(), Vec::new());
    let table = text
        .split("| state | reasons | what it means |")
        .nth(1)
        .expect("the table of states is there");
    for row in table.lines().skip(2).take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let state = cells[1].trim_matches('`').to_owned();
        let reasons = cells[2]
            .split(',')
            .map(|reason| reason.trim().trim_matches('`'))
            .filter(|word| !word.is_empty());
        pairs.extend(reasons.map(|reason| (state.clone(), reason.to_owned())));
        states.push(state);
    }
    (pairs, states)
}

#[test]
fn the_document_tells_the_states_and_reasons_of_the_types() {
    let (pairs, states) = by_document();
    assert_eq!(pairs, by_type());
    assert_eq!(states, STATES.map(|state| state.to_string()));
}

on_both! {
    async fn the_database_takes_the_states_and_reasons_of_the_types_and_no_others(backend: Backend) {
        let world = World::migrated(backend).await;
        for state in STATES {
            for (reason, _) in REASONS {
                let insert = format!(
                    "insert into aftercommit.settled (outbox_id, destination, state, reason, attempts, key_epoch)
                     values (1, '{state}-{reason}', '{state}', '{reason}', 0, 0)"
                );
                let taken = world.try_execute(&insert).await.is_ok();
                assert_eq!(taken, reason.state() == state && state != State::Pending, "{state} ({reason})");
            }
        }
    }
}
