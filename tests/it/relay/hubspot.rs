//! Rows become contacts in a HubSpot portal: the cases that people met, through the whole relay.

mod preview;
mod refusals;
mod rows;
mod story;
mod tokens;
mod waits;

use super::world::{Backend, on_both};
