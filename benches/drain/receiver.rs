//! The receiver: this program again, as a process of its own, which answers at once and counts keys.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use aftercommit::mock::receiver::{Detail, JournalOptions, ReceiverOptions, run};
use tokio_util::sync::CancellationToken;

/// A running receiver.
pub(crate) struct Process {
    child: Child,
    url: String,
    client: reqwest::Client,
}

impl Process {
    /// Starts one on a free port.
    pub(crate) fn start() -> anyhow::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("--receiver")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        let stdout = child
            .stdout
            .take()
            .ok_or_else(|| anyhow::anyhow!("the receiver has no output"))?;
        BufReader::new(stdout).read_line(&mut line)?;
        Ok(Self {
            child,
            url: line.trim().to_owned(),
            client: super::bare::client()?,
        })
    }

    /// Where it listens.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How many keys it has seen.
    pub(crate) async fn unique_keys(&self) -> anyhow::Result<u64> {
        let request = self.client.get(format!("{}effects", self.url)).build()?;
        let counts: serde_json::Value =
            serde_json::from_slice(&super::bare::send(&self.client, request).await?.bytes().await?)?;
        counts["keys"]
            .as_u64()
            .ok_or_else(|| anyhow::anyhow!("no count of keys in {counts}"))
    }

    /// Lets it forget what it has seen.
    pub(crate) async fn reset(&mut self) -> anyhow::Result<()> {
        let request = self.client.delete(format!("{}journal", self.url)).build()?;
        super::bare::send(&self.client, request).await?;
        Ok(())
    }

    /// Ends it.
    pub(crate) fn stop(mut self) {
        let _already_gone = self.child.kill();
        let _already_reaped = self.child.wait();
    }
}

/// What the process does.
pub(crate) async fn serve() -> anyhow::Result<()> {
    let journal = JournalOptions {
        detail: Detail::Counts,
        ..JournalOptions::default()
    };
    let options = ReceiverOptions {
        journal,
        ..ReceiverOptions::default()
    };
    // Its standard input ends with the program that started it, however that ends.
    let parent_is_gone = CancellationToken::new();
    let gone = parent_is_gone.clone();
    std::thread::spawn(move || {
        let _nothing_comes = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        gone.cancel();
    });
    run(options, parent_is_gone, |address| {
        println!("http://{address}/");
    })
    .await?;
    Ok(())
}
