//! Tokens: who may look, and who may change something.
//!
//! A token is shown once, when it is made; what is kept is its SHA-256. It is found by that: what the comparison of two
//! digests gives away by its time says nothing of the token behind them, and 256 random bits need no slow hash. A name is
//! never given twice, since the audit knows people by it.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};

use super::act::Actor;
use super::{AdminError, AdminStore};
use crate::core::hex::Hex;
use crate::core::row::UnknownWord;
use crate::core::time::Timestamp;
use crate::store::database::{Args, Row, sql};
use crate::store::{StoreError, leases, pauses};

/// What a token begins with, so that people and programs that look for leaked secrets know one when they see it.
const PREFIX: &str = "aftercommit_";
/// Bytes of chance in a token.
const BYTES: usize = 32;
/// Names that the audit knows otherwise: the token of the configuration, the relay, the command line.
const RESERVED: [&str; 3] = ["config", "relay", "cli"];

/// What the bearer of a token may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Look.
    Viewer,
    /// Look, and change something.
    Operator,
}

/// The name of a token: 1 to 64 of ASCII letters, digits and `. _ @ -`, and none that the audit knows otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenName(String);

/// A token as its bearer sends it. Never shown by `Debug`.
#[derive(Debug, Clone)]
pub struct TokenText(SecretString);

/// What is known of a token, which is all but the token.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Token {
    /// Its name.
    pub name: String,
    /// What its bearer may do.
    pub role: Role,
    /// When it was made.
    pub created_at: Timestamp,
    /// By whom.
    pub created_by: String,
    /// When it ends by itself, if it does.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked, if it was.
    pub revoked_at: Option<Timestamp>,
}

/// Whose token it is, and what it allows.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct Bearer {
    /// The name of the token; `config` is that of the configuration.
    #[schema(examples("ada"))]
    pub name: String,
    /// What it allows.
    pub role: Role,
}

impl TokenText {
    /// The token that these random bytes make.
    pub fn of(random: [u8; BYTES]) -> Self {
        Self(format!("{PREFIX}{}", Hex(&random)).into())
    }

    /// What was sent, if it looks like a token at all. Whatever else is sent is not worth a look-up.
    pub fn read(sent: &[u8]) -> Option<Self> {
        let digits = sent.strip_prefix(PREFIX.as_bytes())?;
        let text = str::from_utf8(sent).ok()?;
        (digits.len() == 2 * BYTES).then(|| Self(text.to_owned().into()))
    }

    /// The token, to be shown once.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    fn digest(&self) -> Vec<u8> {
        Sha256::digest(self.expose()).to_vec()
    }
}

impl AdminStore {
    /// Makes a token that ends after `lifetime`, if one is given.
    pub async fn create_token(
        &self,
        name: &TokenName,
        role: Role,
        lifetime: Option<Duration>,
        text: &TokenText,
        actor: &Actor,
    ) -> Result<Token, AdminError> {
        let (wanted, digest, actor) = (name.0.clone(), text.digest(), actor.clone());
        let created = self.database.write(move |transaction| {
            Box::pin(async move {
                let now = leases::now(transaction).await?;
                let args = Args::new()
                    .text(&wanted)
                    .text(role.as_str())
                    .bytes(digest)
                    .time(now)
                    .text(actor.name())
                    .time(lifetime.map(|lifetime| now.plus(lifetime)));
                let rows = transaction.rows(sql!(shared "create_token"), args).await?;
                let Some(row) = rows.first() else {
                    return Ok(None);
                };
                let subject = format!("{role} token {wanted}");
                pauses::audit(transaction, &actor, "create", &subject, None).await?;
                Token::read(row).map(Some)
            })
        });
        created
            .await?
            .ok_or_else(|| AdminError::TokenExists(name.0.clone()))
    }

    /// Every token that was ever made, by name.
    pub async fn tokens(&self) -> Result<Vec<Token>, StoreError> {
        let rows = self.database.read(sql!(shared "tokens"), Args::new()).await?;
        rows.iter().map(Token::read).collect()
    }

    /// Ends a token. Nothing happens to one that was revoked before.
    pub async fn revoke_token(&self, name: &str, actor: &Actor) -> Result<Token, AdminError> {
        let (wanted, actor) = (name.to_owned(), actor.clone());
        let revoked = self.database.write(move |transaction| {
            Box::pin(async move {
                let args = || Args::new().text(&wanted);
                if transaction.execute(sql!(shared "revoke_token"), args()).await? > 0 {
                    let subject = format!("token {wanted}");
                    pauses::audit(transaction, &actor, "revoke", &subject, None).await?;
                }
                let rows = transaction.rows(sql!(shared "token"), args()).await?;
                rows.first().map(Token::read).transpose()
            })
        });
        revoked
            .await?
            .ok_or_else(|| AdminError::UnknownToken(name.to_owned()))
    }

    /// Whose token this is; none if there is no such token, or it has ended.
    pub async fn bearer(&self, text: &TokenText) -> Result<Option<Bearer>, StoreError> {
        let args = Args::new().bytes(text.digest());
        let rows = self.database.read(sql!(shared "bearer"), args).await?;
        let bearer = |row: &Row| {
            Ok(Bearer {
                name: row.text("name")?.to_owned(),
                role: row.word("role")?,
            })
        };
        rows.first().map(bearer).transpose()
    }
}

impl Token {
    /// A row of `token`.
    fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            name: row.text("name")?.to_owned(),
            role: row.word("role")?,
            created_at: row.time("created_at")?,
            created_by: row.text("created_by")?.to_owned(),
            expires_at: row.opt_time("expires_at")?,
            revoked_at: row.opt_time("revoked_at")?,
        })
    }
}

impl Role {
    /// The word in SQL, API and command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Role {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        match word {
            "viewer" => Ok(Self::Viewer),
            "operator" => Ok(Self::Operator),
            _ => Err(UnknownWord {
                what: "role",
                word: word.to_owned(),
                known: "viewer, operator",
            }),
        }
    }
}

impl FromStr for TokenName {
    type Err = AdminError;

    fn from_str(text: &str) -> Result<Self, AdminError> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._@-".contains(&byte);
        let named = (1..=64).contains(&text.len()) && text.bytes().all(allowed);
        if named && !RESERVED.contains(&text) {
            Ok(Self(text.to_owned()))
        } else {
            Err(AdminError::TokenName(text.to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_by_its_prefix_and_its_length_and_never_shown() {
        let text = TokenText::of([7; 32]);
        assert_eq!(text.expose().len(), "aftercommit_".len() + 64);
        assert_eq!(
            TokenText::read(text.expose().as_bytes()).unwrap().digest(),
            text.digest()
        );
        assert!(!format!("{text:?}").contains("0707"));
        for other in ["", "aftercommit_", "a-token-for-tests", &text.expose()[1..]] {
            assert!(TokenText::read(other.as_bytes()).is_none(), "{other}");
        }
        let torn = [b"aftercommit_".as_slice(), &[0xff; 64]].concat();
        assert!(TokenText::read(&torn).is_none());
    }

    #[test]
    fn a_name_is_one_that_the_audit_can_tell_from_every_other() {
        for name in ["ada", "ada@example.org", "ci_2-deploy"] {
            assert!(name.parse::<TokenName>().is_ok(), "{name}");
        }
        for name in ["", "cli ada", "config", "relay", "cli", "zoë", &"a".repeat(65)] {
            let refused = name.parse::<TokenName>();
            assert!(matches!(refused, Err(AdminError::TokenName(_))), "{name}");
        }
    }
}
