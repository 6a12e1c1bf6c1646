//! `aftercommit trouble`: what is dead or uncertain, by destination and reason, and the command that would send it again.

use super::database;
use super::exit::Exit;
use super::output::OutputArgs;
use super::settings::Settings;
use super::words::counted;
use super::{table, times};
use crate::core::delivery::{Reason, State};
use crate::core::time::Timestamp;
use crate::store::admin::{Trouble, TroubleGroup};

/// Characters of what went wrong that a person is shown.
const SHOWN: usize = 300;

#[derive(clap::Args)]
pub(super) struct TroubleVerb {
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn run(verb: &TroubleVerb, settings: &Settings) -> anyhow::Result<Exit> {
    let desk = database::desk(settings).await?;
    let trouble = desk.store.trouble().await?;
    let now = desk.store.now().await?;
    verb.output.open().print(&trouble, |trouble| text(trouble, now))?;
    Ok(Exit::Done)
}

fn text(trouble: &Trouble, now: Timestamp) -> String {
    if trouble.groups.is_empty() {
        return "nothing is dead, and nothing is uncertain".to_owned();
    }
    let header = ["DESTINATION", "STATE", "REASON", "DELIVERIES", "OLDEST", "SINCE"];
    let row = |group: &TroubleGroup| {
        [
            group.destination.clone(),
            group.state.to_string(),
            group.reason.to_string(),
            count(group),
            format!("{}:{}", group.oldest.outbox_id, group.destination),
            times::relative(group.oldest.at, now),
        ]
    };
    let mut table = table::table(header, trouble.groups.iter().map(row));
    table::align_right(&mut table, [3]);
    let details: Vec<String> = trouble.groups.iter().map(detail).collect();
    format!("{}\n\n{}", table.trim_fmt(), details.join("\n\n"))
}

fn count(group: &TroubleGroup) -> String {
    if group.exact {
        group.count.to_string()
    } else {
        format!("{} or more", group.count)
    }
}

/// An example of a group, and the commands that go on from it.
fn detail(group: &TroubleGroup) -> String {
    let destination = table::visible(&group.destination);
    let TroubleGroup {
        state,
        reason,
        example,
        ..
    } = group;
    let met = match (example.http_status, &example.detail) {
        (_, Some(detail)) => shown(detail),
        (Some(status), None) => format!("HTTP {status}"),
        (None, None) => "no attempt was made".to_owned(),
    };
    let answered = example.excerpt.as_deref().map(str::trim);
    let answered = answered.filter(|excerpt| !excerpt.is_empty());
    let answered = answered.map_or_else(String::new, |excerpt| format!("\n  answered: {}", shown(excerpt)));
    let careful = match state {
        State::Uncertain => "\n  look at the receiver first: what arrived there is not to be sent again",
        _ => "",
    };
    let key = match reason {
        Reason::StoredFailure => " --key new",
        _ => "",
    };
    format!(
        "{destination}, {state} ({reason}), for example {}:{destination}, row {}/{}, {}:\n  {met}{answered}{careful}\n  \
         aftercommit replay --destination {destination} --state {state} --because {reason}{key} --dry-run",
        example.outbox_id,
        table::visible(&example.topic),
        table::visible(&example.row_key),
        counted(example.attempts, "attempt", "attempts"),
    )
}

fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => table::visible(text),
        Some((end, _)) => format!("{}… (--json shows more)", table::visible(&text[..end])),
    }
}
