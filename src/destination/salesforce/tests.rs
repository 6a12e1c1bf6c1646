//! Requests and answers as values: what is sent of a batch, and what each recorded answer means for its rows.

mod answers;
mod login;
pub(super) mod requests;

use crate::core::time::Timestamp;

const NOW: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);
