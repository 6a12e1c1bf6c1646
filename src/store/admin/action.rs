//! What a person can do with one delivery as it stands. Pure; the one place that says which state allows what.

use super::Delivery;
use crate::core::delivery::State;
use crate::core::time::Timestamp;

/// What a person does with deliveries: the word of the verb, of the path, and of the audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, utoipa::ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Makes it due again, once it has ended.
    Replay,
    /// Has it sent at once that waits for a later time.
    RetryNow,
    /// Ends what stands first of its row key and keeps it from being sent.
    SkipHead,
    /// Ends it unsent.
    Cancel,
    /// Says that the receiver took it.
    MarkDelivered,
}

/// Every action, in the order in which people are offered them.
const ACTIONS: [Action; 5] = [
    Action::Replay,
    Action::RetryNow,
    Action::SkipHead,
    Action::MarkDelivered,
    Action::Cancel,
];

impl Action {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Replay => "replay",
            Self::RetryNow => "retry-now",
            Self::SkipHead => "skip-head",
            Self::Cancel => "cancel",
            Self::MarkDelivered => "mark-delivered",
        }
    }

    /// Whether it would change anything about the delivery at the time `now`. `head` is what keeps it from being sent.
    pub(super) fn applies(self, delivery: &Delivery, head: Option<&Delivery>, now: Timestamp) -> bool {
        match self {
            Self::Replay => delivery.state != State::Pending,
            Self::RetryNow => delivery.due_at.is_some_and(|due| due > now),
            Self::SkipHead => head.is_some(),
            Self::Cancel => matches!(delivery.state, State::Pending | State::Uncertain),
            Self::MarkDelivered => matches!(delivery.state, State::Dead | State::Uncertain),
        }
    }
}

/// All that apply.
pub(super) fn actions(delivery: &Delivery, head: Option<&Delivery>, now: Timestamp) -> Vec<Action> {
    let applies = |action: &Action| action.applies(delivery, head, now);
    ACTIONS.into_iter().filter(applies).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::delivery::STATES;
    use crate::core::row::Op;
    use crate::store::admin::DeliveryId;

    const NOW: Timestamp = Timestamp::from_micros(1_000_000);

    fn delivery(state: State, due_at: Option<i64>) -> Delivery {
        Delivery {
            id: DeliveryId {
                outbox_id: 1,
                destination: "crm".to_owned(),
            },
            state,
            reason: None,
            topic: "orders".to_owned(),
            row_key: "order-1".to_owned(),
            row_version: None,
            op: Op::Event,
            created_at: NOW,
            attempts: 1,
            key_epoch: 0,
            due_at: due_at.map(Timestamp::from_micros),
            owed_at: None,
            unknown_since: None,
            cancel_at: None,
            settled_at: None,
        }
    }

    #[test]
    fn what_has_ended_can_be_replayed_and_nothing_else_unless_it_is_in_trouble() {
        use Action::{Cancel, MarkDelivered, Replay};
        for state in STATES.into_iter().filter(|state| *state != State::Pending) {
            let expected: &[Action] = match state {
                State::Dead => &[Replay, MarkDelivered],
                State::Uncertain => &[Replay, MarkDelivered, Cancel],
                _ => &[Replay],
            };
            assert_eq!(actions(&delivery(state, None), None, NOW), expected, "{state}");
        }
    }

    #[test]
    fn what_is_owed_can_be_cancelled_hurried_while_it_waits_and_freed_of_what_stands_before_it() {
        use Action::{Cancel, RetryNow, SkipHead};
        let due = delivery(State::Pending, Some(1_000_000));
        let waiting = delivery(State::Pending, Some(1_000_001));
        let head = delivery(State::Uncertain, None);
        assert_eq!(actions(&due, None, NOW), [Cancel]);
        assert_eq!(actions(&waiting, None, NOW), [RetryNow, Cancel]);
        assert_eq!(actions(&waiting, Some(&head), NOW), [RetryNow, SkipHead, Cancel]);
    }

    #[test]
    fn an_action_is_written_as_it_is_said() {
        for action in ACTIONS {
            assert_eq!(serde_json::to_value(action).unwrap(), action.as_str());
        }
    }
}
