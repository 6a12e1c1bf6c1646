//! The clock, as a parameter.
