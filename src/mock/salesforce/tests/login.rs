//! Tokens: how they are had, how long they are good.

use std::time::Duration;

use serde_json::json;

use super::assertion::{EXPIRY_AS_NUMBER, EXPIRY_AS_TEXT, PUBLIC_KEY};
use super::*;

const JWT: &str = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=";

fn guarded() -> SalesforceOptions {
    let mut options = options();
    options.access.client = Some(ConnectedApp {
        id: "app".into(),
        secret: "s3".into(),
    });
    options.access.public_key = Some(PublicKey::from_pem(PUBLIC_KEY).unwrap());
    options
}

#[test]
fn a_token_says_where_to_go_and_who_one_is_but_not_when_it_expires() {
    let mut desk = Desk::logged_out(options());
    let told = desk.ask_for_token("grant_type=client_credentials&client_id=app&client_secret=s");
    assert_eq!(told.status, 200);
    assert_eq!(told.body["instance_url"], "http://127.0.0.1:9401");
    assert_eq!(told.body["token_type"], "Bearer");
    assert_eq!(told.body["scope"], "api");
    assert_eq!(told.body["issued_at"], "1767225600000");
    let who: Vec<&str> = told.body["id"].as_str().unwrap().rsplit('/').take(3).collect();
    assert!(
        who[0].starts_with("005") && who[1].starts_with("00D") && who[2] == "id",
        "{who:?}"
    );
    assert!(told.body.get("expires_in").is_none() && told.body.get("refresh_token").is_none());
    assert!(told.body["access_token"].as_str().unwrap().starts_with("00D"));
}

#[test]
fn the_secret_may_come_in_the_body_or_by_basic() {
    let mut desk = Desk::logged_out(guarded());
    let in_body = desk.ask_for_token("grant_type=client_credentials&client_id=app&client_secret=s3");
    assert_eq!(in_body.status, 200);
    // `app:s3`
    desk.headers.push(("authorization", "Basic YXBwOnMz".into()));
    assert_eq!(desk.ask_for_token("grant_type=client_credentials").status, 200);
}

#[test]
fn a_client_that_is_not_known_is_told_so_in_the_words_of_the_endpoint() {
    let mut desk = Desk::logged_out(guarded());
    let wrong = desk.ask_for_token("grant_type=client_credentials&client_id=app&client_secret=x");
    assert_eq!(wrong.status, 400);
    let recorded = json!({ "error": "invalid_client", "error_description": "invalid client credentials" });
    assert_eq!(wrong.body, recorded);
    let mut error = |form: &str| desk.ask_for_token(form).body["error"].clone();
    assert_eq!(
        error("grant_type=client_credentials&client_id=y&client_secret=s3"),
        "invalid_client_id"
    );
    assert_eq!(
        error("grant_type=client_credentials&client_id=app"),
        "invalid_client"
    );
    assert_eq!(error("grant_type=password"), "unsupported_grant_type");
    assert_eq!(
        error("grant_type=refresh_token&client_id=app&client_secret=s3"),
        "invalid_grant"
    );
    let refreshed = desk.ask_for_token("grant_type=refresh_token&client_id=app&refresh_token=r");
    assert_eq!(refreshed.status, 200);
    assert!(refreshed.body.get("refresh_token").is_none());
}

#[test]
fn an_assertion_is_good_if_it_is_signed_and_in_time() {
    let mut desk = Desk::logged_out(guarded());
    for assertion in [EXPIRY_AS_TEXT, EXPIRY_AS_NUMBER] {
        assert_eq!(desk.ask_for_token(&format!("{JWT}{assertion}")).status, 200);
    }
    // The claims of one with the signature of the other.
    let claims = EXPIRY_AS_TEXT.rsplit_once('.').unwrap().0;
    let signature = EXPIRY_AS_NUMBER.rsplit_once('.').unwrap().1;
    let forged = desk.ask_for_token(&format!("{JWT}{claims}.{signature}"));
    let refused = json!({ "error": "invalid_grant", "error_description": "invalid assertion" });
    assert_eq!((forged.status, forged.body), (400, refused));
    desk.now += Duration::from_mins(3);
    let late = desk.ask_for_token(&format!("{JWT}{EXPIRY_AS_NUMBER}"));
    assert_eq!(late.body["error_description"], "expired authorization code");
    desk.now -= Duration::from_mins(10);
    assert_eq!(
        desk.ask_for_token(&format!("{JWT}{EXPIRY_AS_NUMBER}")).status,
        400
    );
}

#[test]
fn a_token_expires_with_its_session_and_when_it_is_told_to() {
    let mut desk = Desk::new();
    let expired = json!([{ "message": "Session expired or invalid", "errorCode": "INVALID_SESSION_ID" }]);
    desk.now += Duration::from_secs(2 * 3600 - 1);
    assert_eq!(desk.data("GET", "limits", "").status, 200);
    desk.now += Duration::from_secs(1);
    let told = desk.data("GET", "limits", "");
    assert_eq!((told.status, told.body), (401, expired.clone()));
    desk.log_in();
    assert_eq!(desk.data("GET", "limits/", "").status, 200);
    desk.org.expire_tokens();
    assert_eq!(desk.data("GET", "limits", "").body, expired);
    desk.token.clear();
    assert_eq!(
        desk.data("GET", "limits", "").body[0]["errorCode"],
        "INVALID_AUTH_HEADER"
    );
}

#[test]
fn what_is_no_key_is_refused() {
    assert!(
        PublicKey::from_pem("MIIB")
            .unwrap_err()
            .to_string()
            .contains("openssl rsa")
    );
}
