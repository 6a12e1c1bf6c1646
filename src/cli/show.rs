//! `aftercommit show`: a delivery with its row, its key, and every attempt.

use serde::Serialize;

use super::database;
use super::exit::Exit;
use super::output::OutputArgs;
use super::selection::{Named, deliveries_of};
use super::settings::Settings;
use super::{list, table, times};
use crate::core::time::Timestamp;
use crate::store::admin::{Attempt, DeliveryDetail, Next, Options};

/// Characters of a payload that a person is shown.
const SHOWN_PAYLOAD: usize = 2_000;
/// Characters of an answer that a person is shown.
const SHOWN_ANSWER: usize = 200;

#[derive(clap::Args)]
pub(super) struct Show {
    /// The outbox id, for all its destinations, or `OUTBOX_ID:DESTINATION`
    #[arg(value_name = "DELIVERY")]
    delivery: Named,

    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn run(verb: &Show, settings: &Settings) -> anyhow::Result<Exit> {
    let desk = database::desk(settings).await?;
    let ids = match &verb.delivery {
        Named::Delivery(id) => vec![id.clone()],
        Named::Row(outbox_id) => deliveries_of(&desk.store, *outbox_id).await?,
    };
    let mut shown = Vec::new();
    for id in &ids {
        let detail = desk.store.delivery(id).await?;
        shown.push(Shown {
            next: desk.store.next(id, &desk.expected).await?,
            options: desk.store.options(&detail.delivery, &desk.expected).await?,
            detail,
        });
    }
    let now = desk.store.now().await?;
    verb.output.open().print(&shown, |shown| {
        let texts: Vec<String> = shown.iter().map(|one| text(one, now)).collect();
        texts.join("\n\n")
    })?;
    Ok(Exit::Done)
}

/// A delivery, what comes next for it, and what can be done with it.
#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    detail: DeliveryDetail,
    next: Next,
    #[serde(flatten)]
    options: Options,
}

fn text(
    Shown {
        detail,
        next,
        options,
    }: &Shown,
    now: Timestamp,
) -> String {
    let delivery = &detail.delivery;
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let mut facts = vec![
        (
            "delivery",
            format!("{}:{}", delivery.id.outbox_id, delivery.id.destination),
        ),
        ("state", list::state(delivery)),
        ("next", next.sentence.clone()),
        ("row", format!("{}/{}", delivery.topic, delivery.row_key)),
        ("op", delivery.op.to_string()),
        (
            "version",
            or_dash(delivery.row_version.map(|version| version.to_string())),
        ),
        ("generation", detail.generation.to_string()),
        ("written", times::at(delivery.created_at, now)),
    ];
    let moments = [
        ("due", delivery.due_at),
        ("unknown since", delivery.unknown_since),
        ("cancel asked", delivery.cancel_at),
        ("ended", delivery.settled_at),
    ];
    let moments = moments
        .into_iter()
        .filter_map(|(what, time)| Some((what, times::at(time?, now))));
    facts.extend(moments);
    if let Some(head) = &options.head {
        let name = format!("{}:{}", head.id.outbox_id, head.id.destination);
        facts.push(("waits for", format!("{name}, {}", list::state(head))));
    }
    facts.push(match (&detail.idempotency_key, &detail.not_canonical) {
        (Some(key), _) => ("key", key.clone()),
        (None, why) => ("no key", or_dash(why.clone())),
    });
    if let Some(headers) = &detail.headers {
        facts.push(("headers", headers.clone()));
    }
    facts.push(("payload", payload(detail)));
    let facts = table::plain(facts.into_iter().map(|(what, fact)| [what.to_owned(), fact])).trim_fmt();
    format!("{facts}\n\n{}", what_happened(detail, now))
}

/// The attempts on record, what the receiver answered to them, and the attempt that is in flight.
fn what_happened(detail: &DeliveryDetail, now: Timestamp) -> String {
    let mut parts = Vec::new();
    if !detail.history.is_empty() {
        parts.push(attempts(&detail.history, now));
    }
    let answers: Vec<String> = detail.history.iter().filter_map(answer).collect();
    if !answers.is_empty() {
        parts.push(answers.join("\n"));
    }
    if let Some(since) = detail.in_flight_since {
        let number = detail.delivery.attempts + 1;
        parts.push(format!(
            "attempt {number} is in flight since {}",
            times::at(since, now)
        ));
    }
    if parts.is_empty() {
        return "no attempt yet".to_owned();
    }
    parts.join("\n\n")
}

/// The first line of what the receiver answered that says something.
fn answer(attempt: &Attempt) -> Option<String> {
    let mut lines = attempt.excerpt.as_deref()?.lines();
    let line = lines.find(|line| !line.trim().is_empty())?;
    let shown = match line.char_indices().nth(SHOWN_ANSWER) {
        None => table::visible(line),
        Some((end, _)) => format!("{}… (--json shows more)", table::visible(&line[..end])),
    };
    Some(format!("attempt {} was answered: {shown}", attempt.number))
}

fn payload(detail: &DeliveryDetail) -> String {
    match detail.payload.char_indices().nth(SHOWN_PAYLOAD) {
        None => detail.payload.clone(),
        Some((end, _)) => format!(
            "{}… ({} bytes; --json shows all)",
            &detail.payload[..end],
            detail.payload_bytes
        ),
    }
}

fn attempts(history: &[Attempt], now: Timestamp) -> String {
    let row = |attempt: &Attempt| {
        [
            attempt.number.to_string(),
            times::at(attempt.started_at, now),
            format!(
                "{:.1} ms",
                std::time::Duration::from_micros(attempt.duration_us).as_secs_f64() * 1e3
            ),
            attempt.outcome.clone(),
            attempt
                .http_status
                .map_or_else(|| "-".to_owned(), |status| status.to_string()),
            attempt.detail.clone().unwrap_or_default(),
        ]
    };
    let header = ["ATTEMPT", "STARTED", "TOOK", "OUTCOME", "STATUS", "DETAIL"];
    let mut table = table::table(header, history.iter().map(row));
    table::align_right(&mut table, [0, 2]);
    table.trim_fmt()
}
