//! What the mocks have on record, asked for over HTTP as anybody would.

use aftercommit::mock::receiver::Received;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Every request that the receiver at `url` has on record.
pub(crate) async fn of(url: &str) -> Vec<Received> {
    serde_json::from_str(&get(url, "journal").await).unwrap()
}

/// What a mock at `url` says at one of its control paths.
pub(crate) async fn get(url: &str, path: &str) -> String {
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(address).await.unwrap();
    let ask = format!("GET /{path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(ask.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    body.to_owned()
}
