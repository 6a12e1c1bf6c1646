//! `aftercommit attach`, `detach` and `attached`: tables whose committed changes become outbox rows by themselves.

use serde::Serialize;

use super::act::actor;
use super::capture;
use super::exit::{Exit, Problem};
use super::output::OutputArgs;
use super::settings::Settings;
use super::table;
use crate::store::sources::{Attached, Former, Place, Source, Way};

#[derive(clap::Args)]
pub(super) struct Attach {
    /// The table; on PostgreSQL with its schema, such as `public.dim_customers`
    #[arg(
        value_name = "TABLE",
        required_unless_present = "query",
        conflicts_with = "query"
    )]
    table: Option<String>,

    /// A query in place of a table; needs `--by capture`
    #[arg(long, value_name = "SQL")]
    query: Option<String>,

    /// The topic that its rows belong to, of kind `state`
    #[arg(long)]
    topic: String,

    /// The columns that tell rows apart, separated by commas; the row key is made of them
    #[arg(long, required = true, value_name = "COLUMN", value_delimiter = ',')]
    key: Vec<String>,

    /// The column that orders the versions of a row: a whole number or a time. Older rows never overwrite newer ones
    #[arg(long = "version", value_name = "COLUMN")]
    row_version: Option<String>,

    /// Columns to leave out of the payload; a change of them alone is none
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    exclude: Vec<String>,

    /// How changes are seen: by `trigger`, in each transaction that writes to the table, or by `capture`, when somebody calls that
    #[arg(long, value_name = "WAY", default_value = "trigger")]
    by: Way,

    /// Put it in the place of another table that the topic has. A capture with deletes then deletes what only that one had
    #[arg(long)]
    replace: bool,

    #[command(flatten)]
    output: OutputArgs,
}

#[derive(clap::Args)]
pub(super) struct Detach {
    /// The topic
    topic: String,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(clap::Args)]
pub(super) struct AttachedVerb {
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Serialize)]
struct Done {
    #[serde(flatten)]
    source: Source,
    /// What will surprise, a sentence each.
    surprises: Vec<String>,
}

pub(super) async fn attach(verb: Attach, settings: &Settings) -> anyhow::Result<Exit> {
    let source = verb.source()?;
    let database = capture::patient_database(settings).await?;
    let former = if verb.replace {
        Former::Replaced
    } else {
        Former::Kept
    };
    database.attach(source.clone(), former, &actor()).await?;
    let surprises = database.surprises(&source.topic).await?;
    database.close().await;
    verb.output
        .open()
        .print(&Done { source, surprises }, Done::text)?;
    Ok(Exit::Done)
}

pub(super) async fn detach(verb: &Detach, settings: &Settings) -> anyhow::Result<Exit> {
    let database = capture::patient_database(settings).await?;
    let was_attached = database.detach(&verb.topic, &actor()).await?;
    database.close().await;
    if !was_attached {
        let topic = table::visible(&verb.topic);
        return Err(Problem::NotFound(format!(
            "nothing is attached to topic `{topic}`; see `aftercommit attached`"
        ))
        .into());
    }
    let detached = serde_json::json!({"detached": verb.topic});
    verb.output.open().print(&detached, |_| {
        format!(
            "{}: its changes are no longer seen; what is owed stays owed",
            verb.topic
        )
    })?;
    Ok(Exit::Done)
}

pub(super) async fn attached(verb: &AttachedVerb, settings: &Settings) -> anyhow::Result<Exit> {
    let database = capture::patient_database(settings).await?;
    let attached = database.attached().await?;
    database.close().await;
    verb.output.open().print(&attached, |attached| list(attached))?;
    Ok(Exit::Done)
}

impl Attach {
    fn source(&self) -> Result<Source, Problem> {
        let place = match (&self.table, &self.query) {
            (Some(table), _) => Place::Table(table.clone()),
            (None, Some(query)) if self.by == Way::Capture => {
                Place::Query(query.trim().trim_end_matches(';').to_owned())
            }
            (None, _) => {
                return Err(Problem::BadInput(
                    "no trigger can see the rows of a query; attach it --by capture".to_owned(),
                ));
            }
        };
        if place.query().is_some() && !self.exclude.is_empty() {
            return Err(Problem::BadInput(
                "leave the columns out of the query itself, instead of --exclude".to_owned(),
            ));
        }
        if let Some(both) = self.exclude.iter().find(|name| self.key.contains(name)) {
            return Err(Problem::BadInput(format!(
                "column `{both}` is part of the key, so it cannot be excluded"
            )));
        }
        Ok(Source {
            topic: self.topic.clone(),
            place,
            key: self.key.clone(),
            version: self.row_version.clone(),
            excluded: self.exclude.clone(),
            way: self.by,
        })
    }
}

impl Done {
    fn text(&self) -> String {
        let Source {
            topic, place, way, ..
        } = &self.source;
        let what = match place {
            Place::Table(name) => name.as_str(),
            Place::Query(_) => "the query",
        };
        let mut text = match way {
            Way::Trigger => format!(
                "{what} is attached: what a transaction changes in it is owed once that commits\n\
                 what is there already is sent when it changes, or by: aftercommit capture {topic}"
            ),
            Way::Capture => format!(
                "{what} is attached: a pipeline captures what it changed as its last statement,\n    \
                 select aftercommit.capture('{}')      on PostgreSQL\n    \
                 aftercommit capture {topic}           on either database",
                topic.replace('\'', "''"),
            ),
        };
        for surprise in &self.surprises {
            text.push_str("\nnote: ");
            text.push_str(surprise);
        }
        text
    }
}

fn list(attached: &[Attached]) -> String {
    if attached.is_empty() {
        return "nothing is attached".to_owned();
    }
    let header = [
        "TOPIC", "SOURCE", "KEY", "VERSION", "EXCLUDED", "SEEN BY", "PROBLEM",
    ];
    let row = |Attached { source, problem }: &Attached| {
        [
            source.topic.clone(),
            match &source.place {
                Place::Table(name) => name.clone(),
                Place::Query(text) => shortened(text),
            },
            source.key.join(", "),
            source.version.clone().unwrap_or_else(|| "-".to_owned()),
            source.excluded.join(", "),
            source.way.as_str().to_owned(),
            problem.clone().unwrap_or_default(),
        ]
    };
    table::table(header, attached.iter().map(row)).trim_fmt()
}

/// The beginning of a query, on one line.
fn shortened(query: &str) -> String {
    let words: Vec<&str> = query.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
