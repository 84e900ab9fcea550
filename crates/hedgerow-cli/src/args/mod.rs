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
pub(crate) use fit::FitArgs;
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
    about = "A classifier that keeps learning: fit it to a table, predict new rows, see how far to trust the predictions.",
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
    /// Fit a model to labelled data
    Fit(FitArgs),
    /// Train a model in slices, the part with the largest expected gain first, and show the progress
    Train(TrainArgs),
    /// Update a model with more labelled data
    Update(UpdateArgs),
    /// Predict labels and probabilities for new rows
    Predict(PredictArgs),
    /// Evaluate a model on labelled data
    Evaluate(EvaluateArgs),
    /// Predict, then learn, row after row, with prequential figures
    Stream(StreamArgs),
    /// Show a store of rows and labels, set labels, or export the rows
    Store(StoreArgs),
    /// Show what a data file or a model file holds
    Info(InfoArgs),
    /// Merge models that were fitted separately into one
    Merge(MergeArgs),
    /// Generate data streams with concept drift at known rows
    Generate(GenerateArgs),
    /// Learn handwritten digits online, show the progress, and write a report
    Demo(DemoArgs),
}
