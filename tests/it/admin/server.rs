//! The server itself: what slow, silent and vanishing clients can do to it, which is nothing.

use std::time::Duration;

use aftercommit::admin::Limits;
use aftercommit::core::delivery::Reason;
use sqlx::{Connection as _, PgConnection};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::client::{Answer, Client, head_of_post, settings};
use super::world::{Backend, World};
use crate::process::PATIENCE;

const SHORT: Duration = Duration::from_millis(50);
const LIVE: &str = "GET /livez HTTP/1.1\r\nhost: t\r\n\r\n";

async fn rest(stream: &mut tokio::net::TcpStream) -> Vec<u8> {
    let mut bytes = vec![];
    // A reset is an end as well.
    let _ = stream.read_to_end(&mut bytes).await;
    bytes
}

/// A lock that the story holds keeps every request half way, until its client is gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_begun_is_done_though_the_client_hangs_up() {
    const CLIENTS: i64 = 6;
    let world = World::new(Backend::Postgres).await;
    world.commit_orders(1, 6).await;
    let client = Client::of(&world).await;
    let mut blocker = PgConnection::connect(&world.url).await.unwrap();
    let lock = "begin; lock table aftercommit.outbox in access exclusive mode";
    sqlx::raw_sql(lock).execute(&mut blocker).await.unwrap();
    let body = r#"{"reason": "the client will not wait"}"#;
    let mut streams = vec![];
    for order in 1..=CLIENTS {
        let head = head_of_post(&format!("/v1/deliveries/{order}/crm/cancel"), body.len(), "");
        let mut stream = client.connect().await;
        stream.write_all((head + body).as_bytes()).await.unwrap();
        streams.push(stream);
    }
    world
        .until(&format!(
            "select count(*) = {CLIENTS} from pg_locks where not granted"
        ))
        .await;

    drop(streams);
    assert_eq!(client.ask("GET /livez HTTP/1.1\r\n").await.status, 200);
    sqlx::raw_sql("rollback").execute(&mut blocker).await.unwrap();
    client.server.shutdown().await.unwrap();

    let cancelled = "select count(*) from aftercommit.settled where state = 'cancelled'";
    assert_eq!(world.number(cancelled).await, CLIENTS);
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

/// An idle client, one with half a head and one with half a body are alike: nothing can be done for them.
#[tokio::test]
async fn clients_that_say_nothing_keep_nobody_out() {
    let world = World::new(Backend::Sqlite).await;
    let limits = Limits {
        connections: 60,
        // No connection of this story ends by the time that it takes.
        head_timeout: Duration::from_hours(1),
        body_timeout: Duration::from_hours(1),
        ..Limits::default()
    };
    let client = Client::with(&world, settings(), limits).await;
    let half_a_body = head_of_post("/v1/destinations/crm/pause", 100, "");
    let mut silent = vec![];
    for said in ["", "GET /livez HTTP/1.1\r\nhost: te", half_a_body.as_str(), LIVE].repeat(50) {
        let mut stream = client.connect().await;
        // The first of them may be closed by now.
        let _ = stream.write_all(said.as_bytes()).await;
        silent.push(stream);
    }
    let alive = client.ask("GET /livez HTTP/1.1\r\n");
    let alive = tokio::time::timeout(Duration::from_secs(1), alive).await;
    assert_eq!(alive.expect("it answers within a second").status, 200);
    let mut oldest = silent.swap_remove(0);
    let closed = tokio::time::timeout(PATIENCE, rest(&mut oldest)).await;
    assert!(closed.expect("it was closed").is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_is_under_way_makes_way_for_nobody() {
    let world = World::new(Backend::Postgres).await;
    world.commit_orders(1, 1).await;
    let limits = Limits {
        connections: 1,
        ..Limits::default()
    };
    let client = Client::with(&world, settings(), limits).await;
    let mut blocker = PgConnection::connect(&world.url).await.unwrap();
    let lock = "begin; lock table aftercommit.outbox in access exclusive mode";
    sqlx::raw_sql(lock).execute(&mut blocker).await.unwrap();
    let first = client.post("/v1/deliveries/1/crm/cancel", r#"{"reason": "r"}"#);
    let second = async {
        world
            .until("select count(*) = 1 from pg_locks where not granted")
            .await;
        let second = client.ask("GET /livez HTTP/1.1\r\n");
        tokio::pin!(second);
        let early = tokio::time::timeout(SHORT, &mut second).await;
        assert!(early.is_err(), "two at once");
        sqlx::raw_sql("rollback").execute(&mut blocker).await.unwrap();
        second.await
    };
    let (first, second) = tokio::join!(first, second);
    assert_eq!((first.status, second.status), (200, 200));
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
