//! The command line: one file a verb.
//!
//! A verb reads its options, asks the floors below, and prints. What is decided is decided there. Errors travel up to
//! `exit`, which knows the exit code of each.

mod act;
mod apply;
mod attach;
mod audit;
mod cancel;
mod capture;
mod check;
mod config;
mod database;
mod demo;
mod doctor;
mod enqueue;
mod exit;
mod indented;
mod init;
mod key;
mod list;
mod mark_delivered;
mod migrate;
mod mock;
mod output;
mod pause;
mod preview;
mod progress;
mod reload;
mod replay;
mod replay_text;
mod replays;
mod retry_now;
mod run;
mod selection;
mod settings;
mod settling;
mod show;
mod signals;
mod skip_head;
mod status;
mod table;
mod test;
mod times;
mod token;
mod trouble;
mod verify;
mod words;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tokio::runtime::{Builder, Runtime};

pub use exit::Exit;

use exit::EXIT_CODES;
use settings::Settings;

/// Tells the outside world what your pipeline has committed, exactly once in effect
#[derive(Parser)]
#[command(name = "aftercommit", version, after_help = EXIT_CODES)]
struct Cli {
    #[command(flatten)]
    settings: Settings,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// See it work: pipeline, relay and a receiver that misbehaves, in one process
    #[command(
        after_help = "Examples:\n  aftercommit demo\n  aftercommit demo --crm\n  aftercommit demo --rows 100000 --database postgres://me@localhost/empty"
    )]
    Demo(demo::Demo),

    /// Write a commented configuration to start with
    #[command(after_help = "Example:\n  aftercommit init")]
    Init(init::Init),

    /// Make the tables, or bring them up to date
    #[command(after_help = "Example:\n  aftercommit migrate --database postgres://me@host/base")]
    Migrate(migrate::Migrate),

    /// Put topics and routes of the configuration into the database
    #[command(
        after_help = "Examples:\n  aftercommit apply\n  aftercommit apply --backfill customers:crm newest"
    )]
    Apply(apply::Apply),

    /// Look at receivers before a row is sent: fields, unique ids, access
    #[command(after_help = "Nothing is written. Fails if rows would be refused.\n\n\
                            Examples:\n  aftercommit check\n  aftercommit check crm --json")]
    Check(check::Check),

    /// Show the requests that the next owed rows would send, secrets left out
    #[command(after_help = "Nothing is sent, not even a login, and nothing is written.\n\n\
                            Examples:\n  aftercommit preview crm\n  aftercommit preview crm --rows 200 --json")]
    Preview(preview::PreviewVerb),

    /// Deliver what is committed, until the process is asked to end
    #[command(
        after_help = "SIGHUP reads the configuration again; SIGTERM and SIGINT end after what is in flight, a second one at once.\n\n\
                            Example:\n  aftercommit run --config /etc/aftercommit.toml"
    )]
    Run(run::Run),

    /// Put rows from NDJSON, CSV or Parquet into the outbox, all in one transaction or in batches
    #[command(
        after_help = "Examples:\n  aftercommit enqueue --topic customers --key id --version updated_at customers.ndjson\n  \
                      psql -c '\\copy orders to stdout csv header' | aftercommit enqueue --topic orders --op event --key id --format csv"
    )]
    Enqueue(enqueue::Enqueue),

    /// Let the changed rows of a table reach the outbox by themselves
    #[command(
        after_help = "What is in the table already is not sent before it changes; `capture` sends it.\n\n\
                            Examples:\n  aftercommit attach public.dim_customers --topic customers --key customer_id --version updated_at --exclude loaded_at\n  \
                      aftercommit attach marts.orders --topic orders --key region,order_id --by capture\n  \
                      aftercommit attach --query 'select id, name from crm.account where active' --topic accounts --key id --by capture"
    )]
    Attach(attach::Attach),

    /// Take the triggers of a topic's table down
    #[command(after_help = "Example:\n  aftercommit detach customers")]
    Detach(attach::Detach),

    /// List tables that are attached, and what is wrong with them
    #[command(after_help = "Example:\n  aftercommit attached")]
    Attached(attach::AttachedVerb),

    /// Compare an attached table with what was admitted, and admit what differs
    #[command(
        after_help = "On PostgreSQL a pipeline does the same in its own transaction: select aftercommit.capture('customers').\n\n\
                            Examples:\n  aftercommit capture customers\n  \
                      aftercommit capture events --partition \"event_date = '2025-05-18'\"\n  \
                      aftercommit capture customers --deletes --max-delete-ratio 0.5"
    )]
    Capture(capture::CaptureVerb),

    /// Run a pipeline of yours again, killed half way, and out of order: does it stay correct?
    #[command(after_help = verify::AFTER_HELP)]
    Verify(verify::Verify),

    /// Show how destinations and relays stand
    #[command(after_help = "Examples:\n  aftercommit status\n  aftercommit status --watch --interval 5s")]
    Status(status::StatusVerb),

    /// Show what is dead or uncertain, by destination and reason
    #[command(after_help = "Example:\n  aftercommit trouble")]
    Trouble(trouble::TroubleVerb),

    /// Why does this row not move?
    #[command(
        after_help = "Examples:\n  aftercommit doctor 4711\n  aftercommit doctor 4711:crm --json\n  \
                      aftercommit doctor --topic orders --row-key 10248"
    )]
    Doctor(doctor::Doctor),

    /// List deliveries, the newest row first
    #[command(
        after_help = "Examples:\n  aftercommit list --state dead,uncertain\n  aftercommit list --topic orders --row-key 10248 --json"
    )]
    List(list::List),

    /// Show a delivery: its row, its key, and every attempt
    #[command(after_help = "Examples:\n  aftercommit show 4711\n  aftercommit show 4711:crm --json")]
    Show(show::Show),

    /// Make deliveries that have ended due again, or due where a destination never had them
    #[command(
        after_help = "Examples:\n  aftercommit replay --destination crm --state dead --since 2h --dry-run\n  \
                      aftercommit replay --destination crm --state dead --since 2h --reason 'crm is back' --wait\n  \
                      aftercommit replay 4711:crm --key new --reason 'customer asked for a second copy'\n  \
                      aftercommit replay --missing --destination erp --rate 500 --reason 'erp is new'"
    )]
    Replay(replay::ReplayVerb),

    /// List replays, the newest first
    #[command(after_help = "Example:\n  aftercommit replays --state running")]
    Replays(replays::Replays),

    /// Have deliveries sent at once that wait for a later time
    #[command(
        after_help = "What a receiver asked one row to wait is cut short, too. A destination that is paused, or was asked to wait as a whole, waits on.\n\n\
                            Examples:\n  aftercommit retry-now 4711:crm --reason 'the field is there now'\n  \
                      aftercommit retry-now --destination crm --reason 'crm is back'"
    )]
    RetryNow(retry_now::RetryNow),

    /// Say of deliveries that are uncertain or dead that the receiver took them
    #[command(
        after_help = "They are delivered from then on, and let go of their row keys. Nothing is sent.\n\n\
                            Example:\n  aftercommit mark-delivered 4711:crm --evidence 'their order 99' --reason 'their log shows it'"
    )]
    MarkDelivered(mark_delivered::MarkDelivered),

    /// End what stands first of a blocked row key, so that the next one goes on
    #[command(
        after_help = "Name the delivery that does not move; without --head it is told what stands before it.\n\n\
                            Examples:\n  aftercommit skip-head 4712:crm --dry-run\n  \
                      aftercommit skip-head 4712:crm --head 4711 --reason '4711 can never be taken'"
    )]
    SkipHead(skip_head::SkipHead),

    /// End deliveries that are owed or uncertain, or a replay
    #[command(
        after_help = "Examples:\n  aftercommit cancel 4711:crm --reason 'test row'\n  aftercommit cancel --replay 3 --reason 'wrong filter'"
    )]
    Cancel(cancel::Cancel),

    /// Begin nothing more for a destination, or stop a replay, until it is resumed
    #[command(
        after_help = "Examples:\n  aftercommit pause crm --reason 'maintenance until noon'\n  aftercommit pause --replay 3 --reason 'too much at noon'"
    )]
    Pause(pause::PauseVerb),

    /// Let a paused destination or replay go on
    #[command(
        after_help = "Examples:\n  aftercommit resume crm --reason 'maintenance is over'\n  aftercommit resume --replay 3 --reason 'the night is quiet'"
    )]
    Resume(pause::PauseVerb),

    /// Try a destination out: a signed ping, or a login and a look at a CRM
    #[command(
        after_help = "A webhook gets a request of the topic aftercommit.ping, signed and with its headers, that is about no row. \
                      Fails if it is not taken.\n\nExample:\n  aftercommit test hook --reason 'is it back?'"
    )]
    Test(test::Test),

    /// Make, list and revoke tokens for the API and the page
    #[command(
        after_help = "Examples:\n  aftercommit token create ada --role operator\n  aftercommit token create grafana --role viewer --expires 90d\n  aftercommit token revoke ada"
    )]
    Token(token::TokenVerb),

    /// List who did what, from where and why, the newest first
    #[command(
        after_help = "Examples:\n  aftercommit audit\n  aftercommit audit --subject crm --action pause"
    )]
    Audit(audit::AuditVerb),

    /// Run a receiver to try with
    Mock(mock::Mock),

    /// Print the configuration in effect, or every option with its default
    #[command(after_help = "Examples:\n  aftercommit config\n  aftercommit config --defaults")]
    Config(config::ConfigVerb),

    /// Print canonical form, row hash and idempotency key of a row
    #[command(
        after_help = "Example:\n  aftercommit key --namespace prod --destination crm --topic customers --row-key 42 \\\n      --op upsert --version u:-,g:1 --payload '{\"id\": 42}'"
    )]
    Key(key::KeyVerb),
}

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    let Cli { settings, verb } = Cli::parse();
    let outcome = match runtime() {
        Ok(runtime) => {
            let outcome = runtime.block_on(run(verb, &settings));
            // A thread may still wait for standard input; what was to be kept is committed.
            runtime.shutdown_background();
            outcome
        }
        Err(error) => Err(error.into()),
    };
    match outcome {
        Ok(exit) => exit.into(),
        Err(error) => exit::report(&error).into(),
    }
}

/// What every verb runs on; benchmarks run the relay on the same.
///
/// Half of the cores, one at least: a thread delivers tens of thousands of rows a second, and a second one costs a tenth more
/// CPU a row for passing work around. Even the readiness to pass it costs a twentieth, so a lone thread is without it.
/// `TOKIO_WORKER_THREADS` in the environment says otherwise.
pub fn runtime() -> std::io::Result<Runtime> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let asked = std::env::var("TOKIO_WORKER_THREADS");
    let threads = asked.ok().and_then(|threads| threads.parse().ok());
    match threads.unwrap_or(cores / 2) {
        0 | 1 => Builder::new_current_thread().enable_all().build(),
        threads => Builder::new_multi_thread()
            .worker_threads(threads)
            .enable_all()
            .build(),
    }
}

async fn run(verb: Verb, settings: &Settings) -> anyhow::Result<Exit> {
    match verb {
        Verb::Demo(verb) => demo::run(&verb, settings).await,
        Verb::Init(verb) => init::run(&verb, settings),
        Verb::Migrate(verb) => migrate::run(&verb, settings).await,
        Verb::Apply(verb) => apply::run(&verb, settings).await,
        Verb::Check(verb) => check::run(&verb, settings).await,
        Verb::Preview(verb) => preview::run(&verb, settings).await,
        Verb::Run(verb) => run::run(&verb, settings).await,
        Verb::Enqueue(verb) => enqueue::run(verb, settings).await,
        Verb::Attach(verb) => attach::attach(verb, settings).await,
        Verb::Detach(verb) => attach::detach(&verb, settings).await,
        Verb::Attached(verb) => attach::attached(&verb, settings).await,
        Verb::Capture(verb) => capture::run(verb, settings).await,
        Verb::Verify(verb) => verify::run(verb, settings).await,
        Verb::Status(verb) => status::run(&verb, settings).await,
        Verb::Trouble(verb) => trouble::run(&verb, settings).await,
        Verb::Doctor(verb) => doctor::run(&verb, settings).await,
        Verb::List(verb) => list::run(verb, settings).await,
        Verb::Show(verb) => show::run(&verb, settings).await,
        Verb::Replay(verb) => replay::run(&verb, settings).await,
        Verb::Replays(verb) => replays::run(&verb, settings).await,
        Verb::RetryNow(verb) => retry_now::run(&verb, settings).await,
        Verb::MarkDelivered(verb) => mark_delivered::run(&verb, settings).await,
        Verb::SkipHead(verb) => skip_head::run(&verb, settings).await,
        Verb::Cancel(verb) => cancel::run(&verb, settings).await,
        Verb::Pause(verb) => pause::pause(&verb, settings).await,
        Verb::Resume(verb) => pause::resume(&verb, settings).await,
        Verb::Test(verb) => test::run(&verb, settings).await,
        Verb::Token(verb) => token::run(verb, settings).await,
        Verb::Audit(verb) => audit::run(verb, settings).await,
        Verb::Mock(verb) => mock::run(verb).await,
        Verb::Config(verb) => config::run(&verb, settings),
        Verb::Key(verb) => key::run(verb),
    }
}
