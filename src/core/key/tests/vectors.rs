//! The published vectors, field by field, and the forms of a key.

use serde::Deserialize;

use crate::core::canonical::{RowHash, canonical};
use crate::core::key::{IdempotencyKey, KeyFacts, KeyForm, KeyVersion};
use crate::core::row::Op;

#[derive(Deserialize)]
struct Vector {
    name: String,
    namespace: String,
    destination: String,
    topic: String,
    row_key: String,
    op: Op,
    version: Option<String>,
    epoch: u32,
    payload: String,
    canonical: String,
    row_hash: String,
    key: String,
    token: String,
    short: String,
    uuid: String,
}

fn vectors() -> Vec<Vector> {
    serde_json::from_str(include_str!("../../../../tests/keys/vectors.json")).unwrap()
}

#[test]
fn every_published_vector_comes_out_to_the_byte() {
    let vectors = vectors();
    assert_eq!(vectors.len(), 10);
    for vector in vectors {
        let name = &vector.name;
        assert_eq!(canonical(&vector.payload).unwrap(), vector.canonical, "{name}");
        let row_hash = RowHash::of(&vector.payload).unwrap();
        assert_eq!(row_hash.to_string(), vector.row_hash, "{name}");
        let key = IdempotencyKey::derive(&KeyFacts {
            namespace: &vector.namespace,
            destination: &vector.destination,
            topic: &vector.topic,
            row_key: &vector.row_key,
            op: vector.op,
            version: vector.version.as_deref().map(KeyVersion::as_written),
            row_hash,
            epoch: vector.epoch,
        });
        assert_eq!(key.to_string(), vector.token, "{name}");
        assert_eq!(key.wire(KeyForm::Token), vector.token, "{name}");
        assert_eq!(
            key.wire(KeyForm::Quoted),
            format!("\"{}\"", vector.token),
            "{name}"
        );
        assert_eq!(key.wire(KeyForm::Uuid), vector.uuid, "{name}");
        assert_eq!(key.wire(KeyForm::Short), vector.short, "{name}");
        assert_eq!(key.wire(KeyForm::Hex), vector.key, "{name}");
    }
}

#[test]
fn the_version_of_a_key_is_written_as_in_the_vectors() {
    assert_eq!(KeyVersion::state(None, 1).as_str(), "u:-,g:1");
    assert_eq!(KeyVersion::state(Some(1_485_624), 2).as_str(), "u:1485624,g:2");
    assert_eq!(
        KeyVersion::state(Some(i64::MIN), 3).as_str(),
        "u:-9223372036854775808,g:3"
    );
    assert_eq!(KeyVersion::event(Some(7)), Some(KeyVersion::as_written("u:7")));
    assert_eq!(KeyVersion::event(None), None);
}

#[test]
fn a_key_form_is_known_by_its_word_and_an_unknown_word_is_answered_with_those_that_are_known() {
    for word in ["token", "quoted", "uuid", "short", "hex"] {
        let form: KeyForm = word.parse().unwrap();
        assert_eq!(form.to_string(), word);
        assert_eq!(serde_json::from_value::<KeyForm>(word.into()).unwrap(), form);
        assert_eq!(serde_json::to_value(form).unwrap(), word);
    }
    let error = "Token".parse::<KeyForm>().unwrap_err().to_string();
    assert_eq!(
        error,
        "unknown key form `Token`; known are token, quoted, uuid, short, hex"
    );
    assert_eq!(
        serde_json::from_str::<KeyForm>("\"Token\"")
            .unwrap_err()
            .to_string(),
        error
    );
}
