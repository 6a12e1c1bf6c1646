//! Pausing a destination: nothing new is begun for it until a person resumes it.

use super::StoreError;
use super::admin::Actor;
use super::database::{Args, Database, Transaction, sql};

pub(super) async fn pause(
    database: &Database,
    destination: &str,
    actor: &Actor,
    reason: &str,
) -> Result<(), StoreError> {
    let [destination, reason] = [destination, reason].map(str::to_owned);
    let actor = actor.clone();
    database
        .write(move |transaction| {
            Box::pin(async move {
                let args = Args::new().text(&destination).text(actor.name()).text(&reason);
                let paused = transaction.execute(sql!(shared "pause"), args).await?;
                // Who paused it first stays on record, and a repetition says nothing new.
                if paused > 0 {
                    audit(transaction, &actor, "pause", &destination, Some(&reason)).await?;
                }
                Ok(())
            })
        })
        .await
}

/// Puts on record who changed what, from where and why, in the transaction of the change.
pub(super) async fn audit(
    transaction: &mut Transaction,
    actor: &Actor,
    action: &'static str,
    subject: &str,
    reason: Option<&str>,
) -> Result<(), StoreError> {
    audit_with(transaction, actor, action, subject, reason, None).await
}

/// The same, with what else is to be known of it.
pub(super) async fn audit_with(
    transaction: &mut Transaction,
    actor: &Actor,
    action: &'static str,
    subject: &str,
    reason: Option<&str>,
    detail: Option<&str>,
) -> Result<(), StoreError> {
    let args = Args::new()
        .text(actor.name())
        .text(actor.origin())
        .text(action)
        .text(subject)
        .opt_text(reason)
        .opt_text(detail);
    transaction.execute(sql!(shared "audit"), args).await?;
    Ok(())
}
