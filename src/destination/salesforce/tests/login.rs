//! Logging in: what is sent for a token, and what the endpoint's answers come to.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use secrecy::SecretString;
use url::{Url, form_urlencoded};

use super::super::login::{Login, Trouble, public_key};
use super::NOW;
use crate::config::destination::salesforce::{LoginProof, SalesforceLogin};
use crate::core::secrets::Secrets;
use crate::destination::answer::Answer;

/// Made for these tests; nothing trusts it.
const TEST_KEY: &str = "-----BEGIN PRIVATE KEY-----
MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDKVjnW99dixNh3
KUdDvDK0uZhEOZ94N5pzv1mPOYx6l5MdYQcj3nPzc0KUqoz79+ZLRYNan39oihg6
Eh2sPrF/EkAy273Fu48smFcSrsTv3EceBi7dMxxAf/m1mdMMNoDUfAseyFrcMren
3oRO6I/nqKF0hmlIGaSKpFZtljsoRpunEyhALGPRAwKObcN8ZkL+X/yHnYCu3j1E
pVS8VFeIINDfZAs3KpqbCGDZ7IZ0ycS9ViXbS+jQGlRutrax8WlbHVLXpd3U+0gV
hsoVonw4/rHt12dHprkbUii8QreFIaflPD5hRRboa4NJ2jZkoeQtgyDqKP9ieAJz
6Nm0m9VDAgMBAAECggEATOTb8lAZ8JUyVoa/aIR7GKd3sGXdrsgi0F4l4QJT2rsD
06RuHDmMAzcIVItELPWW9YAjXStENixU7Ky5zh29Qrdi4nET+7M9xArY/GaivS0P
cd+Tq8iisfhwo40j4X5NE3NYnogxz4EOvqMX0Q0cs0MoqKn0FMx59Z5ioh73uGQA
AUdgIT4F1OUs7Tx0Ib8kxUwM/G8lIyD75ghCbriOUgpxxP3wYvFqA7e7kiGxh8dP
mqjkA/eyVhGkN5xs/uNJ1JtxCIQZENgCA6hvMDjvdb8f4B4BT2VOGLArdaoZHN/0
FFoQ+XJodX6XGx5mJ8GAjhqoG92LE67KwwjxszFMwQKBgQDlgRMOOa6G8wWxe+dm
6dJSL6nhrmsqTQ871NMt+/BSwFlAjXLL62IkdspFaCen4DQmfsVNTKiAfmV0emQV
frbS3GayzfXMpldfmj/xXToqMKxIMrN8TyK3mbWEpUtdnlAGCk2NOB+hGRRNrZY6
LbOitYOJL3SomVSyFZoKU9XTcwKBgQDhsjpjPnz3vySqSWtQkKcoClbxNwTOs3tD
41ntcsGVtAQgo1otlk4oAyCdY3K52ZYt9fPNQyzpgO1H9iANcPrk3Ebw6SJJqfkW
t+VF33HM9UelFnUAcFE2ynbVp7Gx8EOnXIYqRM1fht2LkD6gkYz++E35uHefphGM
QOn4Dzui8QKBgHw4MKgycFR6lUpLViRNypjRU5HjZf2vV996ghMRmjIwCh72cHwP
Gz/BTBnlFhG3OILdes0sAMgLob45wJIh07KtuKhu8eui3QfR5Woum5zaW2V4i81s
x824VJdHIFO7rHSYfwFAr13yxRqGKhmzQtd+h4NpPCtFUqJRLt8IIWQhAoGAORIU
aZwXhZ4z60t9c3XgjuNucLh04r/H37bRupVWFkDa+lXUK8riIIQJ70KCdDRtIVoc
OD9QUAtl9Nhr6nozN0PsPGb3YKE2d2Qw+aYy5JzxbPFszJuaLbysqAIrkM8sjFl9
I5saQ5ma0/u5mmizupWXQho/RYN81HZls3BGqEECgYEAkIvD2xRwpkk00B8hs0ft
o3eXlzwr5DnhccJG0j47VhTc0TMZ3/Pp8PCry/mQsr8mKh4TQkvBmvwOom91cxrp
80sWRJ9WK7xzJHVcgQi9VPI+JLpxO35qA9WopBWvnip1CWjWwhhEqk7rBSX8W1Zz
M3jhMaWrvJ4DaucbETRIqcU=
-----END PRIVATE KEY-----
";

fn login(proof: LoginProof) -> SalesforceLogin {
    SalesforceLogin {
        client_id: SecretString::from("app"),
        proof,
    }
}

fn by_key(pem: &str, audience: Option<&str>) -> SalesforceLogin {
    login(LoginProof::PrivateKey {
        pem: SecretString::from(pem),
        username: "relay@example.com".to_owned(),
        audience: audience.map(str::to_owned),
    })
}

/// Where a login is sent, and the form.
fn sent(login: &SalesforceLogin) -> (String, BTreeMap<String, String>) {
    let url: Url = "https://x.my.salesforce.com".parse().unwrap();
    let request = Login::new("crm", &url, login).unwrap().request(NOW).unwrap();
    let body = request.body().and_then(|body| body.as_bytes()).unwrap();
    let form = form_urlencoded::parse(body).into_owned().collect();
    (request.url().to_string(), form)
}

#[test]
fn client_credentials_go_in_the_form() {
    let secret = SecretString::from("s+e&c");
    let (url, form) = sent(&login(LoginProof::ClientSecret(secret)));
    assert_eq!(url, "https://x.my.salesforce.com/services/oauth2/token");
    assert_eq!(form["grant_type"], "client_credentials");
    assert_eq!(
        (form["client_id"].as_str(), form["client_secret"].as_str()),
        ("app", "s+e&c")
    );
}

#[test]
fn an_assertion_is_signed_and_good_for_three_minutes() {
    let (_, form) = sent(&by_key(TEST_KEY, None));
    assert_eq!(form["grant_type"], "urn:ietf:params:oauth:grant-type:jwt-bearer");
    let (message, signature) = form["assertion"].rsplit_once('.').unwrap();
    let public = public_key(&SecretString::from(TEST_KEY)).unwrap();
    let decode = |text: &str| BASE64_URL_SAFE_NO_PAD.decode(text).unwrap();
    UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, public)
        .verify(message.as_bytes(), &decode(signature))
        .unwrap();
    let (header, claims) = message.split_once('.').unwrap();
    assert_eq!(decode(header), br#"{"alg":"RS256"}"#);
    let claims: serde_json::Value = serde_json::from_slice(&decode(claims)).unwrap();
    let expected = serde_json::json!({
        "iss": "app",
        "sub": "relay@example.com",
        "aud": "https://x.my.salesforce.com",
        "exp": NOW.as_seconds() + 180,
    });
    assert_eq!(claims, expected);
    let (_, form) = sent(&by_key(TEST_KEY, Some("https://test.salesforce.com")));
    let claims = form["assertion"].split('.').nth(1).unwrap().to_owned();
    assert!(
        String::from_utf8(decode(&claims))
            .unwrap()
            .contains("\"aud\":\"https://test.salesforce.com\"")
    );
}

#[test]
fn what_the_endpoint_refuses_is_a_matter_for_a_person_and_what_it_fails_is_not() {
    let answer = |status, body: &str| Answer {
        status,
        headers: reqwest::header::HeaderMap::new(),
        excerpt: None,
        body: body.as_bytes().to_vec(),
        secrets: Secrets::of(["s+e&cr"]),
        trouble: None,
    };
    let url: Url = "https://x.my.salesforce.com".parse().unwrap();
    let secret = LoginProof::ClientSecret(SecretString::from("s+e&cr"));
    let login = Login::new("crm", &url, &login(secret)).unwrap();
    let read = |answer: &Answer| login.read(answer);
    let refused = answer(
        400,
        r#"{"error":"invalid_client","error_description":"invalid client credentials s+e&cr"}"#,
    );
    let Err(Trouble::Refused(why)) = read(&refused) else {
        panic!("it is refused");
    };
    let told = "no access token: HTTP 400 invalid_client from the token endpoint (invalid client credentials (secret))";
    assert!(why.starts_with(told), "{why}");
    let named =
        "`destinations.crm.login_url`, `destinations.crm.client_id` and `destinations.crm.client_secret`";
    assert!(why.contains(named), "{why}");
    for (status, body) in [(200, "{}"), (200, "<html>"), (500, ""), (302, "")] {
        assert!(
            matches!(read(&answer(status, body)), Err(Trouble::Unreachable(_))),
            "{status}"
        );
    }
    assert!(matches!(read(&answer(503, "")), Err(Trouble::Throttled(_))));
    let granted = read(&answer(
        200,
        r#"{"access_token":"t","instance_url":"https://i.example"}"#,
    ));
    assert_eq!(granted.ok().unwrap().instance_url, "https://i.example");
}
