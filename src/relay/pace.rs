//! How long what is done beside the deliveries rests after each step of it.
//!
//! A step takes longer the more the deliveries need of the machine, and the rest after it grows with it. But a step that
//! stood still, since the database or the machine did, keeps the next one away for no longer than half a minute.

use std::time::Duration;

/// The share of the time that looks may take which mostly find nothing: one part in so many.
const LOOK_SHARE: u32 = 50;
/// For how many times as long as a step of a replay took there is none.
const REPLAY_REST: u32 = 2;
/// The longest rest.
const LONGEST: Duration = Duration::from_secs(30);

/// The rest after a look that took so long.
pub(super) fn after_look(took: Duration) -> Duration {
    (took * LOOK_SHARE).min(LONGEST)
}

/// The rest after a step of a replay that took so long.
pub fn after_replay_step(took: Duration) -> Duration {
    (took * REPLAY_REST).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_takes_a_fiftieth_of_the_time_and_a_step_of_a_replay_a_third() {
        let took = Duration::from_millis(10);
        assert_eq!(after_look(took), Duration::from_millis(500));
        assert_eq!(after_replay_step(took), Duration::from_millis(20));
    }

    #[test]
    fn what_stood_still_keeps_the_next_step_away_for_half_a_minute_at_most() {
        let stood_still = Duration::from_mins(10);
        assert_eq!(after_look(stood_still), Duration::from_secs(30));
        assert_eq!(after_replay_step(stood_still), Duration::from_secs(30));
    }
}
