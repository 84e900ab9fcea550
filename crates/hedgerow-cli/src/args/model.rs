//! Arguments of the commands that work on a model.

use std::path::PathBuf;

use clap::Args;

use super::{DataArgs, RunArgs};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    hedgerow predict m.hedgerow new.csv --out predictions.csv\n  \
    zcat new.csv.gz | hedgerow predict m.hedgerow - --format csv --proba\n\n\
    Rows are read, predicted and written in batches: the data may be larger than memory.")]
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
    /// For regression: write the bounds of the interval that should hold this share of the values too, such as 0.9
    #[arg(long, value_name = "SHARE", value_parser = inner_share)]
    pub(crate) interval: Option<f64>,
    /// Measure how long one row takes on one thread, on up to 1,000 rows of the first batch
    #[arg(long)]
    pub(crate) latency: bool,
    #[command(flatten)]
    pub(crate) data_args: DataArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    hedgerow evaluate m.hedgerow test.csv\n  \
    hedgerow evaluate m.hedgerow test.csv --at-least 0.95 || echo 'not good enough'")]
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
#[command(after_help = "Examples:\n  \
    hedgerow info data.csv --target label\n  \
    hedgerow info m.hedgerow\n  \
    hedgerow info --live m.hedgerow")]
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
#[command(after_help = "Examples:\n  \
    hedgerow merge monday.hedgerow tuesday.hedgerow --out both.hedgerow\n\n\
    The models must have the same columns. Their classes may differ: the result knows them all.")]
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

fn inner_share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value < 1.0 => Ok(value),
        _ => Err("expected a share between 0 and 1".into()),
    }
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.0..=1.0).contains(&value) => Ok(value),
        _ => Err("expected a share from 0 to 1".into()),
    }
}
