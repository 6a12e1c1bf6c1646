//! A command of the user's as a process: started in a group of its own, watched, killed with all that it started.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

/// Bytes of output that are kept, the newest.
const KEPT_OUTPUT: usize = 64 << 10;
/// How long output is waited for after the command has ended: what it left running can hold it open for ever.
const LAST_OUTPUT: Duration = Duration::from_millis(200);

/// A running command. Whoever drops it without [`Process::kill`] or [`Process::ended`] leaves what it started behind.
pub(super) struct Process {
    child: Child,
    /// Its process group, which is named by its id.
    group: u32,
    output: Arc<Mutex<VecDeque<u8>>>,
    readers: JoinSet<()>,
}

impl Process {
    /// Starts `command`, the program and its arguments, without standard input.
    pub(super) fn start(command: &[OsString]) -> io::Result<Self> {
        let (program, arguments) = command
            .split_first()
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the command is empty"))?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let output = Arc::default();
        let mut readers = JoinSet::new();
        if let Some(stdout) = child.stdout.take() {
            readers.spawn(keep(stdout, Arc::clone(&output)));
        }
        if let Some(stderr) = child.stderr.take() {
            readers.spawn(keep(stderr, Arc::clone(&output)));
        }
        let group = child.id().ok_or(io::ErrorKind::NotFound)?;
        Ok(Self {
            child,
            group,
            output,
            readers,
        })
    }

    /// Its process group, with all that it started.
    pub(super) fn group(&self) -> u32 {
        self.group
    }

    /// Resolves when the command has ended.
    pub(super) async fn ended(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Whether the command has ended by now.
    pub(super) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// SIGKILL to the command and to all that it started, at once; returns when the command is dead.
    pub(super) async fn kill(&mut self) -> io::Result<()> {
        // Only a shell is everywhere that can signal a group. The command is not waited for before: its id, which is the
        // group's name, is not given to anybody else until then.
        let kill = format!("kill -s KILL -- -{}", self.group);
        let mut shell = Command::new("sh");
        let shell = shell
            .args(["-c", &kill])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        shell.status().await?;
        // Where the shell could not, at least the command itself.
        self.child.kill().await
    }

    /// The newest of what it has said.
    pub(super) async fn output(mut self) -> String {
        let all = async { while self.readers.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(LAST_OUTPUT, all).await;
        let output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = output.iter().copied().collect();
        String::from_utf8_lossy(&bytes).trim_end().to_owned()
    }
}

async fn keep(mut from: impl AsyncRead + Unpin, output: Arc<Mutex<VecDeque<u8>>>) {
    let mut buffer = [0; 4_096];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
        output.extend(&buffer[..count]);
        let surplus = output.len().saturating_sub(KEPT_OUTPUT);
        output.drain(..surplus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Process {
        Process::start(&["sh", "-c", script].map(OsString::from)).unwrap()
    }

    #[tokio::test]
    async fn what_a_command_says_is_kept_its_end_at_least() {
        let mut process = shell("seq 1 20000; echo last >&2; exit 3");
        assert_eq!(process.ended().await.unwrap().code(), Some(3));
        let output = process.output().await;
        assert!(output.contains("20000") && output.contains("last"), "{output}");
        assert!(output.len() <= KEPT_OUTPUT);
    }

    #[tokio::test]
    async fn a_killed_command_takes_with_it_what_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        // The grandchild holds the pipe open: its end is read only when that is dead.
        let script = format!(
            "mkfifo {0}; (exec 3<>{0}; echo ready; cat <&3) & wait",
            pipe.display()
        );
        let mut process = shell(&script);
        while process.output.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        process.kill().await.unwrap();
        // Nobody has the output open any more.
        while process.readers.join_next().await.is_some() {}
        assert_eq!(process.output().await, "ready");
    }
}
