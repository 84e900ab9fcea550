//! What can be typed.

mod common;
mod data;
mod decision;
mod demo;
mod fit;
mod generate;
mod kind;
mod learn;
mod model;
mod outliers;
mod query;
mod run;
mod setting;
mod simulate;
mod store;
mod train;

use clap::{Parser, Subcommand};

pub(crate) use common::CommonArgs;
pub(crate) use data::DataArgs;
pub(crate) use decision::{DecisionArgs, SetArgs};
pub(crate) use demo::DemoArgs;
pub(crate) use fit::FitArgs;
pub(crate) use generate::{Drift, DriftArgs, GenerateArgs, StreamKind};
pub(crate) use learn::{StreamArgs, UpdateArgs};
pub(crate) use model::{EvaluateArgs, InfoArgs, MergeArgs, PredictArgs};
pub(crate) use outliers::OutlierArgs;
pub(crate) use query::{QueryArgs, QueryModel};
pub(crate) use run::{LimitArgs, RunArgs};
pub(crate) use simulate::SimulateArgs;
pub(crate) use store::{StoreCommand, StoreExportArgs, StoreInfoArgs, StoreLabelArgs};
pub(crate) use train::TrainArgs;

/// A classifier that keeps learning.
#[derive(Debug, Parser)]
#[command(
    name = "hedgerow",
    version,
    about = "A classifier that keeps learning: fit it to a table, predict new rows, see how far to trust the predictions.",
    after_help = include_str!("help/hedgerow.txt").trim_end()
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
    /// Choose the rows whose labels would help a model most
    Query(QueryArgs),
    /// Show a store of rows and labels, set labels, or export the rows
    #[command(subcommand)]
    Store(StoreCommand),
    /// Find the strange rows of a table without labels
    Outliers(OutlierArgs),
    /// Compare query strategies on a table whose labels are known
    Simulate(SimulateArgs),
    /// Show what a data file or a model file holds
    Info(InfoArgs),
    /// Merge models that were fitted separately into one
    Merge(MergeArgs),
    /// Generate data streams with concept drift at known rows
    Generate(GenerateArgs),
    /// Learn handwritten digits online, show the progress, and write a report
    Demo(DemoArgs),
}
