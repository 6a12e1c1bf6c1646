//! What a person asked for that cannot be done, each with the way out.

use crate::store::StoreError;

use super::act::MAX_REASON_CHARS;
use super::filter::{DeliveryId, MAX_IDS};
use super::mark_delivered::MAX_EVIDENCE_CHARS;

/// Why a request of a person was not carried out. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// Neither the configuration nor the database knows the destination.
    #[error("there is no destination `{name}`; known are: {}", list(known))]
    UnknownDestination {
        /// The name that was given.
        name: String,
        /// The names that would have done.
        known: Vec<String>,
    },
    /// There is no such delivery.
    #[error("there is no delivery of outbox row {} to `{}`", .0.outbox_id, .0.destination)]
    UnknownDelivery(DeliveryId),
    /// There is no such outbox row.
    #[error(
        "there is no outbox row {0}; a row is there once its transaction has committed, and one that is equal to the last of its \
         row key, or older, is not admitted"
    )]
    UnknownRow(i64),
    /// The configuration does not have the destination, so nothing can be made for it or sent to it.
    #[error(
        "there is no destination `{name}` in the configuration; there are: {}",
        list(known)
    )]
    NotConfigured {
        /// The name that was given.
        name: String,
        /// The names that would have done.
        known: Vec<String>,
    },
    /// The request of a delivery cannot be made, so it cannot be shown.
    #[error("the request of delivery {}:{} cannot be shown: {why}", id.outbox_id, id.destination)]
    NoRequest {
        /// Which delivery.
        id: DeliveryId,
        /// What is in the way.
        why: String,
    },
    /// There is no such replay.
    #[error("there is no replay {0}")]
    UnknownReplay(i64),
    /// A row is never missing at a destination that its topic is not routed to.
    #[error("{} to `{destination}`, so nothing can be missing there; configure the route and run `aftercommit apply`", no_route(topic.as_deref()))]
    NoRoute {
        /// The topic that was asked for; none if any would have done.
        topic: Option<String>,
        /// The destination.
        destination: String,
    },
    /// There is no such token.
    #[error("there is no token `{0}`; `aftercommit token list` shows which there are")]
    UnknownToken(String),
    /// A name is given once, since the audit knows people by it.
    #[error("there is, or was, a token `{0}`; choose another name")]
    TokenExists(String),
    /// The text cannot be the name of a token.
    #[error(
        "`{0}` cannot name a token; use 1 to 64 letters, digits and `. _ @ -`, and none of config, relay and cli"
    )]
    TokenName(String),
    /// What changes something must say why.
    #[error("the reason is missing; say in a few words why, for the audit")]
    NoReason,
    /// What changes something says in few words why.
    #[error(
        "the reason has {0} characters, and may have {MAX_REASON_CHARS}; shorten it, and name where more can be read"
    )]
    LongReason(usize),
    /// A request that narrows nothing down would touch every delivery.
    #[error(
        "nothing narrows the selection down; give ids or a filter, or say `all` if every delivery is meant"
    )]
    SelectsAll,
    /// Nothing stands before the delivery.
    #[error(
        "nothing of its row key stands before the delivery of outbox row {} to `{}` and keeps it from being sent; to end that one \
         itself, cancel it",
        .0.outbox_id, .0.destination
    )]
    NotBlocked(DeliveryId),
    /// Deliveries of this destination follow no other.
    #[error(
        "no delivery to `{}` waits for another, since its order is independent; to end that of outbox row {} itself, cancel it",
        .0.destination, .0.outbox_id
    )]
    NoOrder(DeliveryId),
    /// Another delivery than the one that was named stands first.
    #[error(
        "the delivery of outbox row {first} stands first of the row key of {} to `{}` now, and not that of {named}; look at it, \
         and name it as the head if it is to be ended",
        blocked.outbox_id, blocked.destination
    )]
    OtherHead {
        /// The delivery that does not move.
        blocked: DeliveryId,
        /// The outbox row that was named.
        named: i64,
        /// The outbox row whose delivery stands first.
        first: i64,
    },
    /// Who says that a receiver took something must say how that is known.
    #[error("the evidence is missing; say how it is known that the receiver took it, for the audit")]
    NoEvidence,
    /// Evidence names what it goes by, it does not hold it.
    #[error(
        "the evidence has {0} characters, and may have {MAX_EVIDENCE_CHARS}; shorten it, and name where more can be read"
    )]
    LongEvidence(usize),
    /// Only what has ended can be replayed.
    #[error(
        "the filter selects pending deliveries only, which are owed already; name states that have ended"
    )]
    OnlyPending,
    /// The list of ids is longer than a request may be.
    #[error("{0} ids are more than {MAX_IDS}; use a filter, or several requests")]
    TooManyIds(usize),
    /// The page is to be longer or shorter than pages are.
    #[error("a page holds 1 to 1000 entries, not {0}")]
    PageSize(u32),
    /// The text is not what an earlier page gave as `next`.
    #[error("`{0}` is no cursor; pass on what an earlier page gave as `next`, unchanged")]
    NoCursor(String),
    /// The Idempotency-Key is empty, or longer than a key may be.
    #[error("an Idempotency-Key has 1 to 255 characters")]
    NoRequestKey,
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn no_route(topic: Option<&str>) -> String {
    match topic {
        Some(topic) => format!("topic `{topic}` is not routed"),
        None => "no topic is routed".to_owned(),
    }
}

fn list(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    names.join(", ")
}
