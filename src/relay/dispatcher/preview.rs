//! What the next owed deliveries of a destination would send, for whoever looks: nothing is sent, and nothing is written.
//!
//! The same queue orders them, the same code makes them ready and puts them together as where they are sent. What only a
//! running relay knows is not in it: limits, what a refusal has divided, and what is in flight, which is shown once more.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use super::intake::Content;
use super::prepare::{Circumstances, Unsendable, prepare};
use super::reads::Outline;
use super::renderings::Renderings;
use super::sender::{Sender, outgoing};
use crate::core::key::IdempotencyKey;
use crate::core::outcome::{Outcome, Refusal, Report};
use crate::core::queue::{Bounds, Item, Queue};
use crate::core::row::{Op, OutboxRow};
use crate::core::time::Timestamp;
use crate::destination::preview::Sketch;
use crate::destination::{Destination, Outgoing};
use crate::relay::Active;
use crate::store::{FetchLimits, Owed, SettlementKind, Shard, Store, StoreError};

/// Owed deliveries that are looked at: the oldest ones.
const LOOKED_AT: FetchLimits = FetchLimits {
    rows: 1_000,
    bytes: 16 << 20,
};

/// What the next owed deliveries of a destination come to.
#[derive(Debug, Serialize, ToSchema)]
pub struct Outlook {
    /// The destination.
    pub destination: String,
    /// The database's clock.
    pub now: Timestamp,
    /// Whether it is paused: then nothing is sent until somebody resumes it.
    pub paused: bool,
    /// How many of the oldest owed deliveries were looked at.
    pub looked_at: usize,
    /// In the order in which they would be sent.
    pub requests: Vec<NextRequest>,
    /// Deliveries for which nothing would be sent.
    pub unsent: Vec<Unsent>,
    /// How many would end as superseded, since a newer version of the row is owed.
    pub superseded: usize,
}

/// A request that would be sent.
#[derive(Debug, Serialize, ToSchema)]
pub struct NextRequest {
    /// What it is.
    #[serde(flatten)]
    pub sketch: Sketch,
    /// Which deliveries it is about.
    pub deliveries: Vec<Which>,
}

/// A delivery for which nothing would be sent, and why.
#[derive(Debug, Serialize, ToSchema)]
pub struct Unsent {
    /// Which one.
    #[serde(flatten)]
    pub which: Which,
    /// A sentence.
    pub why: String,
}

/// Names a delivery, and the attempt that would be made.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Which {
    /// The outbox row.
    pub outbox_id: i64,
    /// The row's topic.
    pub topic: String,
    /// The row's key.
    pub row_key: String,
    /// The version that the pipeline gave.
    pub row_version: Option<i64>,
    /// What happened to the row.
    pub op: Op,
    /// From 1.
    pub attempt: u32,
    /// When it would be sent at the earliest.
    pub at: Timestamp,
    /// The key of every attempt, as a token; none where the delivery ends or waits without one.
    pub idempotency_key: Option<String>,
}

/// What the next `most` owed deliveries of `destination` would send, from what is stored now.
pub async fn outlook(
    store: &dyn Store,
    namespace: &str,
    destination: &str,
    active: &Active,
    most: usize,
) -> Result<Outlook, StoreError> {
    // A delivery of any slot is in it.
    let all = Shard {
        destination: destination.into(),
        number: 0,
        of: 1,
    };
    // Nothing has a higher id: this reads the clock, and whether it is paused.
    let fetched = store.fetch(&all, i64::MAX, LOOKED_AT).await?;
    let ids = store.owed_ids(&all, 0, i64::MAX, LOOKED_AT.rows).await?;
    let ids: Vec<i64> = ids.iter().map(|one| one.outbox_id).collect();
    let owed = store.load(&all, &ids, LOOKED_AT).await?;
    let uncertain = store.uncertain(&all).await?;
    let mut queue = Queue::new(Bounds::of(owed.len()), 0);
    queue.set_uncertain(uncertain.into_iter().map(|one| (one.outbox_id, one.row)));
    let mut look = Look {
        circumstances: Circumstances {
            namespace,
            destination,
            policy: &active.policy,
        },
        renderings: Renderings::look(store, active).await?,
        active,
        found: Outlook {
            destination: destination.to_owned(),
            now: fetched.now,
            paused: fetched.paused,
            looked_at: owed.len(),
            requests: vec![],
            unsent: vec![],
            superseded: 0,
        },
    };
    for owed in owed {
        queue.offer(item(owed, active));
    }
    look.through(&mut queue, most);
    Ok(look.found)
}

fn item(owed: Owed, active: &Active) -> Item<Content> {
    let outline = Outline::of(&owed);
    Item {
        outbox_id: outline.outbox_id,
        order: active.order_of(outline.op),
        row: outline.row,
        due: outline.due,
        trace: outline.trace,
        mark: outline.mark,
        // All of the row that is older was offered before.
        behind: None,
        content: Some(Content {
            owed: Box::new(owed),
            share: None,
        }),
    }
}

/// A look at what is next.
struct Look<'a> {
    circumstances: Circumstances<'a>,
    renderings: Renderings,
    active: &'a Active,
    found: Outlook,
}

impl Look<'_> {
    /// Goes from one moment at which something is due to the next, until so many deliveries were taken.
    fn through(&mut self, queue: &mut Queue<Content>, most: usize) {
        let (mut at, mut left) = (self.found.now, most);
        loop {
            let taken = queue.take(at, left);
            self.found.superseded += taken.superseded.len();
            left -= taken.send.len();
            let due: Vec<Content> = taken
                .send
                .into_iter()
                .filter_map(|(_, content)| content)
                .collect();
            self.at(due, at);
            match queue.next_due() {
                Some(next) if left > 0 => at = next.max(at),
                _ => return,
            }
        }
    }

    /// What is due at one moment goes together, as far as it may.
    fn at(&mut self, due: Vec<Content>, now: Timestamp) {
        let mut sender = Sender::new();
        for content in due {
            let owed = &content.owed;
            let which = Which::of(&owed.row, owed.attempts + 1, now, None);
            match prepare(content, now, &self.circumstances, &mut self.renderings) {
                Ok(prepared) => sender.push(prepared),
                Err(unsendable) => self.found.unsent.push(Unsent {
                    which,
                    why: why(unsendable),
                }),
            }
        }
        let most_bytes = usize::try_from(self.active.limits.max_in_flight_bytes).unwrap_or(usize::MAX);
        while let Some(upcoming) = sender.upcoming(self.active.batch.size, most_bytes) {
            let deliveries = sender.take(&upcoming);
            let Some(first) = deliveries.first() else {
                return;
            };
            let destination = Arc::clone(&first.destination);
            let batch = deliveries
                .iter()
                .map(|prepared| outgoing(prepared, now))
                .collect();
            self.render(&*destination, batch);
        }
    }

    /// What is left out of a request comes alone in a later one, or not at all.
    fn render(&mut self, destination: &dyn Destination, batch: Vec<Outgoing>) {
        let mut batches = VecDeque::from([batch]);
        while let Some(batch) = batches.pop_front() {
            let preview = destination.preview(&batch);
            for sketch in preview.requests {
                let deliveries = sketch.places.iter().map(|place| Which::sent(&batch[*place]));
                let deliveries = deliveries.collect();
                self.found.requests.push(NextRequest { sketch, deliveries });
            }
            for (place, report) in preview.left_out {
                if batch.len() > 1 && report.outcome == Outcome::Refused(Refusal::Alone) {
                    batches.push_back(vec![batch[place].clone()]);
                } else {
                    let which = Which::sent(&batch[place]);
                    let why = sentence(report);
                    self.found.unsent.push(Unsent { which, why });
                }
            }
        }
    }
}

impl Which {
    fn of(row: &OutboxRow, attempt: u32, at: Timestamp, key: Option<IdempotencyKey>) -> Self {
        Self {
            outbox_id: row.id,
            topic: row.row.topic.to_string(),
            row_key: row.row.row_key.to_string(),
            row_version: row.row_version,
            op: row.op,
            attempt,
            at,
            idempotency_key: key.map(|key| key.to_string()),
        }
    }

    fn sent(outgoing: &Outgoing) -> Self {
        Self::of(&outgoing.row, outgoing.attempt, outgoing.now, Some(outgoing.key))
    }
}

fn why(unsendable: Unsendable) -> String {
    match unsendable {
        Unsendable::Later { why, .. } => format!("it waits: {why}"),
        Unsendable::End(settlement) => match settlement.kind {
            SettlementKind::End(reason) => format!("it ends as {} ({reason})", reason.state()),
            // No delivery is prepared for these.
            SettlementKind::Retry { .. } | SettlementKind::SupersedeUncertain => "it waits".to_owned(),
        },
    }
}

fn sentence(report: Report) -> String {
    let outcome = report.outcome;
    report.detail.unwrap_or_else(|| outcome.as_str().to_owned())
}
