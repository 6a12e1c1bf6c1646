//! A network between a relay and PostgreSQL that can swallow what is sent: no reset, no end, no answer.

use std::net::SocketAddr;
use std::path::PathBuf;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Forwards connections until it swallows; those that it has swallowed stay silent for ever.
pub(super) struct Swallowing {
    address: SocketAddr,
    /// How often it has begun or ceased to swallow; it swallows while that is odd.
    turns: watch::Sender<u32>,
    _task: JoinSet<()>,
}

impl Swallowing {
    /// In front of the server at this address, as the tests' PostgreSQL has it.
    pub(super) async fn before(url: &str) -> Self {
        let directory = url.split_once("?host=").unwrap().1;
        let socket = PathBuf::from(directory).join(".s.PGSQL.5432");
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (turns, address) = (watch::channel(0).0, listener.local_addr().unwrap());
        let mut task = JoinSet::new();
        task.spawn(serve(listener, socket, turns.clone()));
        Self {
            address,
            turns,
            _task: task,
        }
    }

    /// The way to the same database through this network.
    pub(super) fn url(&self, url: &str) -> String {
        let here = format!("localhost:{}", self.address.port());
        url.split_once("?host=")
            .unwrap()
            .0
            .replace("localhost:5432", &here)
    }

    pub(super) fn swallow(&self) {
        self.turns.send_modify(|turns| *turns += 1);
    }

    /// New connections come through again.
    pub(super) fn heal(&self) {
        self.turns.send_modify(|turns| *turns += 1);
    }
}

async fn serve(listener: TcpListener, socket: PathBuf, turns: watch::Sender<u32>) {
    let mut connections = JoinSet::new();
    loop {
        let (client, _) = listener.accept().await.unwrap();
        let (socket, mut turns) = (socket.clone(), turns.subscribe());
        connections.spawn(async move {
            if *turns.borrow_and_update() % 2 == 0 {
                tokio::select! {
                    biased;
                    _ = turns.changed() => {}
                    () = forward(&client, &socket) => return,
                }
            }
            // Nobody reads and nobody closes.
            std::future::pending::<()>().await;
            drop(client);
        });
    }
}

async fn forward(client: &TcpStream, socket: &PathBuf) {
    let server = UnixStream::connect(socket).await.unwrap();
    let (mut server_reads, mut server_writes) = server.into_split();
    let up = async {
        let mut bytes = vec![0; 64 * 1024];
        loop {
            client.readable().await.unwrap();
            match client.try_read(&mut bytes) {
                Ok(0) => return,
                Ok(read) => server_writes.write_all(&bytes[..read]).await.unwrap(),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
    };
    let down = async {
        let mut bytes = vec![0; 64 * 1024];
        loop {
            let Ok(read @ 1..) = server_reads.read(&mut bytes).await else {
                return;
            };
            let mut rest = &bytes[..read];
            while !rest.is_empty() {
                client.writable().await.unwrap();
                match client.try_write(rest) {
                    Ok(written) => rest = &rest[written..],
                    Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                    Err(_) => return,
                }
            }
        }
    };
    tokio::select! {
        () = up => {}
        () = down => {}
    }
}
