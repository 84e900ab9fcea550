//! What can be typed.

mod data;
mod fit;
mod model;
mod run;

use clap::{Parser, Subcommand};

pub(crate) use data::DataArgs;
pub(crate) use fit::{FitArgs, Kind};
pub(crate) use model::{EvaluateArgs, InfoArgs, MergeArgs, PredictArgs};
pub(crate) use run::RunArgs;

/// A classifier that keeps learning.
#[derive(Debug, Parser)]
#[command(
    name = "hedgerow",
    version,
    about = "A classifier that keeps learning: fit it to a table, ask it, see how far to trust it.",
    after_help = "Start with:\n  hedgerow info data.csv\n  hedgerow fit data.csv --target label --out m.hedgerow\n  \
                  hedgerow predict m.hedgerow new.csv --proba\n\n\
                  Exit codes: 0 done, 1 a negative result, 2 an error."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a model from labelled data
    Fit(FitArgs),
    /// Answer new rows: a label each, and probabilities
    Predict(PredictArgs),
    /// Judge a model on labelled data
    Evaluate(EvaluateArgs),
    /// Show what a data file or a model file holds
    Info(InfoArgs),
    /// Make one model of several that were fitted apart
    Merge(MergeArgs),
}
