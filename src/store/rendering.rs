//! Renderings: the parts of destination configurations that requests were rendered under, by content.

use std::collections::HashMap;

use sha2::{Digest as _, Sha256};

use super::StoreError;
use super::database::{Args, Database, sql};

pub(super) async fn keep(database: &Database, spec: &str) -> Result<i64, StoreError> {
    let digest = Sha256::digest(spec).to_vec();
    if let Some(id) = find(database, digest.clone()).await? {
        return Ok(id);
    }
    let args = Args::new().bytes(digest.clone()).text(spec);
    database.run(sql!(shared "add_rendering"), args).await?;
    find(database, digest)
        .await?
        .ok_or_else(|| StoreError::Unexpected("a rendering that was just kept is gone".to_owned()))
}

pub(super) async fn all(database: &Database) -> Result<HashMap<i64, String>, StoreError> {
    let rows = database.read(sql!(shared "renderings"), Args::new()).await?;
    rows.iter()
        .map(|row| Ok((row.int("id")?, row.text("spec")?.to_owned())))
        .collect()
}

async fn find(database: &Database, digest: Vec<u8>) -> Result<Option<i64>, StoreError> {
    let rows = database
        .read(sql!(shared "rendering_id"), Args::new().bytes(digest))
        .await?;
    rows.first().map(|row| row.int("id")).transpose()
}
