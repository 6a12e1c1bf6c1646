//! Start, stop, and the journal on disk.

use std::path::{Path, PathBuf};

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::super::{
    Durability, Fault, JournalFile, JournalOptions, Received, Receiver, ReceiverError, ReceiverOptions, Rule,
    Times, run,
};
use super::{Client, post, receiver_with};

fn with_file(path: PathBuf, durability: Durability) -> ReceiverOptions {
    let file = Some(JournalFile { path, durability });
    let journal = JournalOptions {
        file,
        ..JournalOptions::default()
    };
    ReceiverOptions {
        journal,
        ..ReceiverOptions::default()
    }
}

fn lines(path: &Path) -> Vec<Received> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[tokio::test]
async fn a_request_is_in_the_file_before_it_is_answered_or_dropped() {
    let directory = tempfile::tempdir().unwrap();
    for (name, durability) in [("process", Durability::Process), ("disk", Durability::Disk)] {
        let path = directory.path().join(name);
        let receiver = Receiver::start(with_file(path.clone(), durability))
            .await
            .unwrap();
        receiver.hold();
        let mut client = Client::connect(&receiver).await;
        client.send(&post("a", "{}")).await;
        receiver.received(1).await;
        assert_eq!(lines(&path).len(), 1, "on record though not answered");
        receiver.release();
        assert_eq!(client.answer().await.status, 200);
        receiver
            .script([Rule::once(Fault::ProcessedThenDropped)])
            .unwrap();
        client.send(&post("b", "{}")).await;
        client.rest().await.unwrap();
        assert!(
            lines(&path)
                .iter()
                .eq(receiver.requests().iter().map(AsRef::as_ref))
        );
    }
}

#[tokio::test]
async fn a_receiver_that_cannot_write_or_sync_its_journal_answers_nothing_and_stops() {
    // The one device refuses writes, the other takes them and refuses to sync.
    for (device, durability) in [
        ("/dev/full", Durability::Process),
        ("/dev/null", Durability::Disk),
    ] {
        let receiver = Receiver::start(with_file(device.into(), durability))
            .await
            .unwrap();
        let mut client = Client::connect(&receiver).await;
        client.send(&post("a", "{}")).await;
        assert_eq!(client.rest().await.unwrap(), b"", "{device}");
        receiver.stopped().await;
        let error = receiver.shutdown().await.unwrap_err();
        assert!(matches!(error, ReceiverError::WriteJournal { .. }), "{error}");
    }
}

#[tokio::test]
async fn a_receiver_that_cannot_start_says_why() {
    let error = Receiver::start(with_file("/no/such/place".into(), Durability::Process))
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("journal /no/such/place cannot be opened"),
        "{error}"
    );

    let taken = receiver_with([]).await;
    let options = ReceiverOptions {
        listen: taken.address(),
        ..ReceiverOptions::default()
    };
    let error = Receiver::start(options).await.unwrap_err();
    assert!(
        error.to_string().contains("choose another address or port"),
        "{error}"
    );

    let script = vec![Rule::new(Times::Every(0), Fault::Hang)];
    let error = Receiver::start(ReceiverOptions {
        script,
        ..ReceiverOptions::default()
    })
    .await
    .unwrap_err();
    assert!(error.to_string().contains("would never fire"), "{error}");
}

#[tokio::test]
async fn a_shutdown_ends_what_hangs_what_is_held_and_what_never_ends() {
    let receiver = receiver_with([
        Rule::always(Fault::Hang).for_key("hang"),
        Rule::always(Fault::EndlessBody).for_key("endless"),
    ])
    .await;
    let mut clients = Vec::new();
    for key in ["hang", "endless", "held"] {
        if key == "held" {
            receiver.hold();
        }
        let mut client = Client::connect(&receiver).await;
        client.send(&post(key, "{}")).await;
        clients.push(client);
        receiver.received(clients.len() as u64).await;
    }
    let mut half = Client::connect(&receiver).await;
    half.send("POST / HT").await;
    let address = receiver.address();
    receiver.shutdown().await.unwrap();
    assert!(
        tokio::net::TcpStream::connect(address).await.is_err(),
        "it no longer listens"
    );
    // An end or a reset: either way the connection is over.
    let _ = half.rest().await;
}

#[tokio::test]
async fn run_tells_where_it_listens_and_ends_when_told() {
    let stop = CancellationToken::new();
    let (tell, told) = oneshot::channel();
    let running = run(ReceiverOptions::default(), stop.clone(), |address| {
        tell.send(address).unwrap();
    });
    let test = async {
        let address = told.await.unwrap();
        assert!(tokio::net::TcpStream::connect(address).await.is_ok());
        stop.cancel();
    };
    let (ended, ()) = tokio::join!(running, test);
    ended.unwrap();
}

#[tokio::test]
async fn a_test_can_wait_for_what_it_wants_to_see() {
    let receiver = receiver_with([]).await;
    let mut client = Client::connect(&receiver).await;
    let seen = receiver.until(|requests| requests.iter().any(|request| request.row_key() == Some("row-b")));
    let sent = async {
        client.ask(&post("a", "{}")).await;
        client.ask(&post("b", "{}")).await;
    };
    tokio::join!(seen, sent);
    assert_eq!(receiver.url(), format!("http://{}/", receiver.address()));
}
