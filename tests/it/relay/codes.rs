//! Each error code that a CRM is known for, through the whole relay: what the attempts of a row met, and what became of it.
//!
//! The codes stand in tables, in the order of the vendors' own. One relay, and a destination for each line: what slows or
//! pauses one must not touch the others. Three rows share a request, and the fault is aimed at the first of them.

mod hubspot;
mod salesforce;

use super::world::{Backend, Running, World, on_both};

/// One line of a table.
#[derive(Debug)]
struct Code {
    /// Status and code, as the vendor has them.
    name: &'static str,
    /// What brings it about.
    cause: Cause,
    /// What the attempts of the row met that it is aimed at: `outcome status, outcome status`.
    met: String,
    /// The same of each of its mates. Without this it has none.
    mates_met: Option<String>,
    becomes: Becomes,
}

/// What brings a code about.
#[derive(Debug, PartialEq, Eq)]
enum Cause {
    /// A fault of the mock.
    Fault(&'static str),
    /// The payload of the row.
    Payload(&'static str),
}

/// What becomes of the row. Its mates are delivered if they were accepted, else they are owed as it is.
#[derive(Debug, PartialEq, Eq)]
enum Becomes {
    Delivered,
    /// With a last attempt whose sentence says this.
    Dead(&'static str),
    /// Owed still, and no attempt counts; the destination is paused for a reason that says this.
    Paused(&'static str),
    /// Owed still, and no attempt counts; due again in so many seconds at least, and then it may meet the same again.
    Waits(i64),
}

impl Code {
    /// Reads a table: what is answered, its cause, what the row met, what its mates met, what becomes of the row.
    fn table(text: &'static str) -> Vec<Self> {
        let lines = text.lines().filter(|line| line.starts_with('|'));
        let codes: Vec<Self> = lines.skip(2).map(Self::of).collect();
        assert!(!codes.is_empty());
        codes
    }

    fn of(line: &'static str) -> Self {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let &[name, cause, met, mates_met, becomes] = cells.as_slice() else {
            panic!("not five cells: {line}");
        };
        let met = met.to_owned();
        Self {
            name,
            cause: if cause.starts_with('{') {
                Cause::Payload(cause)
            } else {
                Cause::Fault(cause)
            },
            mates_met: match mates_met {
                "the same" => Some(met.clone()),
                "none there" => None,
                other => Some(other.to_owned()),
            },
            met,
            becomes: Becomes::of(becomes),
        }
    }
}

impl Becomes {
    fn of(cell: &'static str) -> Self {
        match cell.split_once(": ") {
            Some(("dead", says)) => Self::Dead(says),
            Some(("paused", says)) => Self::Paused(says),
            Some(("waits", seconds)) => Self::Waits(seconds.trim_end_matches(" s").parse().unwrap()),
            _ => {
                assert_eq!(cell, "delivered");
                Self::Delivered
            }
        }
    }
}

/// The name of the destination of the line with this number, which is its topic's too.
fn destination(line: usize) -> String {
    format!("line{line}")
}

/// The row that the line's fault is aimed at.
fn aimed(line: usize) -> String {
    format!("a{line}@b.co")
}

/// Every row of the line.
fn row_keys(line: usize, code: &Code) -> Vec<String> {
    let mates = code.mates_met.iter();
    let mates = mates.flat_map(|_| ["b", "c"].map(|mate| format!("{mate}{line}@b.co")));
    std::iter::once(aimed(line)).chain(mates).collect()
}

/// The configuration of all lines: `section` with its destination's name in the place of `{name}`.
fn config(codes: &[Code], section: &str) -> String {
    let sections = (0..codes.len()).map(|line| section.replace("{name}", &destination(line)));
    sections.collect()
}

/// The rules that bring the codes about; `key` is the field that holds the row key at the mock.
fn rules(codes: &[Code], key: &str) -> String {
    let rule = |(line, code): (usize, &Code)| match code.cause {
        Cause::Fault(fault) => Some(format!("{fault}@{key}={}", aimed(line))),
        Cause::Payload(_) => None,
    };
    let rules: Vec<String> = codes.iter().enumerate().filter_map(rule).collect();
    rules.join(",")
}

/// Plays the tables: commits the rows, lets a relay deliver them, and compares with what the tables say.
async fn play(world: World, config: &str, codes: &[Code]) {
    let rows: Vec<String> = (codes.iter().enumerate())
        .flat_map(|(line, code)| {
            let usual = r#"{"name":"n"}"#;
            let payload = move |place| match code.cause {
                Cause::Payload(payload) if place == 0 => payload,
                _ => usual,
            };
            let keys = row_keys(line, code).into_iter().enumerate();
            keys.map(move |(place, row_key)| {
                let topic = destination(line);
                format!("('{topic}', '{row_key}', 'upsert', '{}')", payload(place))
            })
        })
        .collect();
    let insert = "insert into aftercommit.outbox (topic, row_key, op, payload) values";
    world.base.execute(&format!("{insert} {}", rows.join(", "))).await;
    // So many dispatchers at once leave each other little time.
    let slow = |relay: &mut aftercommit::config::RelayConfig| {
        relay.poll_idle = std::time::Duration::from_millis(500);
    };
    let relay = world.relay_with(config, slow).await;
    finish(world, relay, codes).await;
}

async fn finish(world: World, relay: Running, codes: &[Code]) {
    let attempts_of = |code: &Code| {
        let count = |met: &str| i64::try_from(met.split(", ").count()).unwrap();
        count(&code.met) + 2 * code.mates_met.as_deref().map_or(0, count)
    };
    let attempts = codes.iter().map(attempts_of).sum();
    let lines = codes.iter().enumerate();
    let waits = lines.filter(|(_, code)| matches!(code.becomes, Becomes::Waits(_)));
    let names = waits.map(|(line, _)| format!("'{}'", destination(line)));
    let waiting: Vec<String> = names.chain(["''".to_owned()]).collect();
    let made = format!(
        "select count(*) from aftercommit.attempt where number = 1 or destination not in ({})",
        waiting.join(", ")
    );
    world.until_number(&made, attempts).await;
    let paused = codes
        .iter()
        .filter(|code| matches!(code.becomes, Becomes::Paused(_)));
    let are_paused = "select count(*) from aftercommit.destination_state where paused_at is not null";
    world
        .until_number(are_paused, i64::try_from(paused.count()).unwrap())
        .await;
    let mut wrong = Vec::new();
    for (line, code) in codes.iter().enumerate() {
        wrong.extend(differences(&world, line, code).await);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    world.finish([relay]).await;
}

/// What is otherwise than a line says.
async fn differences(world: &World, line: usize, code: &Code) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut compare = |what: &str, is: String, should: &str| {
        if is != should {
            wrong.push(format!("{}: {what}: `{is}`, and not `{should}`", code.name));
        }
    };
    for row_key in row_keys(line, code) {
        let met = if row_key == aimed(line) {
            &code.met
        } else {
            code.mates_met.as_ref().unwrap()
        };
        let history = world.base.history(&row_key).await;
        let history = match code.becomes {
            // How often it has met the same since is a matter of time.
            Becomes::Waits(_) => history.split(", ").next().unwrap_or_default().to_owned(),
            _ => history,
        };
        compare(&row_key, history, met);
    }
    let name = destination(line);
    let count = async |from: &str| {
        let sql = format!("select count(*) from aftercommit.{from} and destination = '{name}'");
        world.base.number(&sql).await
    };
    let owed = count("owed where attempts = excused").await;
    let delivered = count("settled where state = 'delivered'").await;
    let (row_delivered, row_owed, says) = match code.becomes {
        Becomes::Delivered => (1, 0, ""),
        Becomes::Dead(says) => (0, 0, says),
        Becomes::Paused(says) => (0, 1, says),
        Becomes::Waits(_) => (0, 1, ""),
    };
    let (mates_delivered, mates_owed) = match code.mates_met.as_deref() {
        None => (0, 0),
        Some(met) if met.contains("accepted") => (2, 0),
        Some(_) => (0, 2),
    };
    compare(
        "its rows",
        format!("{delivered} delivered, {owed} owed"),
        &format!(
            "{} delivered, {} owed",
            row_delivered + mates_delivered,
            row_owed + mates_owed
        ),
    );
    let said = match code.becomes {
        Becomes::Delivered => String::new(),
        Becomes::Dead(_) => last_words(world, &aimed(line)).await,
        Becomes::Paused(_) => pause_reason(world, &name).await,
        Becomes::Waits(least) => {
            let waits = waits(world, &aimed(line)).await;
            compare("waits long enough", (waits >= least).to_string(), "true");
            String::new()
        }
    };
    if !said.contains(says) {
        compare("says", said, says);
    }
    wrong
}

async fn last_words(world: &World, row_key: &str) -> String {
    let words = format!(
        "select coalesce(detail, '') from aftercommit.attempt join aftercommit.outbox on outbox.id = attempt.outbox_id
         where outbox.row_key = '{row_key}' order by attempt.number desc limit 1"
    );
    world.base.text(&words).await.unwrap_or_default()
}

async fn pause_reason(world: &World, destination: &str) -> String {
    let reason =
        format!("select pause_reason from aftercommit.destination_state where destination = '{destination}'");
    world.base.text(&reason).await.unwrap_or_default()
}

/// From the last attempt of a row to its next, in whole seconds.
async fn waits(world: &World, row_key: &str) -> i64 {
    let seconds = match world.base.backend {
        Backend::Postgres => "extract(epoch from due_at - max(started_at))::bigint",
        Backend::Sqlite => "(due_at - max(started_at)) / 1000000",
    };
    let wait = format!(
        "select {seconds} from aftercommit.owed join aftercommit.attempt on attempt.outbox_id = owed.outbox_id
         join aftercommit.outbox on outbox.id = owed.outbox_id where outbox.row_key = '{row_key}' group by due_at"
    );
    world.base.number(&wait).await
}
