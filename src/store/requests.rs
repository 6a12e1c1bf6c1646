//! Requests to enqueue rows that came over HTTP: which keys are known, and what was answered.
//!
//! A key is claimed first and answered last, in the transaction of the rows: of two requests that come at once, the second
//! waits for the first and then finds its answer. A request that failed has left nothing, and may come again.

use super::admin::{Actor, RequestKey};
use super::database::{Args, Transaction, only, sql};
use super::{Enqueued, StoreError, pauses};

/// A request to enqueue rows.
#[derive(Debug, Clone)]
pub struct OutboxRequest {
    /// Its Idempotency-Key. Kept for seven days.
    pub key: Option<RequestKey>,
    /// Tells it from another request under the same key.
    pub digest: [u8; 32],
    /// Who sent it, for the audit.
    pub actor: Actor,
}

/// What is known of the key of a request.
pub(crate) enum Found {
    /// Nothing: it is claimed now, if there is one.
    Nothing,
    /// The same request came before; this became of its rows.
    Before(Enqueued),
    /// Another request came under this key.
    Another,
}

impl OutboxRequest {
    /// Claims the key, or finds what came under it before.
    pub(crate) async fn find(&self, transaction: &mut Transaction) -> Result<Found, StoreError> {
        let Some(key) = &self.key else {
            return Ok(Found::Nothing);
        };
        transaction
            .execute(sql!("forget_outbox_requests"), Args::new())
            .await?;
        let args = Args::new().text(key.as_str()).bytes(self.digest.to_vec());
        if transaction
            .execute(sql!(shared "claim_outbox_request"), args)
            .await?
            > 0
        {
            return Ok(Found::Nothing);
        }
        let args = Args::new().text(key.as_str());
        let row = only(transaction.rows(sql!(shared "outbox_request"), args).await?)?;
        if row.opt_bytes("digest")? != Some(&self.digest[..]) {
            return Ok(Found::Another);
        }
        Ok(Found::Before(Enqueued {
            admitted: row.int("admitted")?,
            unchanged: row.int("unchanged")?,
            stale: row.int("stale")?,
        }))
    }

    /// Keeps what became of its rows, and puts on record who sent them if any was new.
    pub(crate) async fn keep(
        &self,
        transaction: &mut Transaction,
        enqueued: Enqueued,
    ) -> Result<(), StoreError> {
        if let Some(key) = &self.key {
            let args = Args::new()
                .text(key.as_str())
                .int(enqueued.admitted.cast_signed())
                .int(enqueued.unchanged.cast_signed())
                .int(enqueued.stale.cast_signed());
            transaction
                .execute(sql!(shared "answer_outbox_request"), args)
                .await?;
        }
        if enqueued.admitted > 0 {
            let subject = format!("{} of {} rows", enqueued.admitted, enqueued.total());
            pauses::audit(transaction, &self.actor, "enqueue", &subject, None).await?;
        }
        Ok(())
    }
}
