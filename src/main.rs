//! The `aftercommit` command. Everything it does stands in the library; see `cli`.

use std::process::ExitCode;

fn main() -> ExitCode {
    aftercommit::cli::main()
}
