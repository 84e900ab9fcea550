//! What can be typed.

mod data;
mod demo;
mod fit;
mod generate;
mod kind;
mod learn;
mod model;
mod run;
mod setting;
mod store;
mod train;

use clap::{Parser, Subcommand};

pub(crate) use data::DataArgs;
pub(crate) use demo::DemoArgs;
pub(crate) use fit::{FitArgs, Task};
pub(crate) use generate::{Drift, DriftArgs, GenerateArgs, StreamKind};
pub(crate) use learn::{StreamArgs, UpdateArgs};
pub(crate) use model::{EvaluateArgs, InfoArgs, MergeArgs, PredictArgs};
pub(crate) use run::{LimitArgs, RunArgs};
pub(crate) use store::{StoreArgs, StoreCommand, StoreExportArgs, StoreInfoArgs, StoreLabelArgs};
pub(crate) use train::TrainArgs;

/// A classifier that keeps learning.
#[derive(Debug, Parser)]
#[command(
    name = "hedgerow",
    version,
    about = "A classifier that keeps learning: fit it to a table, ask it, see how far to trust it.",
    after_help = "Start with:\n  hedgerow demo\n  hedgerow fit data.csv --target label --out m.hedgerow\n  \
                  hedgerow predict m.hedgerow new.csv --proba\n  hedgerow update m.hedgerow more.csv\n\n\
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
    /// Make a model in slices, what gains most first, and show how it goes
    Train(TrainArgs),
    /// Teach a model more
    Update(UpdateArgs),
    /// Answer new rows: a label each, and probabilities
    Predict(PredictArgs),
    /// Judge a model on labelled data
    Evaluate(EvaluateArgs),
    /// Answer rows and learn them, one after the other, and tell how it goes
    Stream(StreamArgs),
    /// Look into a store of rows and labels, give labels to its rows, or take the rows out
    Store(StoreArgs),
    /// Show what a data file or a model file holds
    Info(InfoArgs),
    /// Make one model of several that were fitted apart
    Merge(MergeArgs),
    /// Make rows to try things on, with changes at known places
    Generate(GenerateArgs),
    /// Learn handwritten digits online, show how it goes, and write a report
    Demo(DemoArgs),
}
