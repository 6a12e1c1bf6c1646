//! A story that fails ends its browser too: a machine that is full of them fails the next ones.

use tokio::process::Command;
use tokio::time::timeout;

use super::browser::Browser;
use crate::process::PATIENCE;

#[tokio::test]
async fn a_browser_that_no_story_has_ended_is_gone_all_the_same() {
    let browser = Browser::start().await;
    let processes = browser.processes();
    assert!(processes.len() > 1, "{processes:?}");
    drop(browser);
    for process in processes {
        // It waits until there is no such process.
        let mut tail = Command::new("tail");
        tail.arg(format!("--pid={process}")).args(["-f", "/dev/null"]);
        let gone = timeout(PATIENCE, tail.kill_on_drop(true).status()).await;
        assert!(gone.is_ok(), "process {process} is left behind");
    }
}
