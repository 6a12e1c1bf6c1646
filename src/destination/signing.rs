//! The `webhook-signature` header: one signature for each secret, so that secrets can be rotated.

use secrecy::ExposeSecret;

use crate::config::destination::SigningSecret;
use crate::core::signature::{BadSigningSecret, SigningKey};

/// Signs with one or more keys.
#[derive(Debug, Clone)]
pub struct Signer {
    keys: Vec<SigningKey>,
}

impl Signer {
    /// Reads `secrets`; none at all makes no signer.
    pub fn parse(secrets: &[SigningSecret]) -> Result<Option<Self>, BadSigningSecret> {
        let keys: Vec<_> = secrets
            .iter()
            .map(|secret| SigningKey::parse(secret.0.expose_secret()))
            .collect::<Result<_, _>>()?;
        Ok((!keys.is_empty()).then_some(Self { keys }))
    }

    /// The value of `webhook-signature`, see [`SigningKey::sign`]; signatures stand in the order of the secrets.
    pub fn signature(&self, id: &str, timestamp: i64, body: &[u8]) -> String {
        let signatures: Vec<_> = self
            .keys
            .iter()
            .map(|key| key.sign(id, timestamp, body))
            .collect();
        signatures.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const NEW: &str = "whsk_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

    fn signer(secrets: &[&str]) -> Option<Signer> {
        let secrets: Vec<_> = secrets
            .iter()
            .map(|secret| SigningSecret((*secret).into()))
            .collect();
        Signer::parse(&secrets).unwrap()
    }

    #[test]
    fn while_a_secret_is_rotated_both_the_old_and_the_new_key_verify() {
        let header = signer(&[OLD, NEW])
            .unwrap()
            .signature("ac1-0", 1_614_265_330, b"{}");
        assert_eq!(header.split(' ').count(), 2);
        for secret in [OLD, NEW] {
            assert!(
                SigningKey::parse(secret)
                    .unwrap()
                    .verifies("ac1-0", 1_614_265_330, b"{}", &header)
            );
        }
    }

    #[test]
    fn without_secrets_there_is_no_signer() {
        assert!(signer(&[]).is_none());
    }
}
