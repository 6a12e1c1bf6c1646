//! `aftercommit status`: how things stand, for each destination and for the whole.

mod watch;

use super::database::{self, Desk};
use super::exit::Exit;
use super::output::OutputArgs;
use super::settings::Settings;
use super::words::counted;
use super::{table, times};
use crate::core::time::Timestamp;
use crate::store::NotedUsage;
use crate::store::admin::{DestinationStatus, RelayStatus, Settled, Status, UnroutedTopic};
use watch::Interval;

#[derive(clap::Args)]
pub(super) struct StatusVerb {
    /// Show it again and again, until the process is asked to end
    #[arg(long)]
    watch: bool,

    /// How often it is shown
    #[arg(long, value_name = "SPAN", default_value = "2s", requires = "watch")]
    interval: Interval,

    #[command(flatten)]
    output: OutputArgs,
}

pub(super) async fn run(verb: &StatusVerb, settings: &Settings) -> anyhow::Result<Exit> {
    let Desk {
        store, configured, ..
    } = database::desk(settings).await?;
    let mut output = verb.output.open();
    if verb.watch {
        return watch::run(&store, &configured, verb.interval, &mut output).await;
    }
    let status = store.status(&configured).await?;
    output.print(&status, |status| text(status, &Configuration::of(&configured)))?;
    Ok(Exit::Done)
}

/// Whether the configuration says which destinations there should be.
enum Configuration {
    Silent,
    Known,
}

impl Configuration {
    fn of(configured: &[String]) -> Self {
        if configured.is_empty() {
            Self::Silent
        } else {
            Self::Known
        }
    }
}

fn text(status: &Status, configuration: &Configuration) -> String {
    let mut parts = vec![format!(
        "{} UTC, schema version {}, namespace {}",
        times::utc(status.now),
        status
            .schema_version
            .map_or_else(|| "-".to_owned(), |version| version.to_string()),
        status.namespace
    )];
    parts.push(destinations(status, configuration));
    parts.extend(
        status
            .destinations
            .iter()
            .filter_map(|destination| remark(destination, configuration)),
    );
    let usages = status
        .destinations
        .iter()
        .filter_map(|destination| Some((destination.name.as_str(), destination.usage.as_ref()?)));
    parts.extend(usages.map(|(name, noted)| usage(name, noted, status.now)));
    if status.unrouted > 0 {
        let topics: Vec<String> = status.unrouted_topics.iter().map(unrouted).collect();
        parts.push(format!(
            "{} unrouted, by topic: {}; name the topic in a destination",
            counted(status.unrouted, "row is", "rows are"),
            topics.join(", ")
        ));
    }
    parts.extend(trouble(&status.destinations));
    parts.push(relays(&status.relays, status.now));
    parts.join("\n\n")
}

/// `orders (3)`; `orders (100000+)` where there may be more.
fn unrouted(UnroutedTopic { topic, rows, exact }: &UnroutedTopic) -> String {
    let more = if *exact { "" } else { "+" };
    format!("{} ({rows}{more})", table::visible(topic))
}

fn destinations(status: &Status, configuration: &Configuration) -> String {
    if status.destinations.is_empty() {
        return "no destinations; name one in the configuration".to_owned();
    }
    let header = [
        "DESTINATION",
        "STATE",
        "OWED",
        "DUE",
        "IN FLIGHT",
        "OLDEST",
        "DELIVERED",
        "DEAD",
        "UNCERTAIN",
        "SUPERSEDED",
        "CANCELLED",
    ];
    let row = |destination: &DestinationStatus| {
        let settled = &destination.settled;
        let oldest = destination.oldest_owed_at;
        [
            destination.name.clone(),
            state(destination, configuration).to_owned(),
            destination.owed.to_string(),
            destination.due.to_string(),
            destination.in_flight.to_string(),
            oldest.map_or_else(|| "-".to_owned(), |oldest| times::relative(oldest, status.now)),
            at_least(settled.delivered, settled),
            settled.dead.to_string(),
            settled.uncertain.to_string(),
            at_least(settled.superseded, settled),
            at_least(settled.cancelled, settled),
        ]
    };
    let mut table = table::table(header, status.destinations.iter().map(row));
    table::align_right(&mut table, [2, 3, 4, 6, 7, 8, 9, 10]);
    table.trim_fmt()
}

/// A count of what is settled; where only the newest are counted, with a sign that there may be more.
fn at_least(count: u64, settled: &Settled) -> String {
    if settled.exact {
        count.to_string()
    } else {
        format!("{count}+")
    }
}

fn state(destination: &DestinationStatus, configuration: &Configuration) -> &'static str {
    let is_owned = destination.shards.iter().any(|shard| shard.owner.is_some());
    match (configuration, destination) {
        (_, DestinationStatus { pause: Some(_), .. }) => "paused",
        (
            Configuration::Known,
            DestinationStatus {
                configured: false, ..
            },
        ) => "held",
        (
            _,
            DestinationStatus {
                failing: Some(failing),
                ..
            },
        ) if is_owned => match failing.breaker_opened_at {
            Some(_) => "breaker open",
            None => "failing",
        },
        _ if is_owned => "at work",
        _ => "no relay",
    }
}

/// What a person should know of a destination beyond its numbers.
fn remark(destination: &DestinationStatus, configuration: &Configuration) -> Option<String> {
    let name = &destination.name;
    if let Some(pause) = &destination.pause {
        return Some(format!(
            "{name} is paused since {} by {}: {}",
            times::utc(pause.at),
            table::visible(&pause.by),
            table::visible(&pause.reason)
        ));
    }
    if let Some(failing) = &destination.failing {
        let breaker = failing.breaker_opened_at.map_or_else(String::new, |opened| {
            format!(
                "; its breaker has been open since {} and looks with single rows whether it is back",
                times::utc(opened)
            )
        });
        return Some(format!(
            "{name} has failed since {}: {}{breaker}; what was owed then dies from {} on",
            times::utc(failing.since),
            table::visible(&failing.detail),
            times::utc(failing.dying_from)
        ));
    }
    match configuration {
        Configuration::Known if !destination.configured && destination.owed > 0 => Some(format!(
            "{name} is not in the configuration: {} held; configure it again, or cancel what it is owed",
            counted(destination.owed, "delivery is", "deliveries are")
        )),
        _ => None,
    }
}

/// How much of its daily calls a receiver says are used.
fn usage(name: &str, NotedUsage { usage, heard_at }: &NotedUsage, now: Timestamp) -> String {
    let end = match usage.reserve {
        0 => String::new(),
        reserve if usage.reserve_is_reached() => {
            format!(
                "; nothing is sent while fewer than {reserve} are left, and every quarter of an hour one call looks again"
            )
        }
        reserve => format!("; it stops once fewer than {reserve} are left"),
    };
    format!(
        "{name} says that {} of {} daily calls are used ({}){end}",
        usage.used,
        usage.allowed,
        times::relative(*heard_at, now)
    )
}

/// That somebody should look at what is dead or uncertain, if anything is.
fn trouble(destinations: &[DestinationStatus]) -> Option<String> {
    let dead: u64 = destinations.iter().map(|one| one.settled.dead).sum();
    let uncertain: u64 = destinations.iter().map(|one| one.settled.uncertain).sum();
    (dead + uncertain > 0).then(|| {
        format!("{dead} dead and {uncertain} uncertain: `aftercommit trouble` says why, and what to do")
    })
}

fn relays(relays: &[RelayStatus], now: Timestamp) -> String {
    if relays.is_empty() {
        return "no relay has been heard of; start one with `aftercommit run`".to_owned();
    }
    let row = |relay: &RelayStatus| {
        [
            relay.id.clone(),
            relay.version.clone(),
            times::at(relay.started_at, now),
            times::relative(relay.beat_at, now),
            if relay.alive { "alive" } else { "silent" }.to_owned(),
        ]
    };
    table::table(
        ["RELAY", "VERSION", "STARTED", "HEARD OF", ""],
        relays.iter().map(row),
    )
    .trim_fmt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::limit::usage::Usage;
    use crate::store::Failing;
    use crate::store::admin::ShardStatus;

    fn failing(breaker_opened_at: Option<Timestamp>) -> DestinationStatus {
        DestinationStatus {
            name: "crm".to_owned(),
            configured: true,
            pause: None,
            failing: Some(Failing {
                since: Timestamp::from_micros(0),
                breaker_opened_at,
                dying_from: Timestamp::from_micros(3_600_000_000),
                detail: "HTTP 502".to_owned(),
            }),
            usage: None,
            owed: 7,
            due: 7,
            oldest_owed_at: None,
            in_flight: 0,
            settled: Settled::default(),
            shards: vec![ShardStatus {
                shard: 0,
                owner: Some("r".to_owned()),
                epoch: 1,
            }],
        }
    }

    #[test]
    fn a_failing_destination_says_since_when_why_and_when_its_rows_die() {
        let remark = remark(&failing(None), &Configuration::Known).unwrap();
        assert_eq!(
            remark,
            "crm has failed since 1970-01-01 00:00:00: HTTP 502; what was owed then dies from 1970-01-01 01:00:00 on"
        );
        assert_eq!(state(&failing(None), &Configuration::Known), "failing");
    }

    #[test]
    fn what_is_used_of_the_daily_calls_is_said_with_its_age_and_where_it_stops() {
        let said = |used, reserved| {
            let noted = NotedUsage {
                usage: Usage::reserving(used, 5_000, reserved),
                heard_at: Timestamp::from_micros(0),
            };
            usage("crm", &noted, Timestamp::from_micros(12_000_000))
        };
        let used = "crm says that 18 of 5000 daily calls are used (12s ago)";
        assert_eq!(said(18, 0.0), used);
        assert_eq!(
            said(18, 0.05),
            format!("{used}; it stops once fewer than 250 are left")
        );
        assert!(said(4_751, 0.05).contains("; nothing is sent while fewer than 250 are left, "));
    }

    #[test]
    fn rows_that_were_not_all_counted_are_said_to_be_more() {
        let said = |exact| {
            let topic = "orders".to_owned();
            unrouted(&UnroutedTopic {
                topic,
                rows: 100_000,
                exact,
            })
        };
        assert_eq!([true, false].map(said), ["orders (100000)", "orders (100000+)"]);
    }

    #[test]
    fn an_open_breaker_is_named() {
        let open = failing(Some(Timestamp::from_micros(60_000_000)));
        let remark = remark(&open, &Configuration::Known).unwrap();
        assert!(
            remark.contains("its breaker has been open since 1970-01-01 00:01:00"),
            "{remark}"
        );
        assert_eq!(state(&open, &Configuration::Known), "breaker open");
    }
}
