//! The assertion of the JWT bearer flow: its RS256 signature and its claims. Pure; the time is an argument.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jiff::Timestamp;
use rustls::SignatureScheme;
use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::pki_types::pem::PemObject as _;
use serde::Deserialize;

use crate::mock::crm::Value;

/// How far ahead an assertion may expire, in seconds: three minutes, and what clocks may differ by.
const LONGEST: i64 = 180 + 30;

/// The RSA key by which assertions are checked.
#[derive(Debug, Clone)]
pub struct PublicKey(Vec<u8>);

/// A text that holds no RSA public key.
#[derive(Debug, thiserror::Error)]
#[error("this is no RSA public key in PEM; make one with `openssl rsa -in key.pem -pubout`")]
pub struct NoPublicKey;

/// What an assertion says.
#[derive(Debug, Deserialize)]
pub(super) struct Claims {
    /// The client id.
    pub(super) iss: String,
    /// The user's name.
    pub(super) sub: String,
    /// A number, or text with one: real clients send both.
    exp: Value,
}

impl PublicKey {
    /// Reads `-----BEGIN PUBLIC KEY-----`.
    pub fn from_pem(pem: &str) -> Result<Self, NoPublicKey> {
        let info = SubjectPublicKeyInfoDer::from_pem_slice(pem.as_bytes()).map_err(|_| NoPublicKey)?;
        let key = key_in(&info).ok_or(NoPublicKey)?;
        Ok(Self(key.to_vec()))
    }

    fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let known = rustls::crypto::ring::default_provider().signature_verification_algorithms;
        let mut schemes = known.mapping.iter();
        let Some((_, algorithms)) = schemes.find(|(scheme, _)| *scheme == SignatureScheme::RSA_PKCS1_SHA256)
        else {
            return false;
        };
        let verifies = |key: &&dyn rustls::pki_types::SignatureVerificationAlgorithm| {
            key.verify_signature(&self.0, message, signature).is_ok()
        };
        algorithms.iter().any(verifies)
    }
}

/// The claims of an assertion, or what the token endpoint says of it. Without a key any signature will do.
pub(super) fn read(assertion: &str, key: Option<&PublicKey>, now: Timestamp) -> Result<Claims, &'static str> {
    const INVALID: &str = "invalid assertion";
    let (message, signature) = assertion.rsplit_once('.').ok_or(INVALID)?;
    let (header, claims) = message.split_once('.').ok_or(INVALID)?;
    let decode = |part: &str| BASE64_URL_SAFE_NO_PAD.decode(part).map_err(|_| INVALID);
    let header: Header = serde_json::from_slice(&decode(header)?).map_err(|_| INVALID)?;
    let signature = decode(signature)?;
    let signed = key.is_none_or(|key| key.verifies(message.as_bytes(), &signature));
    if header.alg != "RS256" || !signed {
        return Err(INVALID);
    }
    let claims: Claims = serde_json::from_slice(&decode(claims)?).map_err(|_| INVALID)?;
    let expiry: i64 = claims
        .exp
        .as_text()
        .and_then(|text| text.parse().ok())
        .ok_or(INVALID)?;
    match expiry - now.as_second() {
        ..=0 => Err("expired authorization code"),
        1..=LONGEST => Ok(claims),
        _ => Err("invalid assertion: it expires more than 3 minutes ahead"),
    }
}

#[derive(Deserialize)]
struct Header {
    alg: String,
}

/// The bits of the key in a DER `SEQUENCE { algorithm, BIT STRING }`.
fn key_in(info: &[u8]) -> Option<&[u8]> {
    const SEQUENCE: u8 = 0x30;
    const BIT_STRING: u8 = 0x03;
    let (body, _) = element(SEQUENCE, info)?;
    let (_, rest) = element(SEQUENCE, body)?;
    let (bits, _) = element(BIT_STRING, rest)?;
    // The first byte counts unused bits, of which a key has none.
    bits.strip_prefix(&[0])
}

/// The content of the element with this tag at the beginning, and what stands behind it.
fn element(tag: u8, der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&found, der) = der.split_first()?;
    let (&first, der) = der.split_first()?;
    let (length, der) = match first {
        0..=0x7f => (usize::from(first), der),
        0x81 | 0x82 => {
            let (bytes, der) = der.split_at_checked(usize::from(first - 0x80))?;
            let length = bytes
                .iter()
                .fold(0, |length, byte| length << 8 | usize::from(*byte));
            (length, der)
        }
        _ => return None,
    };
    if found != tag {
        return None;
    }
    der.split_at_checked(length)
}
