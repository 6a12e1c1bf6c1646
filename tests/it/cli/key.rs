//! `aftercommit key`: other implementations are checked against it, so it must answer every line.

use serde_json::{Value, json};

use super::command::Project;

fn vectors() -> Vec<Value> {
    serde_json::from_str(include_str!("../../keys/vectors.json")).unwrap()
}

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[tokio::test]
async fn the_published_vectors_come_out_of_the_program_to_the_byte() {
    let vectors = vectors();
    let input = vectors
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n");
    let answers = lines(
        &Project::empty()
            .run_with(&["key", "--ndjson"], &input)
            .await
            .done(),
    );
    assert_eq!(answers.len(), vectors.len());
    for (vector, answer) in vectors.iter().zip(&answers) {
        for field in ["name", "canonical", "row_hash", "key", "token", "short", "uuid"] {
            assert_eq!(vector[field], answer[field], "{field} of {vector}");
        }
        assert_eq!(
            answer["quoted"],
            json!(format!("\"{}\"", vector["token"].as_str().unwrap()))
        );
    }
}

#[tokio::test]
async fn a_refusal_stands_in_its_line_and_the_lines_after_it_are_answered() {
    let vector = vectors().remove(0);
    let mut refused = vector.clone();
    refused["payload"] = json!(r#"{"a": "\ud800"}"#);
    let input = format!("{refused}\nnot JSON\n{vector}\n");
    let answers = lines(
        &Project::empty()
            .run_with(&["key", "--ndjson"], &input)
            .await
            .done(),
    );
    assert_eq!(answers.len(), 3);
    assert!(answers[0]["error"].as_str().unwrap().contains("lone surrogate"));
    assert!(answers[1]["error"].is_string());
    assert_eq!(answers[2]["key"], vector["key"]);
}

#[tokio::test]
async fn the_key_of_one_row_is_printed_in_every_form() {
    let vector = vectors().remove(0);
    let text = |field: &str| vector[field].as_str().unwrap().to_owned();
    let [namespace, destination, topic, row_key, op, version, payload] = [
        "namespace",
        "destination",
        "topic",
        "row_key",
        "op",
        "version",
        "payload",
    ]
    .map(text);
    let arguments = [
        "key",
        "--namespace",
        &namespace,
        "--destination",
        &destination,
        "--topic",
        &topic,
        "--row-key",
        &row_key,
        "--op",
        &op,
        "--version",
        &version,
        "--payload",
        &payload,
    ];
    let printed = Project::empty().run(&arguments).await.done();
    for field in ["canonical", "row_hash", "key", "token", "short", "uuid"] {
        assert!(printed.contains(&text(field)), "{field} is not in {printed}");
    }
    let refused = [&arguments[..14], &["{"]].concat();
    let error = Project::empty().run(&refused).await.failed(2);
    assert!(error.contains("payload: not JSON"), "{error}");
    for wrong in ["3", "u:", "u:-", "u:3,g:", "u:3,g:x"] {
        let refused = [&arguments[..11], &["--version", wrong]].concat();
        let ended = Project::empty().run(&refused).await;
        assert_eq!(ended.code, Some(2), "{wrong}");
    }
    let refused = [&arguments[..11], &["--version", "3"]].concat();
    let error = Project::empty().run(&refused).await.stderr;
    assert!(error.contains("u:ROW_VERSION,g:GENERATION"), "{error}");
}

#[tokio::test]
async fn a_reader_who_has_seen_enough_ends_the_program_quietly() {
    let input = format!("{}\n", vectors().remove(0)).repeat(100);
    let ended = Project::empty().run_unheard(&["key", "--ndjson"], &input).await;
    assert_eq!(ended, (Some(0), String::new()));
}
