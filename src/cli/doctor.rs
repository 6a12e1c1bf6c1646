//! `aftercommit doctor`: why does this row not move?

use super::database;
use super::exit::{Exit, Problem};
use super::output::OutputArgs;
use super::selection::Named;
use super::settings::Settings;
use super::table;
use crate::store::admin::{AdminError, DeliveryId, Diagnosis, Examined};

#[derive(clap::Args)]
pub(super) struct Doctor {
    /// The outbox id, for all its destinations, or `OUTBOX_ID:DESTINATION`
    #[arg(value_name = "DELIVERY", required_unless_present = "row_key")]
    delivery: Option<Named>,

    /// In place of an id: the topic of a row, whose newest version is looked at
    #[arg(long, requires = "row_key", conflicts_with = "delivery")]
    topic: Option<String>,

    /// The row's key within its topic
    #[arg(long, requires = "topic", conflicts_with = "delivery")]
    row_key: Option<String>,

    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn run(verb: &Doctor, settings: &Settings) -> anyhow::Result<Exit> {
    let desk = database::desk(settings).await?;
    let (outbox_id, destination) = match (&verb.delivery, &verb.topic, &verb.row_key) {
        (Some(Named::Row(outbox_id)), ..) => (*outbox_id, None),
        (Some(Named::Delivery(id)), ..) => (id.outbox_id, Some(&id.destination)),
        (None, Some(topic), Some(row_key)) => {
            let newest = desk.store.newest_of_row(topic, row_key).await?;
            (newest.ok_or_else(|| no_row(topic, row_key))?, None)
        }
        _ => return Err(Problem::BadInput("name an outbox id, or --topic and --row-key".to_owned()).into()),
    };
    let mut diagnosis = desk.store.doctor(outbox_id, &desk.expected).await?;
    if let Some(destination) = destination {
        diagnosis.deliveries.retain(|one| one.destination == *destination);
        if diagnosis.deliveries.is_empty() {
            let destination = destination.clone();
            return Err(AdminError::UnknownDelivery(DeliveryId {
                outbox_id,
                destination,
            })
            .into());
        }
    }
    verb.output.open().print(&diagnosis, text)?;
    Ok(Exit::Done)
}

fn no_row(topic: &str, row_key: &str) -> Problem {
    Problem::NotFound(format!(
        "no row of the topic `{topic}` has the key `{row_key}`; it is there once its transaction has committed: see that the \
         pipeline did, and that it spells both the same"
    ))
}

fn text(diagnosis: &Diagnosis) -> String {
    let row = format!(
        "row {}, {}/{}",
        diagnosis.outbox_id,
        table::visible(&diagnosis.topic),
        table::visible(&diagnosis.row_key)
    );
    if diagnosis.deliveries.is_empty() {
        return format!("{row}: it is owed to nobody, and its topic has no route");
    }
    let deliveries: Vec<String> = diagnosis.deliveries.iter().map(delivery).collect();
    format!("{row}\n\n{}", deliveries.join("\n\n"))
}

fn delivery(examined: &Examined) -> String {
    let name = match examined.destination.as_str() {
        "" => "nowhere",
        name => name,
    };
    let state = examined.state.map_or("never owed", |state| state.as_str());
    let mut lines = vec![format!("to {name}: {state}")];
    for finding in &examined.findings {
        lines.push(format!("  {}", table::visible(&finding.sentence)));
        if let Some(way_out) = &finding.way_out {
            lines.push(format!("    → {}", table::visible(way_out)));
        }
    }
    lines.join("\n")
}
