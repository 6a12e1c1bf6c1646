//! Which shards a relay should take and give back, so that all relays share evenly. Pure.
//!
//! Every relay works out the same shares from the same rows, by its rank among those that live; nobody talks to anybody.

use std::collections::{BTreeSet, HashMap};

use crate::store::{LeaseRow, RelayId, Shard};

/// What a relay should do about its leases.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// How many further shards are this relay's to take.
    pub room: usize,
    /// Shards that nobody holds, in the order in which this relay should try them; another may be quicker.
    pub acquire: Vec<Shard>,
    /// Shards that this relay holds beyond its share; drained first.
    pub release: Vec<Shard>,
}

/// Plans for relay `me`, given which relays live (ascending, `me` among them), the lease rows, and the shards that
/// the configuration asks for.
pub fn plan(me: RelayId, live: &[RelayId], leases: &[LeaseRow], wanted: &BTreeSet<Shard>) -> Plan {
    let owners: HashMap<&Shard, Option<RelayId>> =
        leases.iter().map(|row| (&row.shard, row.live_owner)).collect();
    let (mut mine, mut free) = (Vec::new(), Vec::new());
    for shard in wanted {
        match owners.get(shard).copied().flatten() {
            Some(relay) if relay == me => mine.push(shard.clone()),
            Some(_) => {}
            None => free.push(shard.clone()),
        }
    }
    let rank = live.iter().position(|relay| *relay == me);
    let share = rank.map_or(0, |rank| share_of(rank, live.len(), wanted.len()));
    let surplus = mine.len().saturating_sub(share);
    let gone = leases
        .iter()
        .filter(|row| row.live_owner == Some(me) && !wanted.contains(&row.shard));
    let release = gone
        .map(|row| row.shard.clone())
        .chain(mine.iter().rev().take(surplus).cloned())
        .collect();
    // Those that look at the same time try different ones first.
    let first = rank.unwrap_or(0) % free.len().max(1);
    free.rotate_left(first);
    Plan {
        room: share.saturating_sub(mine.len()),
        acquire: free,
        release,
    }
}

/// How many of `total` shards are those of the relay with this rank: an equal part, the remainder to the lowest ranks.
fn share_of(rank: usize, relays: usize, total: usize) -> usize {
    total / relays + usize::from(rank < total % relays)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    fn relay(number: u128) -> RelayId {
        RelayId(Uuid::from_u128(number))
    }

    fn shards(count: u32) -> BTreeSet<Shard> {
        (0..count)
            .map(|number| Shard {
                destination: "crm".into(),
                number,
                of: count,
            })
            .collect()
    }

    #[test]
    fn a_single_relay_takes_everything() {
        let wanted = shards(5);
        let plan = plan(relay(1), &[relay(1)], &[], &wanted);
        assert_eq!((plan.room, plan.acquire.len()), (5, 5));
    }

    #[test]
    fn a_shard_that_the_configuration_no_longer_asks_for_is_given_back() {
        let gone = Shard {
            destination: "old".into(),
            number: 0,
            of: 1,
        };
        let row = LeaseRow {
            shard: gone.clone(),
            live_owner: Some(relay(1)),
            epoch: 3,
        };
        assert_eq!(plan(relay(1), &[relay(1)], &[row], &shards(1)).release, [gone]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn relays_share_evenly_whatever_stood_before(
            total in 0..40_u32, relays in 1..8_u128, before in prop::collection::vec(0..10_u128, 40),
        ) {
            let wanted = shards(total);
            let live: Vec<RelayId> = (0..relays).map(relay).collect();
            let mut owners: BTreeMap<Shard, Option<RelayId>> = (wanted.iter().cloned())
                .zip(before.into_iter().map(|number| (number < relays).then(|| relay(number))))
                .collect();
            for _ in 0..2 {
                for me in &live {
                    let rows: Vec<LeaseRow> = owners.iter()
                        .map(|(shard, owner)| LeaseRow { shard: shard.clone(), live_owner: *owner, epoch: 1 })
                        .collect();
                    let plan = plan(*me, &live, &rows, &wanted);
                    for shard in plan.acquire.into_iter().take(plan.room) {
                        prop_assert_eq!(owners.insert(shard, Some(*me)), Some(None), "only free shards are taken");
                    }
                    for shard in plan.release {
                        prop_assert_eq!(owners.insert(shard, None), Some(Some(*me)), "only own shards are given back");
                    }
                }
            }
            let counts: Vec<usize> = live.iter()
                .map(|me| owners.values().filter(|owner| **owner == Some(*me)).count())
                .collect();
            prop_assert_eq!(counts.iter().sum::<usize>(), wanted.len(), "every shard has an owner");
            prop_assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1);
        }
    }
}
