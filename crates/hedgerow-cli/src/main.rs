//! The `hedgerow` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(hedgerow_cli::run(std::env::args_os()))
}
