//! `aftercommit preview`: what the next owed rows would send, made by the code that sends. Nothing is sent or written.

use super::database::{self, Bench};
use super::exit::Exit;
use super::indented::indented;
use super::output::OutputArgs;
use super::settings::Settings;
use super::words::counted;
use super::{table, times};
use crate::core::time::Timestamp;
use crate::relay::dispatcher::preview::{NextRequest, Outlook, Which};

#[derive(clap::Args)]
pub(super) struct PreviewVerb {
    /// The destination
    destination: String,

    /// Owed rows that are rendered at most
    #[arg(long, value_name = "COUNT", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    rows: u16,

    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn run(verb: &PreviewVerb, settings: &Settings) -> anyhow::Result<Exit> {
    let Bench { store, receivers, .. } = database::bench(settings).await?;
    let outlook = receivers
        .preview(&store, &verb.destination, verb.rows.into())
        .await?;
    verb.output.open().print(&outlook, text)?;
    Ok(Exit::Done)
}

fn text(outlook: &Outlook) -> String {
    let name = &outlook.destination;
    let mut parts = Vec::new();
    if outlook.paused {
        parts.push(format!(
            "{name} is paused: nothing of this is sent until it is resumed"
        ));
    }
    for (number, request) in (1..).zip(&outlook.requests) {
        parts.push(request_text(number, request, outlook));
    }
    for unsent in &outlook.unsent {
        parts.push(format!(
            "nothing is sent for\n{}\n{}",
            deliveries(std::slice::from_ref(&unsent.which), outlook),
            table::visible(&unsent.why)
        ));
    }
    if outlook.superseded > 0 {
        parts.push(format!(
            "{} not sent: a newer one of its row is owed",
            counted(outlook.superseded, "older version is", "older versions are")
        ));
    }
    if outlook.requests.is_empty() && outlook.unsent.is_empty() {
        parts.push(match outlook.looked_at {
            0 => format!("nothing is owed to {name}"),
            owed => format!(
                "{} owed to {name}, and each waits behind one that a person must decide about: see `aftercommit list \
                 --state uncertain`",
                counted(owed, "delivery is", "deliveries are")
            ),
        });
    }
    parts.join("\n\n")
}

fn request_text(number: usize, request: &NextRequest, outlook: &Outlook) -> String {
    let sketch = &request.sketch;
    let mut lines = vec![format!("{number}. {} {}", sketch.method, sketch.url)];
    let headers = sketch.headers.iter();
    lines.extend(headers.map(|(name, value)| format!("{name}: {}", table::visible(value))));
    if let Some(body) = &sketch.body {
        lines.push(String::new());
        lines.extend(indented(body).lines().map(table::visible));
    }
    lines.push(String::new());
    lines.push(deliveries(&request.deliveries, outlook));
    if let Some(note) = sketch.note {
        lines.push(format!("({note})"));
    }
    lines.join("\n")
}

fn deliveries(deliveries: &[Which], outlook: &Outlook) -> String {
    let row = |which: &Which| {
        [
            format!("{}:{}", which.outbox_id, outlook.destination),
            format!("{}/{}", which.topic, which.row_key),
            which.op.to_string(),
            which
                .row_version
                .map_or_else(|| "-".to_owned(), |version| version.to_string()),
            which.attempt.to_string(),
            when(which.at, outlook.now),
            which.idempotency_key.clone().unwrap_or_else(|| "-".to_owned()),
        ]
    };
    let header = ["DELIVERY", "ROW", "OP", "VERSION", "ATTEMPT", "DUE", "KEY"];
    table::table(header, deliveries.iter().map(row)).trim_fmt()
}

fn when(at: Timestamp, now: Timestamp) -> String {
    if at > now {
        times::relative(at, now)
    } else {
        "now".to_owned()
    }
}
