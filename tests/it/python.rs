//! Runs the clients under `tests/clients` in the virtual environment that `./test` makes for them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::process::Command;

/// No suite takes as long.
const PATIENCE: Duration = Duration::from_mins(4);

/// Runs a script to its end; the test fails with what it said if it did.
pub(crate) async fn run(script: &str, arguments: &[&str], variables: &[(&str, &str)]) {
    let mut python = Command::new(interpreter());
    python
        .arg(in_project("tests/clients").join(script))
        .args(arguments)
        .envs(variables.iter().copied())
        .kill_on_drop(true);
    let output = tokio::time::timeout(PATIENCE, python.output()).await;
    let output = output
        .unwrap_or_else(|_| panic!("{script} has not ended in {PATIENCE:?}"))
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}: {said}");
}

fn interpreter() -> PathBuf {
    let python = in_project("target/clients-venv/bin/python");
    assert!(
        python.exists(),
        "the clients that drive the mocks are not installed: run ./test once, or install python3 with its venv module \
         and run `python3 -m venv target/clients-venv && target/clients-venv/bin/python -m pip install --requirement \
         tests/clients/requirements.txt`"
    );
    python
}

fn in_project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}
