//! The receiver: a process of its own, which answers at once and counts keys.

use aftercommit::mock::receiver::{Detail, JournalOptions, ReceiverOptions, parse_rules, run};
use tokio_util::sync::CancellationToken;

use super::child::{self, Orders};

/// A running receiver.
pub(crate) struct Receiver {
    process: child::Process,
    client: reqwest::Client,
}

impl Receiver {
    /// Starts one on a free port, which misbehaves by these rules: `hang`, `delay=2s`, or none.
    pub(crate) fn start(faults: &str) -> anyhow::Result<Self> {
        let process = child::Process::again(&["--receiver", "--faults", faults])?;
        let client = super::bare::client()?;
        Ok(Self { process, client })
    }

    /// Where it listens: `http://127.0.0.1:PORT/`.
    pub(crate) fn url(&self) -> &str {
        self.process.said()
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// How many keys it has seen.
    pub(crate) async fn unique_keys(&self) -> anyhow::Result<u64> {
        self.count("keys").await
    }

    /// How many requests it has received, whatever it answered.
    pub(crate) async fn requests(&self) -> anyhow::Result<u64> {
        self.count("requests").await
    }

    async fn count(&self, what: &str) -> anyhow::Result<u64> {
        let request = self.client.get(format!("{}effects", self.url())).build()?;
        let counts: serde_json::Value =
            serde_json::from_slice(&super::bare::send(&self.client, request).await?.bytes().await?)?;
        counts[what]
            .as_u64()
            .ok_or_else(|| anyhow::anyhow!("no count of {what} in {counts}"))
    }

    /// Lets it forget what it has seen.
    pub(crate) async fn reset(&self) -> anyhow::Result<()> {
        let request = self.client.delete(format!("{}journal", self.url())).build()?;
        super::bare::send(&self.client, request).await?;
        Ok(())
    }
}

/// What the process does.
pub(crate) async fn serve(faults: &str) -> anyhow::Result<()> {
    let options = ReceiverOptions {
        journal: JournalOptions {
            detail: Detail::Counts,
            ..JournalOptions::default()
        },
        script: parse_rules(faults)?,
        ..ReceiverOptions::default()
    };
    let (stop, orders) = (CancellationToken::new(), Orders::listen());
    let running = run(options, stop.clone(), |address| println!("http://{address}/"));
    tokio::pin!(running);
    tokio::select! {
        ended = &mut running => ended?,
        () = orders.end() => {
            stop.cancel();
            running.await?;
        }
    }
    Ok(())
}
