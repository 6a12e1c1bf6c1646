//! The `aftercommit` command. Everything it does stands in the library; see `cli`.

fn main() {}
