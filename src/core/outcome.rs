//! What an attempt met.
