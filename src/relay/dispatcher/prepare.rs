//! From a delivery that is due to one that can be sent: its key, its rendering, and whether it may be sent at all.
//!
//! Pure but for the cache of renderings that it looks into.

use std::sync::Arc;
use std::time::Duration;

use super::intake::Content;
use super::outcomes::without_attempt;
use super::renderings::Renderings;
use crate::core::canonical::{NotCanonical, RowHash};
use crate::core::decide::{CancelRequest, may_send};
use crate::core::delivery::Reason;
use crate::core::key::{IdempotencyKey, KeyFacts, KeyVersion};
use crate::core::policy::Policy;
use crate::core::queue::{Mark, Trace};
use crate::core::time::Timestamp;
use crate::destination::Destination;
use crate::store::{Entry, Owed, Settlement, SettlementKind};

/// How long a delivery waits whose recorded rendering this version cannot read.
const UNREADABLE_WAIT: Duration = Duration::from_mins(1);

/// A delivery with everything that its request depends on.
pub(super) struct Prepared {
    pub(super) content: Content,
    pub(super) key: IdempotencyKey,
    /// What it is rendered under, by id and in person.
    pub(super) rendering: i64,
    pub(super) destination: Arc<dyn Destination>,
    /// The dispatch that names it; 0 until it is on record.
    pub(super) sequence: i64,
}

impl Prepared {
    pub(super) fn owed(&self) -> &Owed {
        &self.content.owed
    }

    pub(super) fn outbox_id(&self) -> i64 {
        self.owed().row.id
    }

    /// Bytes of its payload.
    pub(super) fn bytes(&self) -> usize {
        self.owed().row.payload.len()
    }

    /// Lets go of the payload: it was sent, and is not sent again by this attempt.
    pub(super) fn shed(&mut self) {
        self.content.owed.row.payload = Arc::from("");
        self.content.share = None;
    }

    /// What goes on record before it is sent.
    pub(super) fn entry(&self) -> Entry {
        let owed = self.owed();
        Entry {
            outbox_id: owed.row.id,
            attempt: owed.attempts + 1,
            key_epoch: owed.key_epoch,
        }
    }
}

/// What a key and a decision depend on beside the delivery itself.
pub(super) struct Circumstances<'a> {
    pub(super) namespace: &'a str,
    pub(super) destination: &'a str,
    pub(super) policy: &'a Policy,
}

/// Why a delivery that is due cannot be sent.
pub(super) enum Unsendable {
    /// It ends, without an attempt.
    End(Box<Settlement>),
    /// It waits in memory.
    Later {
        after: Duration,
        trace: Trace,
        mark: Mark,
        why: String,
    },
}

/// Makes `content` ready to be put on record.
pub(super) fn prepare(
    content: Content,
    now: Timestamp,
    circumstances: &Circumstances<'_>,
    renderings: &mut Renderings,
) -> Result<Prepared, Unsendable> {
    let owed = &content.owed;
    if owed.cancel == CancelRequest::Requested {
        return Err(end(owed, Reason::Operator));
    }
    may_send(owed.unknown_since, now, circumstances.policy).map_err(|reason| end(owed, reason))?;
    let key = key_of(owed, circumstances).map_err(|_| end(owed, Reason::NotCanonical))?;
    let (rendering, destination) = renderings.of(owed.rendering).map_err(|error| Unsendable::Later {
        after: UNREADABLE_WAIT,
        trace: owed.trace(),
        mark: owed.mark(),
        why: error.to_string(),
    })?;
    Ok(Prepared {
        content,
        key,
        rendering,
        destination,
        sequence: 0,
    })
}

fn key_of(owed: &Owed, circumstances: &Circumstances<'_>) -> Result<IdempotencyKey, NotCanonical> {
    let row = &owed.row;
    Ok(IdempotencyKey::derive(&KeyFacts {
        namespace: circumstances.namespace,
        destination: circumstances.destination,
        topic: &row.row.topic,
        row_key: &row.row.row_key,
        op: row.op,
        version: KeyVersion::of(row),
        row_hash: RowHash::of(&row.payload)?,
        epoch: owed.key_epoch,
    }))
}

fn end(owed: &Owed, reason: Reason) -> Unsendable {
    let ended = without_attempt(owed.row.id, owed.mark(), SettlementKind::End(reason));
    Unsendable::End(Box::new(ended))
}
