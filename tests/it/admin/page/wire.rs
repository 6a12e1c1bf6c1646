//! The wire to chromedriver: one JSON request and its answer, by the `WebDriver` protocol. Knows nothing of pages.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

/// What a command brings, or the error that the driver names, with its message.
pub(super) async fn command(
    driver: SocketAddr,
    method: &str,
    path: &str,
    body: &Value,
) -> Result<Value, String> {
    let body = if method == "POST" {
        body.to_string()
    } else {
        String::new()
    };
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(driver).await.unwrap();
    stream.write_all((head + &body).as_bytes()).await.unwrap();
    let mut answer: Value = serde_json::from_slice(&read_body(stream).await).unwrap();
    let value = answer["value"].take();
    match value["error"].as_str() {
        Some(error) => Err(format!(
            "{error}: {}",
            value["message"].as_str().unwrap_or_default()
        )),
        None => Ok(value),
    }
}

/// The body of an answer, whose length chromedriver always says.
async fn read_body(stream: TcpStream) -> Vec<u8> {
    let mut stream = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        match line.trim_end().to_ascii_lowercase().split_once(':') {
            Some(("content-length", value)) => length = value.trim().parse().unwrap(),
            None if line.trim_end().is_empty() => break,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    body
}
