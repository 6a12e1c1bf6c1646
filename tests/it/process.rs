//! The program as a process: starts it, hears what it says, sends it signals. Knows nothing of databases and receivers.

use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

/// Nothing in a story takes as long.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// The program while it runs. It is killed when the value is dropped.
pub(crate) struct Process {
    child: Child,
    lines: UnboundedReceiver<String>,
    said: Vec<String>,
    /// Reads on all the time, so that the program never waits for somebody to take what it says.
    _listening: JoinSet<()>,
}

impl Process {
    /// Starts the program in `folder`, with these arguments and environment variables.
    pub(crate) fn start(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_aftercommit"))
            .args(arguments)
            .current_dir(folder)
            .env_remove("AFTERCOMMIT_CONFIG")
            .env_remove("AFTERCOMMIT_DATABASE_URL")
            // A relay says something with each heartbeat.
            .env("AFTERCOMMIT_LOG", "info,aftercommit::relay=debug")
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let (sender, lines) = unbounded_channel();
        let mut listening = JoinSet::new();
        listening.spawn(hear(child.stdout.take().unwrap(), sender.clone()));
        listening.spawn(hear(child.stderr.take().unwrap(), sender));
        Self {
            child,
            lines,
            said: Vec::new(),
            _listening: listening,
        }
    }

    /// Waits for the next line that holds `part`, of output or log.
    pub(crate) async fn says(&mut self, part: &str) -> String {
        loop {
            let line = self.line(part).await;
            if line.contains(part) {
                return line;
            }
        }
    }

    /// Waits for the next line; `awaited` is what the story hopes for.
    pub(crate) async fn line(&mut self, awaited: &str) -> String {
        let heard = tokio::time::timeout(PATIENCE, self.lines.recv()).await;
        let Ok(Some(line)) = heard else {
            panic!(
                "{awaited}: it has ended or says nothing any more: {:#?}",
                self.said
            )
        };
        self.said.push(line.clone());
        line
    }

    /// Sends a signal, such as `TERM`.
    pub(crate) async fn signal(&self, name: &str) {
        let id = self.child.id().expect("it has ended already").to_string();
        let mut kill = Command::new("kill");
        let sent = kill.args(["-s", name, &id]).status().await.unwrap();
        assert!(sent.success());
    }

    /// Waits until it has ended.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        let ended = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        let Ok(status) = ended else {
            panic!("it has not ended in {PATIENCE:?}: {:#?}", self.log())
        };
        status.unwrap()
    }

    /// What it has said so far.
    pub(crate) fn log(&mut self) -> &[String] {
        while let Ok(line) = self.lines.try_recv() {
            self.said.push(line);
        }
        &self.said
    }
}

async fn hear(from: impl AsyncRead + Unpin, lines: UnboundedSender<String>) {
    let mut from = BufReader::new(from).lines();
    while let Ok(Some(line)) = from.next_line().await {
        // Nobody hears it once the story has ended.
        let _ = lines.send(line);
    }
}
