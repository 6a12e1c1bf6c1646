//! What the audit says of deliveries that were settled by hand: what was done, to how many, and how they were selected.

use serde_json::{Map, Value, json};

use super::Act;
use super::action::Action;
use super::by_hand::Counts;
use super::filter::{DeliveryId, Selection};
use super::mark_delivered::Evidence;
use crate::store::database::{Row, Transaction};
use crate::store::{StoreError, pauses};

/// So many outbox ids are named one by one; of more, the first and the last.
const NAMED: usize = 20;

/// Outbox ids of deliveries to one destination that a transaction changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Changed {
    /// It was done.
    pub(super) done: Vec<i64>,
    /// A relay that holds them is asked to do it.
    pub(super) requested: Vec<i64>,
}

/// Why just these deliveries.
#[derive(Debug, Clone, Copy)]
pub(super) enum Chosen<'c> {
    /// They were selected.
    By(&'c Selection),
    /// This one waited for them.
    Before(&'c DeliveryId),
}

/// A line in the audit, but for who did what and why.
#[derive(Debug, PartialEq)]
pub(super) struct Entry {
    subject: String,
    detail: Map<String, Value>,
}

impl Changed {
    pub(super) fn counts(&self) -> Counts {
        Counts {
            done: self.done.len() as u64,
            requested: self.requested.len() as u64,
            left_alone: 0,
        }
    }

    /// In ascending order.
    fn all(&self) -> Vec<i64> {
        let mut all = [&self.done[..], &self.requested[..]].concat();
        all.sort_unstable();
        all
    }
}

/// The outbox ids that a statement returned.
pub(super) fn outbox_ids(rows: &[Row]) -> Result<Vec<i64>, StoreError> {
    rows.iter().map(|row| row.int("outbox_id")).collect()
}

/// What is to be said of what was changed; none if nothing was.
pub(super) fn entry(
    destination: &str,
    changed: &Changed,
    chosen: Chosen<'_>,
    evidence: Option<&Evidence>,
) -> Option<Entry> {
    let all = changed.all();
    let (first, last) = (all.first()?, all.last()?);
    let deliveries = match all.len() {
        1 => format!("delivery {first} to {destination}"),
        many => format!("{many} deliveries to {destination}"),
    };
    let subject = match (changed.done.len(), changed.requested.len()) {
        (_, 0) => deliveries,
        (0, _) => format!("{deliveries}, requested"),
        (_, requested) => format!("{deliveries}, {requested} of them requested"),
    };
    let mut detail = Map::new();
    let mut say = |name: &str, value: Value| detail.insert(name.to_owned(), value);
    match all.len() {
        1 => {}
        2..=NAMED => drop(say("outbox_ids", json!(all))),
        _ => {
            say("first_outbox_id", json!(first));
            say("last_outbox_id", json!(last));
        }
    }
    match chosen {
        Chosen::By(Selection::Filter(filter)) => drop(say("filter", json!(filter))),
        Chosen::By(Selection::All) => drop(say("all", json!(true))),
        Chosen::By(Selection::Ids(ids)) if ids.len() > 1 => drop(say("ids", json!(ids.len()))),
        Chosen::By(Selection::Ids(_)) => {}
        Chosen::Before(blocked) => drop(say("blocked", json!(blocked.outbox_id))),
    }
    if let Some(evidence) = evidence {
        say("evidence", json!(evidence.as_str()));
    }
    Some(Entry { subject, detail })
}

/// Puts it on record, in the transaction of the change.
pub(super) async fn write(
    transaction: &mut Transaction,
    action: Action,
    entry: Option<Entry>,
    act: &Act,
) -> Result<(), StoreError> {
    let Some(Entry { subject, detail }) = entry else {
        return Ok(());
    };
    let detail = (!detail.is_empty()).then(|| Value::Object(detail).to_string());
    pauses::audit_with(
        transaction,
        act.actor(),
        action.as_str(),
        &subject,
        Some(act.reason()),
        detail.as_deref(),
    )
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::delivery::State;
    use crate::store::admin::DeliveryFilter;

    fn dead() -> Selection {
        Selection::Filter(DeliveryFilter {
            states: vec![State::Dead],
            ..DeliveryFilter::default()
        })
    }

    fn ids(count: usize) -> Selection {
        let id = |outbox_id| DeliveryId {
            outbox_id,
            destination: "crm".to_owned(),
        };
        Selection::Ids((1..).take(count).map(id).collect())
    }

    fn said(done: &[i64], requested: &[i64], chosen: Chosen<'_>) -> (String, Value) {
        let changed = Changed {
            done: done.to_vec(),
            requested: requested.to_vec(),
        };
        let Entry { subject, detail } = entry("crm", &changed, chosen, None).unwrap();
        (subject, Value::Object(detail))
    }

    #[test]
    fn the_subject_counts_what_was_done_and_what_was_asked_for() {
        let (all, one) = (Selection::All, ids(1));
        for (done, requested, subject) in [
            (&[7][..], &[][..], "delivery 7 to crm"),
            (&[], &[7], "delivery 7 to crm, requested"),
            (&[7, 8], &[], "2 deliveries to crm"),
            (&[], &[7, 8], "2 deliveries to crm, requested"),
            (&[7, 9], &[8], "3 deliveries to crm, 1 of them requested"),
        ] {
            assert_eq!(said(done, requested, Chosen::By(&all)).0, subject);
        }
        assert_eq!(said(&[7], &[], Chosen::By(&one)).1, json!({}), "all is said");
        assert_eq!(entry("crm", &Changed::default(), Chosen::By(&all), None), None);
    }

    #[test]
    fn the_detail_has_the_selection_and_the_ids_where_they_are_few() {
        let filter = json!({"states": ["dead"]});
        assert_eq!(said(&[9], &[], Chosen::By(&dead())).1, json!({"filter": filter}));
        let few = said(&[9], &[7], Chosen::By(&dead())).1;
        assert_eq!(few, json!({"filter": filter, "outbox_ids": [7, 9]}));
        let many: Vec<i64> = (1..=21).collect();
        let of_many = said(&many, &[], Chosen::By(&ids(30))).1;
        assert_eq!(
            of_many,
            json!({"ids": 30, "first_outbox_id": 1, "last_outbox_id": 21})
        );
        assert_eq!(
            said(&[9], &[], Chosen::By(&Selection::All)).1,
            json!({"all": true})
        );
    }

    #[test]
    fn the_detail_has_what_was_blocked_and_what_was_known() {
        let Selection::Ids(blocked) = ids(1) else { panic!() };
        assert_eq!(
            said(&[9], &[], Chosen::Before(&blocked[0])).1,
            json!({"blocked": 1})
        );
        let (changed, evidence) = (
            Changed {
                done: vec![9],
                requested: vec![],
            },
            Evidence::new("their log").unwrap(),
        );
        let known = entry("crm", &changed, Chosen::By(&ids(1)), Some(&evidence)).unwrap();
        assert_eq!(Value::Object(known.detail), json!({"evidence": "their log"}));
    }
}
