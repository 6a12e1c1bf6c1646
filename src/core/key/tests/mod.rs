//! Tests of the key: the vectors that other implementations check themselves by, and what must hold for all facts.

mod properties;
mod reference;
mod vectors;
