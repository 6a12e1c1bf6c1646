//! Rows that saw no route: once their topic has one, they are owed to it.

use super::StoreError;
use super::database::{Args, Database, only, sql};

pub(super) async fn route(database: &Database, limit: u32) -> Result<u64, StoreError> {
    let args = Args::new().int(i64::from(limit));
    only(database.run(sql!("route_unrouted"), args).await?)?.int("moved")
}
