//! The server itself: what slow, silent and vanishing clients can do to it, which is nothing.

use std::time::Duration;

use aftercommit::admin::Limits;
use aftercommit::core::delivery::Reason;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::client::{Answer, Client, head_of_post, settings};
use super::world::{Backend, World, on_both};

const SHORT: Duration = Duration::from_millis(50);

async fn rest(stream: &mut tokio::net::TcpStream) -> Vec<u8> {
    let mut bytes = vec![];
    // A reset is an end as well.
    let _ = stream.read_to_end(&mut bytes).await;
    bytes
}

on_both! {
    /// A lock that the story holds keeps the request from its end until its client is gone.
    async fn what_was_asked_for_is_done_though_the_client_hangs_up(backend: Backend) {
        let world = World::new(backend).await;
        let client = Client::of(&world).await;
        let held = world.hold_writes().await;
        let body = r#"{"reason": "the client will not wait"}"#;
        let mut stream = client.connect().await;
        stream.write_all((head_of_post("/v1/destinations/crm/pause", body.len(), "") + body).as_bytes()).await.unwrap();
        world.until_somebody_waits_to_write(&client).await;
        drop(stream);

        held.let_go().await;
        client.server.shutdown().await.unwrap();

        assert_eq!(world.number("select count(*) from aftercommit.audit").await, 1);
        assert_eq!(world.text("select pause_reason from aftercommit.destination_state").await, "the client will not wait");
    }
}

#[tokio::test]
async fn half_a_head_and_half_a_body_end_in_time() {
    let world = World::new(Backend::Sqlite).await;
    let limits = Limits {
        head_timeout: SHORT,
        body_timeout: SHORT,
        ..Limits::default()
    };
    let client = Client::with(&world, settings(), limits).await;

    let mut half_a_head = client.connect().await;
    half_a_head
        .write_all(b"GET /v1/status HTTP/1.1\r\nhost: te")
        .await
        .unwrap();
    rest(&mut half_a_head).await;

    let mut silent = client.connect().await;
    assert!(rest(&mut silent).await.is_empty());

    let mut half_a_body = client.connect().await;
    let head = head_of_post("/v1/destinations/crm/pause", 100, "");
    half_a_body
        .write_all((head + "{\"reason").as_bytes())
        .await
        .unwrap();
    let late = Answer::read(&rest(&mut half_a_body).await);
    late.problem(408);
}

#[tokio::test]
async fn connections_beyond_the_limit_wait_and_are_served_when_others_end() {
    let world = World::new(Backend::Sqlite).await;
    let limits = Limits {
        connections: 1,
        ..Limits::default()
    };
    let client = Client::with(&world, settings(), limits).await;
    let mut first = client.connect().await;
    let ask = b"GET /livez HTTP/1.1\r\nhost: t\r\n\r\n";
    first.write_all(ask).await.unwrap();
    let mut start = [0; 12];
    first.read_exact(&mut start).await.unwrap();
    assert_eq!(&start, b"HTTP/1.1 200");

    let second = client.ask("GET /livez HTTP/1.1\r\n");
    tokio::pin!(second);
    let early = tokio::time::timeout(SHORT, &mut second).await;
    assert!(early.is_err(), "two connections at once");
    drop(first);
    assert_eq!(second.await.status, 200);
}

#[tokio::test]
async fn a_shutdown_ends_idle_connections_and_takes_no_new_ones() {
    let world = World::new(Backend::Sqlite).await;
    let client = Client::of(&world).await;
    let mut idle = client.connect().await;
    idle.write_all(b"GET /livez HTTP/1.1\r\nhost: t\r\n\r\n")
        .await
        .unwrap();
    let mut start = [0; 12];
    idle.read_exact(&mut start).await.unwrap();

    client.server.shutdown().await.unwrap();

    rest(&mut idle).await;
    assert!(tokio::net::TcpStream::connect(client.address).await.is_err());
}

#[tokio::test]
async fn an_old_connection_is_closed_after_its_request() {
    let world = World::new(Backend::Sqlite).await;
    world.commit_orders(1, 1).await;
    world.settle("crm", "true", Reason::Accepted).await;
    let limits = Limits {
        connection_age: SHORT,
        ..Limits::default()
    };
    let client = Client::with(&world, settings(), limits).await;
    let mut stream = client.connect().await;
    stream
        .write_all(b"GET /livez HTTP/1.1\r\nhost: t\r\n\r\n")
        .await
        .unwrap();
    assert_eq!(Answer::read(&rest(&mut stream).await).status, 200);
}
