//! `aftercommit apply`: topics and routes from the configuration into the database, and backfill of a route.
//!
//! The daemon applies them too when it starts; this verb is for before that, and for backfill.

use serde::Serialize;

use super::database;
use super::exit::{Exit, Problem};
use super::output::OutputArgs;
use super::settings::Settings;
use super::words::counted;
use crate::config::TopicDoubt;
use crate::relay::assemble;
use crate::store::{Applied, Backfill, Plan, Route};

#[derive(clap::Args)]
pub(super) struct Apply {
    /// Also make rows owed to a route that were written before the route was there: the newest of each row key, or all
    #[arg(long, num_args = 2, value_names = ["TOPIC:DESTINATION", "newest|all"])]
    backfill: Vec<String>,

    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Serialize)]
struct Report {
    topics: usize,
    routes: usize,
    added: Vec<String>,
    removed: Vec<String>,
    backfilled: Vec<Backfilled>,
    /// What the configuration was probably not meant to say.
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct Backfilled {
    route: String,
    rows: u64,
}

pub(super) async fn run(verb: &Apply, settings: &Settings) -> anyhow::Result<Exit> {
    let (config, store) = database::open(settings).await?;
    let plan = assemble::plan(&config);
    let backfills = verb.backfills(&plan)?;
    let (topics, routes) = (plan.topics.len(), plan.routes.len());
    let Applied { added, removed } = store.apply(plan).await?;
    let mut report = Report {
        topics,
        routes,
        added: added.iter().map(shown).collect(),
        removed: removed.iter().map(shown).collect(),
        backfilled: Vec::new(),
        warnings: config.doubts().iter().map(warning).collect(),
    };
    for (route, which) in &backfills {
        report.backfilled.push(Backfilled {
            route: shown(route),
            rows: store.backfill(route, *which).await?,
        });
    }
    verb.output.open().print(&report, Report::text)?;
    Ok(Exit::Done)
}

impl Apply {
    fn backfills(&self, plan: &Plan) -> Result<Vec<(Route, Backfill)>, Problem> {
        let read = |pair: &[String]| {
            let [name, which] = pair else {
                return Err(Problem::BadInput(
                    "--backfill takes TOPIC:DESTINATION and newest or all".to_owned(),
                ));
            };
            // A destination's name has no colon; a topic's may.
            let route = name.rsplit_once(':').map(|(topic, destination)| Route {
                topic: topic.to_owned(),
                destination: destination.to_owned(),
            });
            let route = route.filter(|route| plan.routes.contains(route)).ok_or_else(|| {
                Problem::BadInput(format!(
                    "the configuration has no route `{name}`; write TOPIC:DESTINATION of one it has"
                ))
            })?;
            let which = which.parse().map_err(|_| {
                Problem::BadInput(format!("`{which}` says not which rows; write newest or all"))
            })?;
            Ok((route, which))
        };
        self.backfill.chunks(2).map(read).collect()
    }
}

impl Report {
    fn text(&self) -> String {
        let mut lines = vec![format!(
            "{}, {}",
            counted(self.topics, "topic", "topics"),
            counted(self.routes, "route", "routes")
        )];
        lines.extend(self.added.iter().map(|route| format!("+ {route}")));
        lines.extend(self.removed.iter().map(|route| format!("- {route}")));
        let backfilled = self.backfilled.iter();
        lines.extend(backfilled.map(|done| {
            let rows = counted(done.rows, "row is", "rows are");
            format!("{}: {rows} owed now", done.route)
        }));
        lines.extend(self.warnings.iter().map(|warning| format!("warning: {warning}")));
        lines.join("\n")
    }
}

fn warning(doubt: &TopicDoubt) -> String {
    format!("destination `{}`: {doubt}", doubt.destination)
}

fn shown(route: &Route) -> String {
    format!("{}:{}", route.topic, route.destination)
}
