//! The canonical form of a payload, and the row hash over it.
