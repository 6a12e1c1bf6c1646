//! `POST /services/oauth2/token`: logs in by client credentials or by a signed assertion.
//!
//! No message holds a secret: neither what is sent nor the token that comes back.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::{Method, Request};
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::json;
use url::{Url, form_urlencoded};

use crate::config::destination::salesforce::{LoginProof, SalesforceLogin};
use crate::core::time::Timestamp;
use crate::destination::answer::Answer;
use crate::destination::credentials::Credentials;
use crate::destination::secrets::refusal;

/// An assertion may not be good for longer.
const ASSERTION_SECONDS: i64 = 180;

/// How one logs in.
pub(super) struct Login {
    url: Url,
    client_id: SecretString,
    proof: Proof,
    credentials: Credentials,
}

enum Proof {
    Secret(SecretString),
    Key {
        key: Box<RsaKeyPair>,
        username: String,
        audience: String,
    },
}

/// A private key that cannot sign.
#[derive(Debug, thiserror::Error)]
#[error("private_key is no RSA key in PEM (PKCS #8 or PKCS #1) that can sign")]
pub struct BadPrivateKey;

/// What the endpoint gives. Never shown: it derives no `Debug`.
#[derive(Deserialize)]
pub(super) struct Granted {
    pub(super) access_token: String,
    pub(super) instance_url: String,
}

/// Why there is no token. The sentences hold no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The credentials are not good: a person must mend them.
    Refused(String),
    /// No answer that says anything. Nothing was sent of any row.
    Unreachable(String),
    /// The endpoint asks to wait.
    Throttled(String),
}

#[derive(Default, Deserialize)]
struct TokenError {
    #[serde(default)]
    error: String,
    #[serde(default)]
    error_description: String,
}

impl Login {
    /// Logs in at `url`, which has no path, for `destination`.
    pub(super) fn new(destination: &str, url: &Url, login: &SalesforceLogin) -> Result<Self, BadPrivateKey> {
        let proof = match &login.proof {
            LoginProof::ClientSecret(secret) => Proof::Secret(secret.clone()),
            LoginProof::PrivateKey {
                pem,
                username,
                audience,
            } => Proof::Key {
                key: Box::new(rsa_key(pem)?),
                username: username.clone(),
                audience: audience
                    .clone()
                    .unwrap_or_else(|| url.as_str().trim_end_matches('/').to_owned()),
            },
        };
        let mut url = url.clone();
        url.set_path("/services/oauth2/token");
        Ok(Self {
            url,
            client_id: login.client_id.clone(),
            credentials: credentials(destination, &proof),
            proof,
        })
    }

    /// The request for a token; an assertion is good from `now` on.
    pub(super) fn request(&self, now: Timestamp) -> Result<Request, BadPrivateKey> {
        let mut form = form_urlencoded::Serializer::new(String::new());
        match &self.proof {
            Proof::Secret(secret) => {
                form.append_pair("grant_type", "client_credentials")
                    .append_pair("client_id", self.client_id.expose_secret())
                    .append_pair("client_secret", secret.expose_secret());
            }
            Proof::Key {
                key,
                username,
                audience,
            } => {
                let claims = json!({
                    "iss": self.client_id.expose_secret(),
                    "sub": username,
                    "aud": audience,
                    "exp": now.as_seconds() + ASSERTION_SECONDS,
                });
                form.append_pair("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer")
                    .append_pair("assertion", &assertion(key, &claims)?);
            }
        }
        let mut request = Request::new(Method::POST, self.url.clone());
        let form_type = HeaderValue::from_static("application/x-www-form-urlencoded");
        request.headers_mut().insert(CONTENT_TYPE, form_type);
        *request.body_mut() = Some(form.finish().into());
        Ok(request)
    }

    /// Reads the answer of the token endpoint.
    pub(super) fn read(&self, answer: &Answer) -> Result<Granted, Trouble> {
        let status = answer.status;
        match status {
            200..=299 => serde_json::from_slice(&answer.body).map_err(|_| {
                Trouble::Unreachable(format!(
                    "no access token: HTTP {status}, but the answer holds none that can be read"
                ))
            }),
            429 | 420 | 503 => Err(Trouble::Throttled(format!(
                "no access token: HTTP {status} from the token endpoint"
            ))),
            400..=499 => {
                let error: TokenError = serde_json::from_slice(&answer.body).unwrap_or_default();
                let refusal = refusal(status, &error.error, &error.error_description, &answer.secrets);
                let way_out = self.way_out();
                Err(Trouble::Refused(format!(
                    "no access token: {refusal}; {way_out}, then resume"
                )))
            }
            _ => Err(Trouble::Unreachable(format!(
                "no access token: HTTP {status} from the token endpoint"
            ))),
        }
    }

    /// What a person can do about a refusal.
    pub(super) fn way_out(&self) -> String {
        self.credentials.way_out()
    }
}

/// The settings that one logs in by.
fn credentials(destination: &str, proof: &Proof) -> Credentials {
    let issuer = "the connected app in Salesforce";
    match proof {
        Proof::Secret(_) => {
            Credentials::new(destination, issuer, &["login_url", "client_id", "client_secret"])
        }
        Proof::Key { .. } => {
            let settings = ["login_url", "client_id", "username", "private_key"];
            Credentials::new(destination, issuer, &settings)
        }
    }
}

fn rsa_key(pem: &SecretString) -> Result<RsaKeyPair, BadPrivateKey> {
    let key = PrivateKeyDer::from_pem_slice(pem.expose_secret().as_bytes()).map_err(|_| BadPrivateKey)?;
    let key = match &key {
        PrivateKeyDer::Pkcs8(der) => RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()),
        PrivateKeyDer::Pkcs1(der) => RsaKeyPair::from_der(der.secret_pkcs1_der()),
        _ => return Err(BadPrivateKey),
    };
    key.map_err(|_| BadPrivateKey)
}

/// The public half of a key, DER.
#[cfg(test)]
pub(super) fn public_key(pem: &SecretString) -> Result<Vec<u8>, BadPrivateKey> {
    Ok(rsa_key(pem)?.public().as_ref().to_vec())
}

/// A JWT with an RS256 signature.
fn assertion(key: &RsaKeyPair, claims: &serde_json::Value) -> Result<String, BadPrivateKey> {
    let encode = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
    let header = encode(br#"{"alg":"RS256"}"#);
    let message = format!("{header}.{}", encode(claims.to_string().as_bytes()));
    let mut signature = vec![0; key.public().modulus_len()];
    // The randomness blinds the computation; the signature does not depend on it.
    key.sign(
        &RSA_PKCS1_SHA256,
        &SystemRandom::new(),
        message.as_bytes(),
        &mut signature,
    )
    .map_err(|_| BadPrivateKey)?;
    Ok(format!("{message}.{}", encode(&signature)))
}
