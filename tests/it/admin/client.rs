//! A client that speaks to an admin server in plain bytes, so that a story can also send what no proper client would.

use std::net::SocketAddr;
use std::sync::Arc;

use aftercommit::admin::{AdminServer, AdminSettings, Limits, Process};
use aftercommit::clock::SystemClock;
use aftercommit::relay::RelayMetrics;
use aftercommit::store::RelayId;
use aftercommit::store::admin::{AdminStore, TokenText};
use secrecy::SecretString;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::world::World;

pub(super) const TOKEN: &str = "a-token-for-tests";

/// A server before the database of a world, and the way to it.
pub(crate) struct Client {
    pub(super) server: AdminServer,
    pub(super) address: SocketAddr,
    pub(super) relay: RelayId,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    body: String,
}

impl Client {
    pub(super) async fn of(world: &World) -> Self {
        Self::with(world, settings(), Limits::default()).await
    }

    pub(super) async fn with(world: &World, settings: AdminSettings, limits: Limits) -> Self {
        Self::speaking_for(process(), world, settings, limits).await
    }

    /// A server before this database, whoever works on it besides.
    pub(crate) async fn before(store: AdminStore, settings: AdminSettings) -> Self {
        Self::start(process(), store, settings, Limits::default()).await
    }

    /// A server that speaks for this process.
    pub(super) async fn speaking_for(
        process: Process,
        world: &World,
        settings: AdminSettings,
        limits: Limits,
    ) -> Self {
        Self::start(process, world.admin.clone(), settings, limits).await
    }

    async fn start(process: Process, store: AdminStore, settings: AdminSettings, limits: Limits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let relay = process.relay;
        let server = AdminServer::start(listener, store, process, settings, limits);
        Self {
            server,
            address,
            relay,
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.ask(&format!(
            "GET {path} HTTP/1.1\r\nauthorization: Bearer {TOKEN}\r\n"
        ))
        .await
    }

    pub(crate) async fn post(&self, path: &str, body: &str) -> Answer {
        self.post_with(path, body, "").await
    }

    /// With another token than that of the configuration.
    pub(super) async fn send_as(&self, token: &TokenText, method: &str, path: &str, body: &str) -> Answer {
        self.send(&format!(
            "{method} {path} HTTP/1.1\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
             host: test\r\nconnection: close\r\n\r\n{body}",
            token.expose(),
            body.len()
        ))
        .await
    }

    /// With further lines of the head, each ended by CR LF.
    pub(super) async fn post_with(&self, path: &str, body: &str, lines: &str) -> Answer {
        self.send(&format!("{}{body}", head_of_post(path, body.len(), lines)))
            .await
    }

    /// The lines of a head without a body.
    pub(super) async fn ask(&self, head: &str) -> Answer {
        self.send(&format!("{head}host: test\r\nconnection: close\r\n\r\n"))
            .await
    }

    pub(super) async fn send(&self, bytes: &str) -> Answer {
        let mut stream = self.connect().await;
        stream.write_all(bytes.as_bytes()).await.unwrap();
        let mut answer = vec![];
        stream.read_to_end(&mut answer).await.unwrap();
        Answer::read(&answer)
    }

    pub(super) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }
}

fn process() -> Process {
    Process {
        relay: RelayId(uuid::Uuid::from_u128(7)),
        metrics: RelayMetrics::new(),
        clock: Arc::new(SystemClock::start()),
    }
}

pub(crate) fn settings() -> AdminSettings {
    AdminSettings {
        token: Some(SecretString::from(TOKEN)),
        destinations: vec!["crm".to_owned(), "hook".to_owned()],
        max_outbox_body: 4 << 20,
        ..AdminSettings::default()
    }
}

pub(super) fn head_of_post(path: &str, length: usize, lines: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nauthorization: Bearer {TOKEN}\r\ncontent-type: application/json\r\n{lines}\
         content-length: {length}\r\nhost: test\r\nconnection: close\r\n\r\n"
    )
}

impl Answer {
    pub(super) fn read(bytes: &[u8]) -> Self {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let (head, body) = text
            .split_once("\r\n\r\n")
            .unwrap_or_else(|| panic!("no answer: {text:?}"));
        Self {
            status: head[9..12].parse().unwrap(),
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines
            .filter(|(given, _)| given.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
            .next()
    }

    pub(crate) fn body(&self) -> &str {
        &self.body
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The detail of a problem document with this status.
    pub(super) fn problem(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{}", self.body);
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
        let problem = self.json();
        assert_eq!(problem["status"], status);
        assert!(
            problem["type"]
                .as_str()
                .unwrap()
                .starts_with("urn:aftercommit:problem:")
        );
        assert!(problem["title"].is_string());
        problem["detail"].as_str().unwrap().to_owned()
    }
}
