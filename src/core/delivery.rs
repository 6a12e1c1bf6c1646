//! The states of a delivery, and the facts that each state carries.
