//! That somebody tries a destination out goes on record before anything is sent.

use super::act::Act;
use super::{AdminError, AdminStore};
use crate::store::pauses;

impl AdminStore {
    /// Puts on record that `act` tries the destination out. Once this returns, it is committed.
    pub async fn note_test(&self, destination: &str, act: &Act) -> Result<(), AdminError> {
        let (name, act) = (destination.to_owned(), act.clone());
        self.database
            .write(move |transaction| {
                Box::pin(async move {
                    pauses::audit(transaction, act.actor(), "test", &name, Some(act.reason())).await
                })
            })
            .await?;
        Ok(())
    }
}
