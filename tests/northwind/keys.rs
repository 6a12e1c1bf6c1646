//! The keys that `tests/keys/reference.py`, which shares no code with the relay, makes of the rows.

use std::io::{Seek as _, Write as _};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::pipeline::Expected;

/// The keys of these rows, in their order, as they stand in the header.
pub(crate) fn by_the_reference(namespace: &str, destination: &str, rows: &[Expected]) -> Vec<String> {
    let mut facts = tempfile::tempfile().unwrap();
    for row in rows {
        let version = (row.op == "upsert").then_some("u:-,g:1");
        let line = json!({
            "namespace": namespace, "destination": destination, "topic": row.topic, "row_key": row.row_key,
            "op": row.op, "version": version, "epoch": 0, "payload": row.payload,
        });
        writeln!(facts, "{line}").unwrap();
    }
    facts.rewind().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/keys/answer.py");
    let python = Command::new("python3")
        .arg("-B")
        .arg(&script)
        .stdin(facts)
        .output();
    let output = python.expect("this trial needs python3 in PATH");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let token = |line: &str| {
        let answer: Value = serde_json::from_str(line).unwrap();
        answer["token"]
            .as_str()
            .unwrap_or_else(|| panic!("{line}"))
            .to_owned()
    };
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(token)
        .collect()
}
