//! Processes of the benchmark, apart so that CPU and memory are counted apart. They end with the one that started them.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};

use tokio::sync::oneshot;

/// A running process.
pub(crate) struct Process {
    child: Child,
    orders: Option<ChildStdin>,
    said: String,
}

impl Process {
    /// Starts this program again, as something else.
    pub(crate) fn again(arguments: &[&str]) -> anyhow::Result<Self> {
        Self::start(Command::new(std::env::current_exe()?).args(arguments))
    }

    /// Starts a program and waits until it says its first line.
    pub(crate) fn start(command: &mut Command) -> anyhow::Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut said = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output).read_line(&mut said)?;
        }
        anyhow::ensure!(!said.is_empty(), "{command:?} did not start");
        Ok(Self {
            orders: child.stdin.take(),
            child,
            said: said.trim_end().to_owned(),
        })
    }

    /// Its first line.
    pub(crate) fn said(&self) -> &str {
        &self.said
    }

    /// Its number.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Lets it begin, if it waits for that as [`Orders::begin`] does.
    pub(crate) fn begin(&mut self) -> anyhow::Result<()> {
        if let Some(orders) = &mut self.orders {
            orders.write_all(b"begin\n")?;
        }
        Ok(())
    }

    /// Asks it to end, and waits until it has.
    pub(crate) fn stop(mut self) -> anyhow::Result<()> {
        drop(self.orders.take());
        let status = self.child.wait()?;
        anyhow::ensure!(status.success(), "a process of the benchmark failed: {status}");
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _already_ended = self.child.kill();
        let _already_reaped = self.child.wait();
    }
}

/// What the parent asks of this process.
pub(crate) struct Orders {
    begin: oneshot::Receiver<()>,
    end: oneshot::Receiver<()>,
}

impl Orders {
    /// Listens at standard input, which ends with the parent, however that ends.
    pub(crate) fn listen() -> Self {
        let ((may_begin, begin), (may_end, end)) = (oneshot::channel(), oneshot::channel());
        std::thread::spawn(move || {
            let mut line = String::new();
            let _parent_is_gone = std::io::stdin().read_line(&mut line);
            let _not_awaited = may_begin.send(());
            let _nothing_comes = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            let _not_awaited = may_end.send(());
        });
        Self { begin, end }
    }

    /// Says that this process is ready and waits until it may begin.
    pub(crate) async fn begin(&mut self, ready: &str) {
        println!("{ready}");
        let _parent_is_gone = (&mut self.begin).await;
    }

    /// Waits until this process is to end.
    pub(crate) async fn end(self) {
        let _parent_is_gone = self.end.await;
    }
}
