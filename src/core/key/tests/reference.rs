//! Random facts, refused payloads among them, against `tests/keys/reference.py`.

use std::io::{Seek, Write};
use std::path::Path;
use std::process::Command;

use fastrand::Rng;
use serde_json::{Value as Json, json};

use crate::core::canonical::tests::documents::Value;
use crate::core::canonical::{NotCanonical, RowHash, canonical};
use crate::core::key::{IdempotencyKey, KeyFacts, KeyForm, KeyVersion};

/// What the reference must refuse, or all but refuse.
const EDGES: [&str; 36] = [
    "",
    " ",
    "\u{feff}1",
    "\u{a0}1",
    "NaN",
    "-Infinity",
    "01",
    "-",
    "1.",
    "1.e5",
    "1e",
    "[1,]",
    r#"{"a":1,}"#,
    "1 1",
    "\"\t\"",
    r#""\x""#,
    r#""\u00g0""#,
    r#""\u0000""#,
    r#"{"\u0000":1}"#,
    r#""\ud800""#,
    r#"{"\ud800":1}"#,
    r#""\ud83d\ud83d\ude00""#,
    r#""\ude00\ud83d""#,
    r#"{"a":"\u0000","a":1}"#,
    r#"{"a":1e9999,"a":[]}"#,
    r#"{"a":NaN,"a":[]}"#,
    "1e999",
    "1e1000",
    "-1e999",
    "1e-998",
    "1e-999",
    "0e99999999999999999999",
    "1e99999999999999999999",
    "-1e-99999999999999999999",
    "1.0000e00000000000000000000002",
    "-0",
];

#[test]
fn thousands_of_random_facts_get_the_hash_and_key_or_the_refusal_of_the_reference() {
    let mut rng = Rng::with_seed(4);
    let facts: Vec<Json> = payloads(&mut rng)
        .iter()
        .map(|payload| random_facts(&mut rng, payload))
        .collect();
    let answers = ask_the_reference(&facts);
    assert_eq!(answers.len(), facts.len());
    let mut refused = 0;
    for (facts, answer) in facts.iter().zip(&answers) {
        assert_eq!(&our_answer(facts), answer, "for {facts}");
        refused += usize::from(answer.get("refused").is_some());
    }
    assert!(
        refused > 1_000 && answers.len() - refused > 4_000,
        "{refused} of {} refused",
        answers.len()
    );
}

/// Random documents, the same with a character replaced, numbers and nesting about the limits, and the edges.
fn payloads(rng: &mut Rng) -> Vec<String> {
    let mut payloads: Vec<String> = EDGES.iter().map(ToString::to_string).collect();
    for levels in 60..70 {
        for innermost in ["", "1", "{}", r#"{"a":[]}"#] {
            payloads.push(format!("{}{innermost}{}", "[".repeat(levels), "]".repeat(levels)));
        }
    }
    for _ in 0..1_000 {
        let digits = "1230".repeat(rng.usize(1..252));
        payloads.push(format!("-{digits}.0{digits}e{}", rng.i32(-1010..1010)));
        payloads.push(format!("1.5e{}", rng.i32(-1010..1010)));
    }
    for _ in 0..4_000 {
        let payload = Value::random(rng, 4).spell(rng);
        let mut chars: Vec<char> = payload.chars().collect();
        let at = rng.usize(..chars.len());
        chars[at] = rng.char(' '..'\u{7f}');
        payloads.push(chars.into_iter().collect());
        payloads.push(payload);
    }
    payloads
}

fn random_facts(rng: &mut Rng, payload: &str) -> Json {
    let mut name = || ["", "crm", "a,1:b", "123-", "-456", "café", "😀", "\u{301}"][rng.usize(..8)];
    let (namespace, destination, topic, row_key) = (name(), name(), name(), name());
    let (op, version) = match rng.u8(..3) {
        0 => ("event", KeyVersion::event(rng.bool().then_some(rng.i64(..)))),
        1 => (
            "upsert",
            Some(KeyVersion::state(rng.bool().then_some(rng.i64(..)), rng.i64(1..))),
        ),
        _ => ("delete", Some(KeyVersion::state(None, rng.i64(1..9)))),
    };
    json!({
        "namespace": namespace, "destination": destination, "topic": topic, "row_key": row_key, "op": op,
        "version": version.as_ref().map(KeyVersion::as_str), "epoch": rng.u32(..3), "payload": payload,
    })
}

fn our_answer(facts: &Json) -> Json {
    let text = |name: &str| facts[name].as_str().unwrap();
    let canonical = match canonical(text("payload")) {
        Ok(canonical) => canonical,
        Err(NotCanonical::NotJson { .. }) => return json!({ "refused": "not JSON" }),
        Err(_) => return json!({ "refused": "not canonical" }),
    };
    let row_hash = RowHash::of(text("payload")).unwrap();
    let key = IdempotencyKey::derive(&KeyFacts {
        namespace: text("namespace"),
        destination: text("destination"),
        topic: text("topic"),
        row_key: text("row_key"),
        op: text("op").parse().unwrap(),
        version: facts["version"].as_str().map(KeyVersion::as_written),
        row_hash,
        epoch: facts["epoch"].as_u64().unwrap().try_into().unwrap(),
    });
    json!({
        "canonical": canonical, "row_hash": row_hash.to_string(), "key": key.wire(KeyForm::Hex),
        "token": key.wire(KeyForm::Token), "short": key.wire(KeyForm::Short), "uuid": key.wire(KeyForm::Uuid),
    })
}

fn ask_the_reference(facts: &[Json]) -> Vec<Json> {
    let mut lines = tempfile::tempfile().unwrap();
    for facts in facts {
        writeln!(lines, "{facts}").unwrap();
    }
    lines.rewind().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/keys/answer.py");
    let output = Command::new("python3").arg("-B").arg(&script).stdin(lines).output().unwrap_or_else(|error| {
        panic!("cannot run python3 ({error}): this test needs Python 3.8 or later; install it, for example with `apt-get install python3`")
    });
    assert!(
        output.status.success(),
        "{}: {}",
        script.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}
