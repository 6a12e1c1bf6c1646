//! A daemon with its page, a database and a receiver, and somebody who has logged in.

use aftercommit::mock::receiver::{Receiver, ReceiverOptions};
use serde_json::Value;
use tempfile::TempDir;

use super::browser::Browser;
use crate::process::Process;
use crate::store::world::{Backend, World};

pub(super) const TOKEN: &str = "a-token-for-the-page";

/// Where a story plays.
pub(super) struct Desk {
    pub(super) world: World,
    pub(super) receiver: Receiver,
    pub(super) url: String,
    pub(super) browser: Browser,
    folder: TempDir,
    pub(super) daemon: Process,
}

impl Desk {
    /// The event topic `orders` goes to `crm`.
    pub(super) async fn new(backend: Backend) -> Self {
        let receiver = Receiver::start(ReceiverOptions::default()).await.unwrap();
        Self::before(backend, receiver).await
    }

    /// The same, where the receiver is prepared.
    pub(super) async fn before(backend: Backend, receiver: Receiver) -> Self {
        let crm = receiver.url();
        Self::at(backend, receiver, &crm, "").await
    }

    /// The same, where `crm` is at another address, and `more` is configured.
    pub(super) async fn at(backend: Backend, receiver: Receiver, crm: &str, more: &str) -> Self {
        let world = World::migrated(backend).await;
        let folder = tempfile::Builder::new()
            .prefix("aftercommit-desk-")
            .tempdir()
            .unwrap();
        let configuration = format!(
            r#"
            [database]
            url = "{}"
            [admin]
            listen = "127.0.0.1:0"
            token = "{TOKEN}"
            [relay]
            poll_idle = "20ms"
            [topics.orders]
            kind = "event"
            [destinations.crm]
            type = "webhook"
            url = "{crm}"
            topics = ["orders"]
            allow_http = true
            allow_networks = ["127.0.0.0/8"]
            {more}"#,
            world.url
        );
        std::fs::write(folder.path().join("aftercommit.toml"), configuration).unwrap();
        let (daemon, browser) = tokio::join!(start(&folder), Browser::start());
        let (daemon, url) = daemon;
        Self {
            world,
            receiver,
            url,
            browser,
            folder,
            daemon,
        }
    }

    /// Opens the page and logs in with this token.
    pub(super) async fn log_in(&self, token: &str) {
        self.browser.open(&self.url).await;
        self.browser.fill("Token", token).await;
        self.browser.press("Log in").await;
        self.browser.view("Overview").await;
    }

    /// Makes a token of this role by the command line.
    pub(super) async fn token(&self, name: &str, role: &str) -> String {
        let verb = ["token", "create", name, "--role", role, "--json"];
        let mut making = Process::start(self.folder.path(), &verb, &[]);
        let made: Value = serde_json::from_str(&making.says("\"token\"").await).unwrap();
        made["token"].as_str().unwrap().to_owned()
    }

    /// Runs a verb of the command line, which must go well.
    pub(super) async fn command(&self, arguments: &[&str]) {
        let mut running = Process::start(self.folder.path(), arguments, &[]);
        let ended = running.ended().await;
        assert!(ended.success(), "{arguments:?}: {:#?}", running.log());
    }

    /// Commits an order with this payload.
    pub(super) async fn commit(&self, row_key: &str, payload: &str) {
        self.world
            .execute(&format!(
                "insert into aftercommit.outbox (topic, row_key, op, payload)
                 values ('orders', '{}', 'event', '{}')",
                row_key.replace('\'', "''"),
                payload.replace('\'', "''")
            ))
            .await;
    }

    /// Ends the story: the browser complained of nothing but what is `expected`.
    pub(super) async fn finish(self, expected: &[&str]) {
        let complaints = self.browser.complaints().await;
        let surprises = complaints
            .iter()
            .filter(|one| !expected.iter().any(|part| one.contains(part)));
        assert_eq!(surprises.collect::<Vec<_>>(), Vec::<&String>::new());
        self.browser.quit().await;
    }
}

/// A daemon that is ready, and where its page is.
async fn start(folder: &TempDir) -> (Process, String) {
    let mut daemon = Process::start(folder.path(), &["run", "--json"], &[]);
    let ready: Value = serde_json::from_str(&daemon.says("\"admin\"").await).unwrap();
    let url = ready["admin"].as_str().unwrap().to_owned();
    (daemon, url)
}
