//! Arguments of the commands that work on a model.

use std::path::PathBuf;

use clap::Args;

use super::fit::open_share;
use super::{DataArgs, DecisionArgs, RunArgs, SetArgs};

#[derive(Debug, Args)]
#[command(after_help = include_str!("help/predict.txt").trim_end())]
pub(crate) struct PredictArgs {
    /// Model file
    pub(crate) model: PathBuf,
    /// Rows to predict; - is standard input
    pub(crate) data: PathBuf,
    /// Where to write the predictions, as CSV; standard output if not given
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Write the probability of every class too
    #[arg(long)]
    pub(crate) proba: bool,
    /// Write intervals of this level too, such as 0.9. For a classifier: the ends between which the true probability of each class should lie that often
    /// (columns named lo and hi with the class behind). For regression: the bounds that should hold this share of the values
    #[arg(long, value_name = "SHARE", value_parser = open_share)]
    pub(crate) interval: Option<f64>,
    /// Write how unlike the rows that the model has learnt each row is: from 0 to 1, larger is stranger; one known row in twenty lies above 0.95
    #[arg(long)]
    pub(crate) outlier: bool,
    /// Measure how long one row takes on one thread, on up to 1,000 rows of the first batch
    #[arg(long)]
    pub(crate) latency: bool,
    #[command(flatten)]
    pub(crate) sets: SetArgs,
    #[command(flatten)]
    pub(crate) decisions: DecisionArgs,
    #[command(flatten)]
    pub(crate) data_args: DataArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Debug, Args)]
#[command(after_help = include_str!("help/evaluate.txt").trim_end())]
pub(crate) struct EvaluateArgs {
    /// Model file
    pub(crate) model: PathBuf,
    /// Labelled data; - is standard input
    pub(crate) data: PathBuf,
    /// Exit with 1 if the accuracy is below this
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) at_least: Option<f64>,
    /// Measure the permutation importance of each column: the accuracy lost when it is shuffled
    #[arg(long)]
    pub(crate) importances: bool,
    /// Write a page about the predictions: one HTML file that needs no network
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) data_args: DataArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Debug, Args)]
#[command(after_help = include_str!("help/info.txt").trim_end())]
pub(crate) struct InfoArgs {
    /// Data file or model file; - is standard input
    pub(crate) file: PathBuf,
    /// Show every column, not only the first
    #[arg(long)]
    pub(crate) all: bool,
    /// Show the progress of the training that will save this model file: jobs, accuracies, attraction. The exit code is 1 if nothing is being trained
    #[arg(long)]
    pub(crate) live: bool,
    #[command(flatten)]
    pub(crate) data_args: DataArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Debug, Args)]
#[command(after_help = include_str!("help/merge.txt").trim_end())]
pub(crate) struct MergeArgs {
    /// Model files, two or more
    #[arg(required = true, num_args = 2..)]
    pub(crate) models: Vec<PathBuf>,
    /// Where to save the result
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// A share, its ends too.
pub(super) fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.0..=1.0).contains(&value) => Ok(value),
        _ => Err("expected a share from 0 to 1".into()),
    }
}
