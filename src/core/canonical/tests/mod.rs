//! Tests of the canonical form: each rule by example, then what must hold for every payload.

pub(in crate::core) mod documents;
mod examples;
mod properties;
mod second_way;
