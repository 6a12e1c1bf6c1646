//! The configuration: parsed into types, all faults reported at once.
