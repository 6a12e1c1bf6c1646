//! A relay dies at each step of its way from a committed row to a settled delivery; the next one goes on.
//!
//! Half a request is not a step of the relay's own code: there the receiver says when.

use tokio::io::AsyncReadExt as _;
use tokio::net::TcpSocket;
use tokio::task::JoinSet;

use super::world::{Backend, World, on_both};

on_both! {
    async fn a_relay_that_dies_after_a_fetch_loses_and_repeats_nothing(backend: Backend) {
        dies_at(backend, "after_fetch", &[1, 2, 3]).await;
    }

    async fn a_relay_that_dies_before_an_attempt_is_on_record_loses_and_repeats_nothing(backend: Backend) {
        dies_at(backend, "before_record", &[1, 2, 3]).await;
    }

    async fn a_relay_that_dies_once_an_attempt_is_on_record_loses_and_repeats_nothing(backend: Backend) {
        dies_at(backend, "after_record", &[1, 2, 3]).await;
    }

    async fn a_relay_that_dies_before_it_sends_loses_and_repeats_nothing(backend: Backend) {
        dies_at(backend, "before_send", &[1, 2, 3]).await;
    }

    async fn a_relay_that_dies_with_an_answer_in_its_hands_loses_and_repeats_nothing(backend: Backend) {
        dies_at(backend, "after_send", &[1, 2, 3]).await;
    }

    async fn a_relay_that_dies_at_its_takeover_leaves_it_to_the_next(backend: Backend) {
        let mut world = World::new(backend).await;
        world.commit_batch().await;
        world.crash("after_send:1").await;
        world.crash("before_takeover:1").await;
        world.crash("after_takeover:1").await;
        let relay = world.relay();
        world.finish(vec![relay]).await;
    }

    async fn a_relay_that_dies_in_the_middle_of_a_request_sends_it_again(backend: Backend) {
        let mut world = World::new(backend).await;
        let socket = TcpSocket::new_v4().unwrap();
        // Little enough, and the payload large enough, that the whole request does not fit between the two.
        socket.set_recv_buffer_size(4096).unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = socket.listen(1).unwrap();
        world.configure(&format!("http://{}/", listener.local_addr().unwrap()), "");
        world.base.execute("update aftercommit.topic set max_payload_bytes = 8000000").await;
        let payload = format!("[\"{}\"]", "x".repeat(6_000_000));
        world.commit_order(&payload).await;

        let mut relay = world.relay();
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut half = vec![0; 1_000];
        stream.read_exact(&mut half).await.unwrap();
        relay.signal("KILL").await;
        relay.ended().await;
        let _ = stream.read_to_end(&mut half).await;
        assert!(half.len() < payload.len(), "it was a whole request: {} bytes", half.len());

        world.configure(&world.receiver.url(), "");
        let relay = world.relay();
        world.finish(vec![relay]).await;
    }
}

/// What is one statement on PostgreSQL is a transaction of several on SQLite.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_that_dies_within_a_transaction_loses_and_repeats_nothing() {
    dies_at(Backend::Sqlite, "before_commit", &[1, 2, 3, 5, 8]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_that_dies_right_after_a_transaction_loses_and_repeats_nothing() {
    dies_at(Backend::Sqlite, "after_commit", &[1, 2, 3, 5, 8]).await;
}

/// For each of `hits`, side by side: a relay dies at that pass of the point, and another one finds everything.
async fn dies_at(backend: Backend, point: &'static str, hits: &[u64]) {
    let mut stories = JoinSet::new();
    for &hit in hits {
        stories.spawn(async move {
            let mut world = World::new(backend).await;
            world.commit_batch().await;
            world.crash(&format!("{point}:{hit}")).await;
            let relay = world.relay();
            world.commit_batch().await;
            world.finish(vec![relay]).await;
        });
    }
    while let Some(story) = stories.join_next().await {
        story.unwrap();
    }
}
