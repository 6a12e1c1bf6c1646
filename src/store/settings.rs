//! Facts about the database as a whole.

use super::StoreError;
use super::database::{Args, Database, sql};

pub(super) async fn namespace(database: &Database) -> Result<String, StoreError> {
    let rows = database
        .read(sql!(shared "setting"), Args::new().text("namespace"))
        .await?;
    let row = rows.first().ok_or(StoreError::NotMigrated)?;
    Ok(row.text("value")?.to_owned())
}
