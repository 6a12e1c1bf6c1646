//! Who may call, for how long, and how often.

use std::time::Duration;

use aftercommit::mock::crm::Crm as _;
use aftercommit::mock::hubspot::CallLimits;
use serde_json::json;

use super::world::Portal;

const CONTACTS: &str = "/crm/v3/objects/contacts";
const FORM: &str = "grant_type=refresh_token&client_id=mock-client-id&client_secret=mock-client-secret\
                    &refresh_token=mock-refresh-token&redirect_uri=http%3A%2F%2Flocalhost";

#[test]
fn a_refresh_token_buys_an_access_token_that_expires() {
    let mut portal = Portal::new();
    let granted = portal.send("POST", "/oauth/v1/token", FORM);
    granted.is(
        200,
        &json!({
            "token_type": "bearer",
            "refresh_token": "…",
            "access_token": "…",
            "hub_id": 1,
            "scopes": granted.json()["scopes"],
            "token_use": "access_token",
            "expires_in": 1800,
        }),
    );
    let token = granted.json()["access_token"].as_str().unwrap().to_owned();
    portal.authorization = format!("Bearer {token}");
    portal.pass(1799);
    assert_eq!(portal.get(CONTACTS).status, 200);
    portal.pass(8);
    let expired = portal.get(CONTACTS);
    assert_eq!(expired.status, 401);
    let body = expired.json();
    assert_eq!(body["category"], "EXPIRED_AUTHENTICATION");
    assert_eq!(
        body["message"],
        "The OAuth token used to make this call expired 7 second(s) ago."
    );
}

#[test]
fn tokens_end_at_once_when_the_mock_is_told_so_and_a_new_one_is_good() {
    let mut portal = Portal::new();
    let log_in = |portal: &mut Portal| {
        let granted = portal.send("POST", "/oauth/v3/token", FORM).json();
        portal.authorization = format!("Bearer {}", granted["access_token"].as_str().unwrap());
    };
    log_in(&mut portal);
    assert_eq!(portal.get(CONTACTS).status, 200);
    portal.hubspot.expire_tokens();
    assert_eq!(portal.get(CONTACTS).json()["category"], "EXPIRED_AUTHENTICATION");
    log_in(&mut portal);
    assert_eq!(portal.get(CONTACTS).status, 200);
}

#[test]
fn a_token_that_was_never_given_out_is_refused() {
    let mut portal = Portal::new();
    portal.authorization = "Bearer pat-na1-other".into();
    portal.get(CONTACTS).is(
        401,
        &json!({
            "status": "error",
            "message": "Authentication credentials not found. …",
            "correlationId": "…",
            "category": "INVALID_AUTHENTICATION",
        }),
    );
}

#[test]
fn the_scopes_of_a_token_can_be_asked_for() {
    let mut portal = Portal::new();
    portal.hubspot.set_scopes(vec!["oauth".into()]);
    let token = portal.send("POST", "/oauth/v1/token", FORM).json()["access_token"].clone();
    let info = portal.get(&format!("/oauth/v1/access-tokens/{}", token.as_str().unwrap()));
    assert_eq!(info.json()["scopes"], json!(["oauth"]));
    let key = json!({ "tokenKey": "pat-na1-mock" });
    let info = portal.post("/oauth/v2/private-apps/get/access-token-info", &key);
    assert_eq!(info.json()["scopes"], json!(["oauth"]));
    let form = format!("token={}", token.as_str().unwrap());
    assert_eq!(
        portal.send("POST", "/oauth/v3/introspect", form.clone()).json()["active"],
        true
    );
    assert_eq!(portal.send("POST", "/oauth/v3/revoke", form.clone()).status, 204);
    assert_eq!(
        portal.send("POST", "/oauth/v3/introspect", form).json()["active"],
        false
    );
}

#[test]
fn every_answer_says_how_many_calls_are_left_and_the_last_one_is_refused() {
    let mut portal = Portal::with(|options| {
        options.limits = CallLimits {
            ten_secondly: 2,
            secondly: 2,
            daily: 3,
        };
    });
    let first = portal.get(CONTACTS);
    let left = |name: &str| {
        first
            .header(&format!("x-hubspot-ratelimit-{name}"))
            .map(str::to_owned)
    };
    assert_eq!(left("interval-milliseconds").as_deref(), Some("10000"));
    assert_eq!(left("max").as_deref(), Some("2"));
    assert_eq!(left("remaining").as_deref(), Some("1"));
    assert_eq!(left("secondly").as_deref(), Some("2"));
    assert_eq!(left("daily-remaining").as_deref(), Some("2"));
    assert!(first.header("x-hubspot-correlation-id").is_some());
    portal.get(CONTACTS);
    assert_eq!(portal.get(CONTACTS).json()["policyName"], "TEN_SECONDLY_ROLLING");
    portal.pass(10);
    assert_eq!(portal.get(CONTACTS).status, 200);
    assert_eq!(portal.get(CONTACTS).json()["policyName"], "DAILY");
    portal.pass(Duration::from_hours(24).as_secs().cast_signed());
    let usage = portal.get("/account-info/v3/api-usage/daily/private-apps").json();
    assert_eq!(usage["results"][0]["currentUsage"], 1);
    assert_eq!(usage["results"][0]["resetsAt"], "2026-06-26T00:00:00.000Z");
}
