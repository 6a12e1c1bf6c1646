//! Who changes something, from where, and why: what every change puts on record.

use super::AdminError;

/// The longest reason, in characters: it stands in lists and in a line of the log.
pub const MAX_REASON_CHARS: usize = 1_000;

/// Who changes something, and from where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    name: String,
    origin: String,
}

/// Who changes something, from where, and why. All of it goes on record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Act {
    actor: Actor,
    reason: String,
}

impl Actor {
    /// Somebody called `name` (of a token, of a user of this machine), at `origin`: an address, or `command line`.
    pub fn new(name: impl Into<String>, origin: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            origin: origin.into(),
        }
    }

    /// Who.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// From where.
    pub fn origin(&self) -> &str {
        &self.origin
    }
}

impl Act {
    /// What `actor` does, for `reason`: 1 to [`MAX_REASON_CHARS`] characters.
    pub fn new(actor: Actor, reason: &str) -> Result<Self, AdminError> {
        let reason = reason.trim();
        match reason.chars().count() {
            0 => Err(AdminError::NoReason),
            long if long > MAX_REASON_CHARS => Err(AdminError::LongReason(long)),
            _ => Ok(Self {
                actor,
                reason: reason.to_owned(),
            }),
        }
    }

    /// Who, and from where.
    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// Why.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}
