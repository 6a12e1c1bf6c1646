//! Standard Webhooks signatures, `v1` (HMAC-SHA256) and `v1a` (ed25519), over bytes that the caller holds.
//!
//! Pure: the configuration parses secrets with it, the webhook destination signs, receivers in tests verify. No error
//! and no `Debug` output shows a secret.

use std::fmt;

use base64::Engine;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::engine::{DecodePaddingMode, general_purpose::STANDARD};
use ed25519_dalek::Signer;
use hmac::{Hmac, KeyInit, Mac};
use secrecy::zeroize::Zeroizing;
use sha2::Sha256;
use subtle::ConstantTimeEq;

/// A secret that signs, ready for use.
#[derive(Clone)]
pub struct SigningKey(Algorithm);

#[derive(Clone)]
enum Algorithm {
    /// `v1`
    Hmac(Box<Hmac<Sha256>>),
    /// `v1a`
    Ed25519(Box<ed25519_dalek::SigningKey>),
}

/// A text that is no signing secret. Never shows the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadSigningSecret {
    /// Neither of the two kinds.
    #[error("a signing secret begins with `whsec_` (HMAC-SHA256) or `whsk_` (ed25519)")]
    Prefix,
    /// A key to verify with.
    #[error("`whpk_` is the public half that receivers verify with; sign with the `whsk_` half")]
    PublicKey,
    /// The rest is no base64.
    #[error("what follows `whsec_` or `whsk_` in a signing secret must be base64 (with + and /)")]
    Base64,
    /// A `whsec_` of the wrong length.
    #[error("a `whsec_` secret must decode to 24 to 64 bytes, this one decodes to {0}")]
    HmacLength(usize),
    /// A `whsk_` of the wrong length.
    #[error(
        "a `whsk_` secret must decode to 32 bytes (seed) or 64 (seed and public key), this one decodes to {0}"
    )]
    Ed25519Length(usize),
    /// A `whsk_` whose two halves do not belong together.
    #[error("the public key in this `whsk_` secret does not belong to its seed")]
    KeyPair,
}

/// Standard base64, with or without its padding: people lose the trailing `=`.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

impl SigningKey {
    /// Reads `whsec_` and base64 of 24 to 64 bytes, or `whsk_` and base64 of a 32-byte seed, alone or followed by its
    /// 32-byte public key.
    pub fn parse(secret: &str) -> Result<Self, BadSigningSecret> {
        if let Some(encoded) = secret.strip_prefix("whsec_") {
            let bytes = decode(encoded)?;
            if !(24..=64).contains(&bytes.len()) {
                return Err(BadSigningSecret::HmacLength(bytes.len()));
            }
            let hmac = Hmac::new_from_slice(&bytes).map_err(|_| BadSigningSecret::HmacLength(bytes.len()))?;
            return Ok(Self(Algorithm::Hmac(Box::new(hmac))));
        }
        if let Some(encoded) = secret.strip_prefix("whsk_") {
            return Ok(Self(Algorithm::Ed25519(Box::new(ed25519_key(&decode(
                encoded,
            )?)?))));
        }
        Err(if secret.starts_with("whpk_") {
            BadSigningSecret::PublicKey
        } else {
            BadSigningSecret::Prefix
        })
    }

    /// The signature of one attempt, `v1,…` or `v1a,…`: `id` as in `webhook-id`, `timestamp` in seconds as in
    /// `webhook-timestamp`, `body` the bytes that are sent.
    pub fn sign(&self, id: &str, timestamp: i64, body: &[u8]) -> String {
        let head = format!("{id}.{timestamp}.");
        match &self.0 {
            Algorithm::Hmac(hmac) => {
                let mut hmac = hmac.as_ref().clone();
                hmac.update(head.as_bytes());
                hmac.update(body);
                encode("v1,", &hmac.finalize().into_bytes())
            }
            Algorithm::Ed25519(key) => {
                let signature = key.sign(&[head.as_bytes(), body].concat());
                encode("v1a,", &signature.to_bytes())
            }
        }
    }

    /// Whether one of the blank-separated signatures in `header` is this key's own. Takes the same time for every
    /// wrong signature of the right length. How old `timestamp` may be is for the caller to say.
    pub fn verifies(&self, id: &str, timestamp: i64, body: &[u8], header: &str) -> bool {
        // Both algorithms are deterministic, so whoever holds the secret verifies by signing.
        let own = self.sign(id, timestamp, body);
        header
            .split(' ')
            .any(|claimed| claimed.as_bytes().ct_eq(own.as_bytes()).into())
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Algorithm::Hmac(_) => "SigningKey(v1, redacted)",
            Algorithm::Ed25519(_) => "SigningKey(v1a, redacted)",
        })
    }
}

fn decode(encoded: &str) -> Result<Zeroizing<Vec<u8>>, BadSigningSecret> {
    BASE64
        .decode(encoded)
        .map(Zeroizing::new)
        .map_err(|_| BadSigningSecret::Base64)
}

fn ed25519_key(bytes: &[u8]) -> Result<ed25519_dalek::SigningKey, BadSigningSecret> {
    if let Ok(seed) = bytes.try_into() {
        return Ok(ed25519_dalek::SigningKey::from_bytes(seed));
    }
    let pair = bytes
        .try_into()
        .map_err(|_| BadSigningSecret::Ed25519Length(bytes.len()))?;
    ed25519_dalek::SigningKey::from_keypair_bytes(pair).map_err(|_| BadSigningSecret::KeyPair)
}

fn encode(version: &str, signature: &[u8]) -> String {
    let mut text = String::with_capacity(version.len() + 88);
    text.push_str(version);
    STANDARD.encode_string(signature, &mut text);
    text
}

#[cfg(test)]
mod tests;
