//! What people did, read back: the newest first, page by page.
//!
//! A page is bounded by what it may look at, as those of deliveries are: under a filter that matches seldom it can be short,
//! or empty, though there is more. `next` says so.

use super::deliveries::PageSize;
use super::{AdminError, AdminStore};
use crate::core::time::Timestamp;
use crate::store::StoreError;
use crate::store::database::{Args, Row, only, sql};

/// Entries that one page looks at at most.
const WINDOW: i64 = 20_000;

/// What somebody did.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct AuditEntry {
    /// Its number.
    pub id: i64,
    /// When.
    pub at: Timestamp,
    /// Who: the name of a token, a user of the command line, or the relay.
    pub actor: String,
    /// From where: an address, or `command line`.
    pub origin: String,
    /// What was done.
    pub action: String,
    /// To what.
    pub subject: String,
    /// Why, where a reason was asked for.
    pub reason: Option<String>,
    /// What else there is to know.
    pub detail: Option<String>,
}

/// What an entry must be to be shown. What is not said does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Who.
    pub actor: Option<String>,
    /// What was done.
    pub action: Option<String>,
    /// A part of what it was done to.
    pub subject: Option<String>,
}

/// A part of the audit.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct AuditPage {
    /// The newest first.
    pub entries: Vec<AuditEntry>,
    /// Where the next page begins; none if this was the last.
    pub next: Option<i64>,
}

impl AdminStore {
    /// The entries that match, from `after` on, which an earlier page gave as `next`.
    pub async fn audit(
        &self,
        filter: &AuditFilter,
        after: Option<i64>,
        size: PageSize,
    ) -> Result<AuditPage, AdminError> {
        let before = after.unwrap_or(i64::MAX);
        let args = Args::new().int(before).int(WINDOW);
        let window = only(self.database.read(sql!(shared "audit_window"), args).await?)?;
        let Some(edge) = window.opt_int::<i64>("edge")? else {
            let entries = vec![];
            return Ok(AuditPage { entries, next: None });
        };
        // One more than is wanted says whether there is a next page.
        let wanted = size.get();
        let args = Args::new()
            .int(before)
            .int(edge)
            .opt_text(filter.actor.as_deref())
            .opt_text(filter.action.as_deref())
            .opt_text(filter.subject.as_deref())
            .int(i64::from(wanted) + 1);
        let rows = self.database.read(sql!(shared "audit_entries"), args).await?;
        let mut entries = rows.iter().map(AuditEntry::read).collect::<Result<Vec<_>, _>>()?;
        let next = if entries.len() > wanted as usize {
            entries.truncate(wanted as usize);
            entries.last().map(|last| last.id)
        } else {
            (window.int::<i64>("entries")? == WINDOW).then_some(edge)
        };
        Ok(AuditPage { entries, next })
    }
}

impl AuditEntry {
    fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.int("id")?,
            at: row.time("at")?,
            actor: row.text("actor")?.to_owned(),
            origin: row.text("origin")?.to_owned(),
            action: row.text("action")?.to_owned(),
            subject: row.text("subject")?.to_owned(),
            reason: row.opt_text("reason")?.map(str::to_owned),
            detail: row.opt_text("detail")?.map(str::to_owned),
        })
    }
}
