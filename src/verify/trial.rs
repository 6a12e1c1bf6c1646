//! One verification under way: runs the pipeline, to its end or to a moment at which it is killed, and looks at the topic.

use std::ffi::OsString;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::error::VerifyError;
use super::look;
use super::picture::Picture;
use super::process::Process;
use super::sessions::{Glimpses, Others, Seen};
use crate::clock::Clock;
use crate::store::topic::Topic;
use crate::store::{Database, StoreError};

/// How often a run is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// What is verified, and how.
pub(crate) struct Plan {
    pub(crate) topic: String,
    /// The program and its arguments.
    pub(crate) pipeline: Vec<OsString>,
    /// A command for the shell that restores the state before the first run.
    pub(crate) reset: Option<String>,
    /// How many runs are killed at most.
    pub(crate) kills: u32,
    /// How long one run may take.
    pub(crate) timeout: Duration,
}

/// Where the verification stands in the world.
pub(crate) struct Surroundings<'a> {
    /// Connects to the database.
    pub(crate) connect: &'a (dyn Fn() -> Result<Database, StoreError> + Sync),
    pub(crate) clock: &'a dyn Clock,
    /// Asks for the end.
    pub(crate) stop: CancellationToken,
    /// Hears what is being done.
    pub(crate) say: &'a (dyn Fn(&str) + Sync),
}

/// A verification under way.
pub(super) struct Trial<'a> {
    pub(super) plan: &'a Plan,
    pub(super) around: Surroundings<'a>,
    pub(super) topic: Topic,
    /// Runs that were begun.
    pub(super) runs: u32,
    kills: u32,
}

/// Why a run was killed when it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Cause {
    /// It had run for so long.
    Time,
    /// It had written something and not committed it.
    Writing,
    /// New outbox rows could be seen, and it went on.
    Visible,
}

/// A kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kill {
    /// How long the run had taken.
    pub(super) after: Duration,
    pub(super) cause: Cause,
    /// What the run was doing in the database.
    pub(super) met: Seen,
}

/// How a run that was to be killed ended.
pub(super) enum Ended {
    Killed {
        kill: Kill,
        /// What could be seen from the kill until nothing of the run was under way any more.
        meanwhile: Vec<Picture>,
    },
    /// It was whole before the moment came; so long it took.
    Whole(Duration),
}

impl<'a> Trial<'a> {
    pub(super) async fn begin(plan: &'a Plan, around: Surroundings<'a>) -> Result<Self, VerifyError> {
        let topic = Topic {
            database: (around.connect)()?,
            name: plan.topic.clone(),
        };
        topic.database.check().await?;
        Ok(Self {
            plan,
            around,
            topic,
            runs: 0,
            kills: 0,
        })
    }

    pub(super) async fn picture(&self) -> Result<Picture, VerifyError> {
        tokio::select! {
            picture = look::picture(&self.topic) => Ok(picture?),
            () = self.around.stop.cancelled() => Err(VerifyError::Interrupted),
        }
    }

    pub(super) fn say(&self, text: &str) {
        (self.around.say)(text);
    }

    /// Runs the pipeline to its end, and returns how long it took.
    pub(super) async fn run(&mut self) -> Result<Duration, VerifyError> {
        match self
            .run_until(Duration::MAX, &[Cause::Writing, Cause::Visible])
            .await?
        {
            Ended::Whole(took) => Ok(took),
            // The time-out comes first.
            Ended::Killed { kill, .. } => Ok(kill.after),
        }
    }

    /// Runs the pipeline and kills it `after` so long, or for another cause that is not among those `spent`, if one comes
    /// first. Returns when nothing of the run is under way in the database any more.
    pub(super) async fn run_until(&mut self, after: Duration, spent: &[Cause]) -> Result<Ended, VerifyError> {
        let others = Others::of(&self.topic).await?;
        let mark = self.topic.mark().await?;
        self.runs += 1;
        let mut process = self.start(&self.plan.pipeline)?;
        let cut = match self.watch(&mut process, &others, mark, after, spent).await {
            Ok(Watched::Ended(status, took)) if status.success() => return Ok(Ended::Whole(took)),
            Ok(Watched::Ended(status, _)) => {
                return Err(failed("the pipeline", status, self.after_kills(), process).await);
            }
            Ok(Watched::Cut(cut)) => Ok(cut),
            Err(error) => Err(error),
        };
        // Whatever it was: nothing goes on alone. What can be seen at this moment is read while it is being killed: the server
        // need not wait for that.
        let mut glimpses = Glimpses::since(mark);
        let (killed, looked) = tokio::join!(process.kill(), glimpses.look(self));
        killed.map_err(|source| unrunnable(&self.plan.pipeline, source))?;
        match cut? {
            Cut::Moment(kill) => {
                looked?;
                self.kills += 1;
                others.until_gone(&self.topic, self, &mut glimpses).await?;
                Ok(Ended::Killed {
                    kill,
                    meanwhile: glimpses.pictures,
                })
            }
            Cut::Late => Err(VerifyError::TimedOut {
                what: "the pipeline",
                timeout: self.plan.timeout,
                output: process.output().await,
            }),
        }
    }

    /// Restores the state before the first run, if there is a command for that. Nothing is connected to the database
    /// meanwhile: it may be dropped and made anew.
    pub(super) async fn reset(&mut self) -> Result<(), VerifyError> {
        let Some(reset) = &self.plan.reset else {
            return Ok(());
        };
        self.topic.database.close().await;
        let command = ["sh", "-c", reset].map(OsString::from);
        let mut process = self.start(&command)?;
        let ended = tokio::select! {
            ended = process.ended() => Some(ended),
            () = tokio::time::sleep(self.plan.timeout) => None,
            () = self.around.stop.cancelled() => None,
        };
        let Some(ended) = ended else {
            let killed = process.kill().await;
            killed.map_err(|source| unrunnable(&command, source))?;
            self.go_on()?;
            return Err(VerifyError::TimedOut {
                what: "--reset",
                timeout: self.plan.timeout,
                output: process.output().await,
            });
        };
        let status = ended.map_err(|source| unrunnable(&command, source))?;
        if !status.success() {
            return Err(failed("--reset", status, String::new(), process).await);
        }
        self.topic.database = (self.around.connect)()?;
        self.topic.database.check().await?;
        Ok(())
    }

    /// An error once somebody has asked for the end.
    pub(super) fn go_on(&self) -> Result<(), VerifyError> {
        if self.around.stop.is_cancelled() {
            return Err(VerifyError::Interrupted);
        }
        Ok(())
    }

    /// Waits for the next look.
    pub(super) async fn pause(&self) -> Result<(), VerifyError> {
        tokio::select! {
            () = tokio::time::sleep(LOOK) => Ok(()),
            () = self.around.stop.cancelled() => Err(VerifyError::Interrupted),
        }
    }

    async fn watch(
        &self,
        process: &mut Process,
        others: &Others,
        mark: i64,
        after: Duration,
        spent: &[Cause],
    ) -> Result<Watched, VerifyError> {
        let start = self.around.clock.monotonic();
        loop {
            let ended = tokio::select! {
                biased;
                ended = process.ended() => Some(ended),
                paused = self.pause() => { paused?; None }
            };
            let took = self.around.clock.monotonic().saturating_sub(start);
            if let Some(ended) = ended {
                let status = ended.map_err(|source| unrunnable(&self.plan.pipeline, source))?;
                return Ok(Watched::Ended(status, took));
            }
            if took >= self.plan.timeout {
                return Ok(Watched::Cut(Cut::Late));
            }
            let met = others.seen(&self.topic, process.group()).await?;
            let visible = self.topic.mark().await? > mark;
            let causes = [
                (Cause::Visible, visible),
                (Cause::Writing, met == Seen::Writing),
                (Cause::Time, took >= after),
            ];
            let cause = causes
                .into_iter()
                .find(|(cause, is_there)| *is_there && !spent.contains(cause));
            if let Some((cause, _)) = cause
                && !process.has_ended()
            {
                return Ok(Watched::Cut(Cut::Moment(Kill {
                    after: took,
                    cause,
                    met,
                })));
            }
        }
    }

    fn start(&self, command: &[OsString]) -> Result<Process, VerifyError> {
        self.go_on()?;
        Process::start(command).map_err(|source| unrunnable(command, source))
    }

    /// What to say of a failure that a kill may have brought about.
    fn after_kills(&self) -> String {
        match self.kills {
            0 => String::new(),
            1 => " in the run after one that was killed".to_owned(),
            kills => format!(" in the run after {kills} that were killed"),
        }
    }
}

/// What came first in a run.
enum Watched {
    Ended(ExitStatus, Duration),
    Cut(Cut),
}

/// Why a run does not go on.
enum Cut {
    Moment(Kill),
    Late,
}

async fn failed(what: &'static str, status: ExitStatus, after: String, process: Process) -> VerifyError {
    VerifyError::Failed {
        what,
        status: status.to_string(),
        after,
        output: process.output().await,
    }
}

fn unrunnable(command: &[OsString], source: io::Error) -> VerifyError {
    let command = command
        .first()
        .map(|program| program.to_string_lossy().into_owned());
    VerifyError::Command {
        command: command.unwrap_or_default(),
        source,
    }
}
