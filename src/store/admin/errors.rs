//! What went wrong last at a destination: the last attempts of deliveries that are owed or in trouble.
//!
//! Attempts are kept by delivery, and an index by time would cost each of them. So this looks where failures stand: at the
//! front of what is owed, and at the newest of what is in trouble. What failed and was delivered later is not among them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use utoipa::ToSchema;

use super::delivery;
use super::filter::DeliveryId;
use super::trouble::possible_groups;
use super::{AdminStore, walk};
use crate::core::time::Timestamp;
use crate::store::StoreError;
use crate::store::database::{Args, Batch, sql};

/// Errors that are told of a destination at most.
const TOLD: usize = 10;
/// Deliveries of a destination that are looked at, of each reason for trouble.
const IN_TROUBLE: i64 = 10;
/// Owed deliveries of a destination that are looked at, the oldest ones.
const OWED: i64 = 100;

/// An attempt that was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct LastError {
    /// When its request began.
    pub at: Timestamp,
    /// The outbox row.
    pub outbox_id: i64,
    /// What it met: throttled, refused, unreachable, unknown.
    pub outcome: String,
    /// The HTTP status, if one arrived.
    pub http_status: Option<u16>,
    /// What went wrong, in a sentence.
    pub detail: Option<String>,
    /// How the answer starts, if any of it was kept.
    pub excerpt: Option<String>,
}

impl AdminStore {
    /// By destination, the newest first, ten at most: the last attempts of what is owed or in trouble there.
    pub async fn last_errors(
        &self,
        destinations: &[String],
    ) -> Result<BTreeMap<String, Vec<LastError>>, StoreError> {
        let args = Args::new().int(IN_TROUBLE).batch(possible_groups(destinations));
        let mut rows = self.database.read(sql!("newest_in_trouble"), args).await?;
        let names = Batch::new().texts("destination", destinations.iter().map(String::as_str));
        let args = Args::new().int(OWED).batch(names);
        rows.extend(self.database.read(sql!("tried_and_owed"), args).await?);
        let ids: BTreeSet<DeliveryId> = rows.iter().map(walk::id).collect::<Result<_, _>>()?;
        let mut errors: BTreeMap<String, Vec<LastError>> = BTreeMap::new();
        if ids.is_empty() {
            return Ok(errors);
        }
        let ids: Vec<DeliveryId> = ids.into_iter().collect();
        for (id, attempt) in delivery::last_attempts(&self.database, &ids).await? {
            if attempt.outcome != "accepted" {
                errors.entry(id.destination).or_default().push(LastError {
                    at: attempt.started_at,
                    outbox_id: id.outbox_id,
                    outcome: attempt.outcome,
                    http_status: attempt.http_status,
                    detail: attempt.detail,
                    excerpt: attempt.excerpt,
                });
            }
        }
        for of_destination in errors.values_mut() {
            of_destination.sort_by_key(|error| std::cmp::Reverse((error.at, error.outbox_id)));
            of_destination.truncate(TOLD);
        }
        Ok(errors)
    }
}
