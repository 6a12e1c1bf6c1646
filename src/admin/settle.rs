//! Settling by hand: cancel, retry now, mark as delivered, one delivery or many; and skipping the head of a row key.

use axum::extract::State;
use axum::{Extension, Json};

use super::query::selection;
use super::reply::{Because, Body, PathParts, Reply};
use super::server::Remote;
use super::state::{AdminState, act};
use crate::store::admin::{
    AdminError, Cancelled, DeliveryFilter, DeliveryId, Evidence, Hurried, Marked, Selection, SkippedHead,
};

/// The body of a request that changes many deliveries: one of `ids`, `filter` and `all`, and why.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Many {
    ids: Option<Vec<DeliveryId>>,
    filter: Option<DeliveryFilter>,
    #[serde(default)]
    all: bool,
    /// Only counts what would be changed.
    #[serde(default)]
    dry_run: bool,
    /// A dry run needs none.
    #[serde(default)]
    reason: String,
}

/// The body of a request that marks many deliveries as delivered.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MarkMany {
    ids: Option<Vec<DeliveryId>>,
    filter: Option<DeliveryFilter>,
    #[serde(default)]
    all: bool,
    /// Only counts what would be changed.
    #[serde(default)]
    dry_run: bool,
    /// A dry run needs none.
    #[serde(default)]
    reason: String,
    /// How it is known that the receiver took them. A dry run needs none.
    #[serde(default)]
    evidence: String,
}

/// The body of a request that marks a delivery as delivered.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MarkOne {
    reason: String,
    /// How it is known that the receiver took it, for example the id that it gave.
    evidence: String,
}

pub(super) async fn cancel(
    State(state): State<AdminState>,
    Extension(remote): Extension<Remote>,
    PathParts(path): PathParts<(i64, String)>,
    Body(because): Body<Because>,
) -> Reply<Cancelled> {
    let (id, act) = (id(path), act(remote, &because.reason)?);
    let done = state.store.cancel(&only(&id), &act).await?;
    known(done, id)
}

pub(super) async fn retry_now(
    State(state): State<AdminState>,
    Extension(remote): Extension<Remote>,
    PathParts(path): PathParts<(i64, String)>,
    Body(because): Body<Because>,
) -> Reply<Hurried> {
    let (id, act) = (id(path), act(remote, &because.reason)?);
    let done = state.store.retry_now(&only(&id), &act).await?;
    known(done, id)
}

pub(super) async fn mark_delivered(
    State(state): State<AdminState>,
    Extension(remote): Extension<Remote>,
    PathParts(path): PathParts<(i64, String)>,
    Body(body): Body<MarkOne>,
) -> Reply<Marked> {
    let (id, act) = (id(path), act(remote, &body.reason)?);
    let evidence = Evidence::new(&body.evidence)?;
    let done = state.store.mark_delivered(&only(&id), &evidence, &act).await?;
    known(done, id)
}

pub(super) async fn skip_head(
    State(state): State<AdminState>,
    Extension(remote): Extension<Remote>,
    PathParts(path): PathParts<(i64, String)>,
    Body(because): Body<Because>,
) -> Reply<SkippedHead> {
    let act = act(remote, &because.reason)?;
    Ok(Json(state.store.skip_head(&id(path), &act).await?))
}

pub(super) async fn cancel_many(
    State(state): State<AdminState>,
    Extension(remote): Extension<Remote>,
    Body(many): Body<Many>,
) -> Reply<Cancelled> {
    let (dry_run, reason) = (many.dry_run, many.reason.clone());
    let selection = many.selection(&state).await?;
    Ok(Json(if dry_run {
        state.store.would_cancel(&selection).await?
    } else {
        state.store.cancel(&selection, &act(remote, &reason)?).await?
    }))
}

pub(super) async fn retry_many_now(
    State(state): State<AdminState>,
    Extension(remote): Extension<Remote>,
    Body(many): Body<Many>,
) -> Reply<Hurried> {
    let (dry_run, reason) = (many.dry_run, many.reason.clone());
    let selection = many.selection(&state).await?;
    Ok(Json(if dry_run {
        state.store.would_retry_now(&selection).await?
    } else {
        state.store.retry_now(&selection, &act(remote, &reason)?).await?
    }))
}

pub(super) async fn mark_many_delivered(
    State(state): State<AdminState>,
    Extension(remote): Extension<Remote>,
    Body(body): Body<MarkMany>,
) -> Reply<Marked> {
    let selection = selection(body.ids, body.filter, body.all)?;
    state.require_destinations(&selection).await?;
    if body.dry_run {
        return Ok(Json(state.store.would_mark_delivered(&selection).await?));
    }
    let evidence = Evidence::new(&body.evidence)?;
    let act = act(remote, &body.reason)?;
    Ok(Json(
        state.store.mark_delivered(&selection, &evidence, &act).await?,
    ))
}

impl Many {
    async fn selection(self, state: &AdminState) -> Result<Selection, super::problem::Problem> {
        let selection = selection(self.ids, self.filter, self.all)?;
        state.require_destinations(&selection).await?;
        Ok(selection)
    }
}

fn id((outbox_id, destination): (i64, String)) -> DeliveryId {
    DeliveryId {
        outbox_id,
        destination,
    }
}

fn only(id: &DeliveryId) -> Selection {
    Selection::Ids(vec![id.clone()])
}

/// What became of one delivery: nothing at all means that there is none.
fn known<T: Default + PartialEq>(done: T, id: DeliveryId) -> Reply<T> {
    if done == T::default() {
        return Err(AdminError::UnknownDelivery(id).into());
    }
    Ok(Json(done))
}
