//! The `hedgerow` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    hedgerow_cli::run(std::env::args_os())
}
