//! How much of what a receiver allows in a day is used, as it says itself, and when to stop before all of it is.
//!
//! A receiver's own word, passed on: nothing is counted here.

/// Calls of a day, as the receiver's last answer put them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct Usage {
    /// Calls that were made, by whomever.
    pub used: u32,
    /// Calls that are allowed.
    pub allowed: u32,
    /// While fewer than so many are left, nothing is sent: they are others'. 0 where nothing is kept back.
    pub reserve: u32,
}

impl Usage {
    /// The usage where the share `reserved` (0 to 1) of the calls is left to others.
    pub fn reserving(used: u32, allowed: u32, reserved: f64) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a `u32` fits one"
        )]
        let reserve = (f64::from(allowed) * reserved.clamp(0.0, 1.0)).ceil() as u32;
        Self {
            used,
            allowed,
            reserve,
        }
    }

    /// Calls that are left.
    pub fn left(&self) -> u32 {
        self.allowed.saturating_sub(self.used)
    }

    /// Whether what is left is kept for others.
    pub fn reserve_is_reached(&self) -> bool {
        self.left() < self.reserve
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserve_is_reached_once_less_than_the_share_is_left() {
        for (used, allowed, share, reached) in [
            (4_750, 5_000, 0.05, false),
            (4_751, 5_000, 0.05, true),
            (237, 250, 0.05, false),
            (238, 250, 0.05, true),
            (5_000, 5_000, 0.0, false),
            (5_001, 5_000, 0.0, false),
            (0, 5_000, 1.0, false),
            (1, 5_000, 1.0, true),
        ] {
            let usage = Usage::reserving(used, allowed, share);
            assert_eq!(usage.reserve_is_reached(), reached, "{usage:?}");
        }
    }
}
