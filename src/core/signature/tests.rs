//! The vector of the specification, and every secret that is none.

use ed25519_dalek::Signature;

use super::*;

/// From the Standard Webhooks specification.
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
const TIMESTAMP: i64 = 1_614_265_330;
const BODY: &[u8] = br#"{"test": 2432232314}"#;
const SIGNATURE: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

fn whsec(length: usize) -> String {
    format!("whsec_{}", STANDARD.encode(vec![7; length]))
}

fn whsk(bytes: &[u8]) -> String {
    format!("whsk_{}", STANDARD.encode(bytes))
}

fn parse(secret: &str) -> Result<(), BadSigningSecret> {
    SigningKey::parse(secret).map(drop)
}

#[test]
fn the_vector_of_the_specification_is_met() {
    assert_eq!(
        SigningKey::parse(SECRET).unwrap().sign(ID, TIMESTAMP, BODY),
        SIGNATURE
    );
}

#[test]
fn an_ed25519_signature_verifies_with_the_public_key_alone() {
    let pair = ed25519_dalek::SigningKey::from_bytes(&[9; 32]);
    let signature = SigningKey::parse(&whsk(&[9; 32]))
        .unwrap()
        .sign(ID, TIMESTAMP, BODY);
    let bytes = STANDARD.decode(signature.strip_prefix("v1a,").unwrap()).unwrap();
    let signed = [b"msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.", BODY].concat();
    pair.verify(&signed, &Signature::from_slice(&bytes).unwrap())
        .unwrap();
}

#[test]
fn a_seed_and_a_seed_with_its_public_key_are_the_same_key() {
    let pair = ed25519_dalek::SigningKey::from_bytes(&[9; 32]).to_keypair_bytes();
    let sign = |secret: &str| SigningKey::parse(secret).unwrap().sign(ID, TIMESTAMP, BODY);
    assert_eq!(sign(&whsk(&[9; 32])), sign(&whsk(&pair)));
}

#[test]
fn only_the_same_id_time_body_and_key_verify() {
    let key = SigningKey::parse(SECRET).unwrap();
    assert!(key.verifies(ID, TIMESTAMP, BODY, SIGNATURE));
    assert!(key.verifies(ID, TIMESTAMP, BODY, &format!("v1,AAAA v2,x {SIGNATURE}")));
    assert!(!key.verifies("msg_other", TIMESTAMP, BODY, SIGNATURE));
    assert!(!key.verifies(ID, TIMESTAMP + 1, BODY, SIGNATURE));
    assert!(!key.verifies(ID, TIMESTAMP, br#"{"test":2432232314}"#, SIGNATURE));
    assert!(!key.verifies(ID, TIMESTAMP, BODY, ""));
    assert!(!key.verifies(ID, TIMESTAMP, BODY, &SIGNATURE[..SIGNATURE.len() - 1]));
    assert!(
        !SigningKey::parse(&whsec(24))
            .unwrap()
            .verifies(ID, TIMESTAMP, BODY, SIGNATURE)
    );
}

#[test]
fn the_secret_itself_is_what_was_encoded_and_not_its_text() {
    let padded = whsec(25);
    let bare = padded.trim_end_matches('=');
    assert_ne!(padded, bare);
    let sign = |secret: &str| SigningKey::parse(secret).unwrap().sign(ID, TIMESTAMP, BODY);
    assert_eq!(sign(&padded), sign(bare));
}

#[test]
fn a_secret_of_the_wrong_form_is_refused_with_its_reason() {
    let mut foreign = ed25519_dalek::SigningKey::from_bytes(&[9; 32]).to_keypair_bytes();
    foreign[40] ^= 1;
    for (secret, expected) in [
        (whsec(23), Err(BadSigningSecret::HmacLength(23))),
        (whsec(24), Ok(())),
        (whsec(64), Ok(())),
        (whsec(65), Err(BadSigningSecret::HmacLength(65))),
        (whsk(&[9; 31]), Err(BadSigningSecret::Ed25519Length(31))),
        (whsk(&foreign), Err(BadSigningSecret::KeyPair)),
        ("whsec_".to_owned(), Err(BadSigningSecret::HmacLength(0))),
        ("whsec_canary!".to_owned(), Err(BadSigningSecret::Base64)),
        ("whsk_canary!".to_owned(), Err(BadSigningSecret::Base64)),
        ("whpk_canary".to_owned(), Err(BadSigningSecret::PublicKey)),
        ("canary".to_owned(), Err(BadSigningSecret::Prefix)),
        (String::new(), Err(BadSigningSecret::Prefix)),
    ] {
        assert_eq!(parse(&secret), expected, "{secret}");
    }
}

#[test]
fn no_error_and_no_debug_output_shows_a_secret() {
    for secret in [
        "whsec_canary!",
        "whsk_canary!",
        "whpk_canary",
        "canary",
        "whsec_canarycanary",
    ] {
        let error = parse(secret).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("canary"), "{error}");
    }
    for secret in [SECRET.to_owned(), whsk(&[9; 32])] {
        let shown = format!("{:?}", SigningKey::parse(&secret).unwrap());
        assert!(
            shown.contains("redacted") && !shown.contains("MfKQ") && !shown.contains('9'),
            "{shown}"
        );
    }
}
