//! Logs: one line for a person, fields for a machine.
