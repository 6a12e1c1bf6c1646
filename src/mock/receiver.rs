//! A webhook receiver that keeps a ledger by key and can misbehave on demand.
