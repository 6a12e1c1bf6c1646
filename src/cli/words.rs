//! Numbers with the words that belong to them, at the name that every verb uses.

pub(super) use crate::core::spoken::counted;
