//! The command line: arguments in, a command's result out, as text or JSON.
//!
//! `args` defines what can be typed, `commands` does it and returns a result, `output` shows results. Only `output` prints.

mod args;
mod commands;
mod output;
mod process;

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory as _, Parser as _};
use hedgerow::core::error::nearest;

use args::{Cli, Command};

/// Runs the program with its arguments and returns its exit code: 0 done, 1 a negative result, 2 an error.
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(message) => {
            let message = with_suggestion(message, &args);
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
        Command::Query(args) => commands::query::run(&args),
        Command::Store(command) => commands::store::run(&command),
        Command::Outliers(args) => commands::outliers::run(&args),
        Command::Simulate(args) => commands::simulate::run(&args),
        Command::Info(args) => commands::info::run(&args),
        Command::Merge(args) => commands::merge::run(&args),
        Command::Generate(args) => commands::generate::run(&args),
        Command::Demo(args) => commands::demo::run(&args),
    };
    match result {
        Ok(outcome) => outcome as u8,
        Err(error) if output::is_broken_pipe(&error) => 0,
        Err(error) => {
            output::error(&error);
            2
        }
    }
}

/// The same message with the nearest command, where the parser finds none: it misses short names with exchanged letters.
fn with_suggestion(mut message: clap::Error, args: &[OsString]) -> clap::Error {
    let Some(ContextValue::String(wanted)) = message.get(ContextKind::InvalidSubcommand) else {
        return message;
    };
    let cli = Cli::command();
    let within = args.get(1).and_then(|name| cli.find_subcommand(name)).unwrap_or(&cli);
    let near = nearest(wanted, within.get_subcommands().map(clap::Command::get_name));
    if let (Some(name), None) = (near, message.get(ContextKind::SuggestedSubcommand)) {
        let names = ContextValue::Strings(vec![name.to_string()]);
        message.insert(ContextKind::SuggestedSubcommand, names);
    }
    message
}
