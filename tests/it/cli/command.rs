//! The program in a directory of its own: runs it to its end, or keeps it running and listens to what it says.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

/// A directory with a configuration, in which the program is run.
pub(super) struct Project {
    folder: TempDir,
}

/// What a run of the program came to.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// The program while it runs. It is killed when the story ends.
pub(super) struct Running {
    child: Child,
    stdout: Lines<BufReader<ChildStdout>>,
    stderr: Lines<BufReader<ChildStderr>>,
    log: Vec<String>,
}

impl Project {
    /// A directory without anything in it.
    pub(super) fn empty() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("aftercommit-cli-")
            .tempdir()
            .unwrap();
        Self { folder }
    }

    /// A directory with this configuration.
    pub(super) fn with(configuration: &str) -> Self {
        let project = Self::empty();
        project.write("aftercommit.toml", configuration);
        project
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// Runs the program to its end.
    pub(super) async fn run(&self, arguments: &[&str]) -> Ended {
        self.run_with(arguments, "").await
    }

    /// The same with standard input.
    pub(super) async fn run_with(&self, arguments: &[&str], input: &str) -> Ended {
        let mut child = program(self.folder.path(), arguments).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_owned();
        let writing = async move {
            // A program that has seen enough closes its end.
            let _ = stdin.write_all(input.as_bytes()).await;
        };
        let (output, ()) = tokio::join!(child.wait_with_output(), writing);
        let output = output.unwrap();
        Ended {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The same where nobody reads its output.
    pub(super) async fn run_unheard(&self, arguments: &[&str], input: &str) -> (Option<i32>, String) {
        let mut child = program(self.folder.path(), arguments).spawn().unwrap();
        drop(child.stdout.take());
        let mut stdin = child.stdin.take().unwrap();
        let _ = stdin.write_all(input.as_bytes()).await;
        drop(stdin);
        let output = child.wait_with_output().await.unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }

    /// Starts the program and lets it run.
    pub(super) fn start(&self, arguments: &[&str]) -> Running {
        let mut child = program(self.folder.path(), arguments).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap()).lines();
        let stderr = BufReader::new(child.stderr.take().unwrap()).lines();
        Running {
            child,
            stdout,
            stderr,
            log: Vec::new(),
        }
    }
}

fn program(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aftercommit"));
    command
        .args(arguments)
        .current_dir(folder)
        .env_remove("AFTERCOMMIT_CONFIG")
        .env_remove("AFTERCOMMIT_DATABASE_URL")
        .env_remove("AFTERCOMMIT_LOG")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

impl Ended {
    /// The output of a run that must have gone well.
    pub(super) fn done(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.stdout
    }

    /// The same, as JSON.
    pub(super) fn json(self) -> serde_json::Value {
        serde_json::from_str(&self.done()).unwrap()
    }

    /// What standard error says of a run that must have ended so.
    pub(super) fn failed(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert!(self.stderr.starts_with("error: "), "{self:?}");
        self.stderr
    }
}

impl Running {
    /// The next line of standard output.
    pub(super) async fn line(&mut self) -> String {
        let line = self.stdout.next_line().await.unwrap();
        line.unwrap_or_else(|| panic!("it ended; its log: {:#?}", self.log))
    }

    /// The next line of the log that holds `part`.
    pub(super) async fn logs(&mut self, part: &str) -> String {
        while let Some(line) = self.stderr.next_line().await.unwrap() {
            self.log.push(line.clone());
            if line.contains(part) {
                return line;
            }
        }
        panic!("nothing in the log holds {part:?}: {:#?}", self.log);
    }

    /// Sends a signal, such as `TERM`.
    pub(super) async fn signal(&self, name: &str) {
        let id = self.child.id().unwrap().to_string();
        let sent = Command::new("kill")
            .args(["-s", name, &id])
            .status()
            .await
            .unwrap();
        assert!(sent.success());
    }

    /// The exit code, once it has ended.
    pub(super) async fn ends(mut self) -> Option<i32> {
        // Read on, so that it never waits for somebody to take its log.
        while let Ok(Some(_)) = self.stderr.next_line().await {}
        self.child.wait().await.unwrap().code()
    }
}
