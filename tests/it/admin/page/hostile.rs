//! What others wrote is shown as text, whatever it is: nothing of it runs, and nothing of it turns a line around.

use aftercommit::mock::receiver::{Receiver, ReceiverOptions};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::desk::{Desk, TOKEN};
use crate::store::world::{Backend, on_both};

/// What would tell if it ran, and a mark that turns what follows around.
const HOSTILE: &str = "<script>document.title = 'owned'</script><img src=x onerror=\"document.title = 'owned'\">\u{202e}txt.exe";
/// Of a payload or an answer.
const LARGE: usize = 1_000_000;

/// A receiver that refuses whatever comes with a large, hostile answer.
async fn hostile_receiver() -> (JoinSet<()>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            // One read says that a request has come; what it holds does not matter.
            let _ = stream.read(&mut [0; 4096]).await;
            let body = format!("{HOSTILE}{}", "x".repeat(LARGE));
            let head = format!(
                "HTTP/1.1 422 No\r\ncontent-type: text/html\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            let _ = stream.write_all((head + &body).as_bytes()).await;
            // The client decides how much of it to read.
            let mut rest = vec![];
            let _ = stream.read_to_end(&mut rest).await;
        }
    });
    (serving, url)
}

on_both! {
    async fn hostile_payloads_keys_and_answers_are_text_and_large_ones_are_cut_until_somebody_wants_all(backend: Backend) {
        let (_serving, url) = hostile_receiver().await;
        let unused = Receiver::start(ReceiverOptions::default()).await.unwrap();
        let desk = Desk::at(backend, unused, &url, "").await;
        let browser = &desk.browser;
        let payload = json!({ "note": HOSTILE, "more": "y".repeat(LARGE) }).to_string();
        desk.commit(HOSTILE, &payload).await;
        desk.log_in(TOKEN).await;
        browser.press("1 delivery is dead").await;
        browser.view("Trouble").await;
        // In the key of the row, and in the answer.
        browser.shows("<script>document.title = 'owned'</script>").await;
        browser.shows("\\u202etxt.exe").await;
        browser.go("#/deliveries").await;
        browser.shows("\\u202etxt.exe").await;
        browser.go("#/deliveries/1/crm").await;
        browser.shows("The first 64.0 KiB of").await;
        assert!(browser.text().await.len() < 300_000);
        browser.press("Show all").await;
        browser.lacks("The first 64.0 KiB of").await;
        assert!(browser.text().await.len() > LARGE);
        browser.press("Replay…").await;
        browser.shows("1 delivery would be due again").await;

        let ran = browser.script(
            "return document.title.includes('owned') || document.querySelectorAll('main script, main img').length > 0",
            json!([]),
        ).await;
        assert_eq!(ran, false);
        let marks = browser.script("return document.documentElement.innerHTML.includes('\\u202e')", json!([])).await;
        assert_eq!(marks, false, "the mark is written out, never shown");
        desk.finish(&[]).await;
    }

    async fn the_policy_lets_no_script_run_that_is_not_ours(backend: Backend) {
        let desk = Desk::new(backend).await;
        let browser = &desk.browser;
        desk.log_in(TOKEN).await;
        let script = "const script = document.createElement('script');
                      script.textContent = 'document.title = \"owned\"';
                      document.body.append(script);
                      return document.title";
        assert_eq!(browser.script(script, json!([])).await, "Overview – Aftercommit");
        let complaints = browser.complaints().await;
        assert!(complaints.iter().any(|one| one.contains("Content Security Policy")), "{complaints:?}");
        desk.finish(&[]).await;
    }
}
