//! The command line: arguments in, a command's result out, as text or JSON.
//!
//! `args` says what can be typed, `commands` does it and returns a result, `output` shows results. Only `output` prints.

mod args;
mod commands;
mod machine;
mod output;

use std::ffi::OsString;

use clap::Parser as _;

use args::{Cli, Command};

/// Runs the program with its arguments and says how it ended: 0 done, 1 a negative result, 2 an error.
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(message) => {
            // Help and version go to standard output and are no error; a broken pipe is none either.
            let _ = message.print();
            return if message.use_stderr() { 2 } else { 0 };
        }
    };
    let result = match cli.command {
        Command::Fit(args) => commands::fit::run(&args),
        Command::Train(args) => commands::train::run(&args),
        Command::Update(args) => commands::update::run(&args),
        Command::Predict(args) => commands::predict::run(&args),
        Command::Evaluate(args) => commands::evaluate::run(&args),
        Command::Stream(args) => commands::stream::run(&args),
        Command::Store(args) => commands::store::run(&args),
        Command::Info(args) => commands::info::run(&args),
        Command::Merge(args) => commands::merge::run(&args),
        Command::Generate(args) => commands::generate::run(&args),
        Command::Demo(args) => commands::demo::run(&args),
    };
    match result {
        Ok(verdict) => verdict.exit_code(),
        Err(error) if output::is_broken_pipe(&error) => 0,
        Err(error) => {
            output::error(&error);
            2
        }
    }
}
