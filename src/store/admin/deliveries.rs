//! Lists of deliveries, page by page.
//!
//! A page is bounded by what it may look at, too: under a filter that matches seldom it can be short, or empty, though
//! there is more. `next` says so, and going on from there misses nothing.

use super::filter::{Cursor, DeliveryFilter, DeliveryId, Selection};
use super::walk::{Direction, Walk};
use super::{AdminError, AdminStore};
use crate::core::delivery::{Reason, State};
use crate::core::row::Op;
use crate::core::time::Timestamp;
use crate::store::StoreError;
use crate::store::database::Row;

/// Deliveries that one step looks at.
const STEP: u32 = 2_000;
/// Steps of one page at most.
const STEPS: u32 = 10;

/// A delivery as lists show it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct Delivery {
    /// Which one.
    #[serde(flatten)]
    #[schema(value_type = Named)]
    pub id: DeliveryId,
    /// Where it stands.
    pub state: State,
    /// Why it ended; none while it is pending.
    pub reason: Option<Reason>,
    /// The row's topic.
    pub topic: String,
    /// The row's key.
    pub row_key: String,
    /// The version that the pipeline gave.
    pub row_version: Option<i64>,
    /// What happened to the row.
    pub op: Op,
    /// When the row was written.
    pub created_at: Timestamp,
    /// Attempts on record.
    pub attempts: u32,
    /// How often a replay asked for a new key.
    pub key_epoch: u32,
    /// When it may be sent, while it is pending.
    pub due_at: Option<Timestamp>,
    /// Since when it has been owed, while it is pending.
    pub owed_at: Option<Timestamp>,
    /// The start of the first attempt that may have arrived without an answer, while it is pending.
    pub unknown_since: Option<Timestamp>,
    /// When an operator asked to cancel it, while it is pending.
    pub cancel_at: Option<Timestamp>,
    /// When it ended.
    pub settled_at: Option<Timestamp>,
}

/// [`DeliveryId`] as it looks among other fields: by itself it takes no others.
#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "only described, never made")]
struct Named {
    /// The outbox row.
    #[schema(examples(4711))]
    outbox_id: i64,
    /// Where it goes.
    #[schema(examples("crm"))]
    destination: String,
}

/// How many entries a page holds at most: 1 to 1,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageSize(u32);

/// A part of a list.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct Page {
    /// The newest outbox id first; of one row, the destinations in ascending order.
    pub deliveries: Vec<Delivery>,
    /// Where the next page begins; none if this was the last.
    pub next: Option<Cursor>,
}

impl PageSize {
    /// A page of `size` deliveries at most.
    pub fn new(size: u32) -> Result<Self, AdminError> {
        if (1..=1_000).contains(&size) {
            Ok(Self(size))
        } else {
            Err(AdminError::PageSize(size))
        }
    }

    /// How many.
    pub fn get(self) -> u32 {
        self.0
    }
}

impl Default for PageSize {
    fn default() -> Self {
        Self(100)
    }
}

impl AdminStore {
    /// The deliveries that match, from `after` on.
    ///
    /// Rows that are written while one pages come on none of the later pages, and no other is missed or shown twice.
    /// A delivery that changes its state meanwhile is shown as it is when its page is read.
    pub async fn deliveries(
        &self,
        filter: &DeliveryFilter,
        after: Option<Cursor>,
        size: PageSize,
    ) -> Result<Page, AdminError> {
        let selection = Selection::Filter(filter.clone());
        let wanted = size.0 as usize;
        let mut walk = Walk::start(&self.database, &selection, Direction::Down, after).await?;
        let mut deliveries: Vec<Delivery> = vec![];
        // One more than is wanted says whether there is a next page. If that many do not match, larger steps pay.
        let mut step_size = size.0 + 1;
        for _ in 0..STEPS {
            let step = walk.step(step_size).await?;
            deliveries.extend(step.deliveries);
            if deliveries.len() > wanted {
                deliveries.truncate(wanted);
                let next = deliveries.last().map(|last| Cursor(last.id.clone()));
                return Ok(Page { deliveries, next });
            }
            if !step.more {
                return Ok(Page {
                    deliveries,
                    next: None,
                });
            }
            step_size = STEP;
        }
        let next = Some(walk.position());
        Ok(Page { deliveries, next })
    }
}

impl Delivery {
    /// A row of `deliveries_of`.
    pub(super) fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: DeliveryId {
                outbox_id: row.int("outbox_id")?,
                destination: row.text("destination")?.to_owned(),
            },
            state: row.word("state")?,
            reason: row.opt_word("reason")?,
            topic: row.text("topic")?.to_owned(),
            row_key: row.text("row_key")?.to_owned(),
            row_version: row.opt_int("row_version")?,
            op: row.word("op")?,
            created_at: row.time("created_at")?,
            attempts: row.int("attempts")?,
            key_epoch: row.int("key_epoch")?,
            due_at: row.opt_time("due_at")?,
            owed_at: row.opt_time("owed_at")?,
            unknown_since: row.opt_time("unknown_since")?,
            cancel_at: row.opt_time("cancel_at")?,
            settled_at: row.opt_time("settled_at")?,
        })
    }
}
