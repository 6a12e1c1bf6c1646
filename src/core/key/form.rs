//! The forms in which a key goes over the wire, since receivers differ in what they take.

use std::fmt;
use std::str::FromStr;

use super::super::hex::Hex;
use super::super::row::UnknownWord;

/// How a key is written into its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub enum KeyForm {
    /// `ac1-` and 32 hex digits: 36 characters, valid wherever a documented limit is 36 or more.
    #[default]
    Token,
    /// The token in double quotes: a structured field string, as the IETF draft on idempotency keys has it.
    Quoted,
    /// A UUID of version 8.
    Uuid,
    /// `ac1-` and 26 hex digits, for receivers that stop at 30 characters.
    Short,
    /// All 64 hex digits.
    Hex,
}

impl KeyForm {
    /// The word in configuration and command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::Quoted => "quoted",
            Self::Uuid => "uuid",
            Self::Short => "short",
            Self::Hex => "hex",
        }
    }

    /// The digest of a key in this form.
    pub(super) fn write(self, digest: &[u8; 32]) -> String {
        match self {
            Self::Token => format!("ac1-{}", Hex(&digest[..16])),
            Self::Quoted => format!("\"ac1-{}\"", Hex(&digest[..16])),
            Self::Uuid => {
                let mut bytes = [0; 16];
                bytes.copy_from_slice(&digest[..16]);
                uuid::Builder::from_custom_bytes(bytes).into_uuid().to_string()
            }
            Self::Short => format!("ac1-{}", Hex(&digest[..13])),
            Self::Hex => Hex(digest).to_string(),
        }
    }
}

impl fmt::Display for KeyForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for KeyForm {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        [Self::Token, Self::Quoted, Self::Uuid, Self::Short, Self::Hex]
            .into_iter()
            .find(|form| form.as_str() == word)
            .ok_or_else(|| UnknownWord {
                what: "key form",
                word: word.to_owned(),
                known: "token, quoted, uuid, short, hex",
            })
    }
}

impl TryFrom<String> for KeyForm {
    type Error = UnknownWord;

    fn try_from(word: String) -> Result<Self, UnknownWord> {
        word.parse()
    }
}

impl From<KeyForm> for &'static str {
    fn from(form: KeyForm) -> Self {
        form.as_str()
    }
}
