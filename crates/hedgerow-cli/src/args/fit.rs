//! Arguments of `fit`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use hedgerow::Kind;
use hedgerow::core::Task;

use super::kind::kind;
use super::run::LimitArgs;
use super::setting::setting;
use super::{DataArgs, RunArgs};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    hedgerow fit iris.csv --target species --out iris.hedgerow\n  \
    hedgerow fit train.csv --target 0 --no-header --test test.csv --set n_trees=500\n  \
    hedgerow fit houses.csv --target price --model gp --task regression --holdout 0.1\n  \
    hedgerow fit train.csv --target label --model ivm --set n_active=200 --holdout 0.2\n  \
    hedgerow fit train-images-idx3-ubyte.gz --max-seconds 10 --set n_trees=0 --out digits.hedgerow\n\n\
    Ctrl-C ends the training early; the model so far is saved if --out was given.")]
pub(crate) struct FitArgs {
    /// Labelled data; - is standard input
    #[arg(required_unless_present = "help_params")]
    pub(crate) data: Option<PathBuf>,
    /// Kind of model
    #[arg(long, value_parser = kind(), default_value_t = Kind::Forest, value_name = "KIND")]
    pub(crate) model: Kind,
    /// What the target is: `classification` for labels, or `regression` for numbers. Without this, classification, unless the kind of model
    /// can do regression and the target looks continuous: numbers, most of them different
    #[arg(long, value_parser = task(), value_name = "TASK")]
    pub(crate) task: Option<Task>,
    /// Set a parameter of the model (may be repeated); --help-params lists them
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    pub(crate) settings: Vec<(String, String)>,
    /// List the parameters of the model with their meaning and defaults
    #[arg(long)]
    pub(crate) help_params: bool,
    /// Seed of all random choices: same seed, same data, same model (the same as --set seed=N)
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Where to save the model
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Labelled data to evaluate the model on
    #[arg(long, value_name = "DATA")]
    pub(crate) test: Option<PathBuf>,
    /// Labels of the --test data, for data that come as a bare array
    #[arg(long, value_name = "FILE")]
    pub(crate) test_labels: Option<PathBuf>,
    /// Keep this share of the rows, drawn at random, out of the training and evaluate the model on them
    #[arg(long, value_name = "SHARE", value_parser = share, conflicts_with = "test")]
    pub(crate) holdout: Option<f64>,
    /// Save the model without its training rows: smaller, but it cannot go on learning
    #[arg(long)]
    pub(crate) frozen: bool,
    /// Write a page about the model: one HTML file that needs no network
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// For a forest: save the out-of-bag probabilities of the training rows, as CSV
    #[arg(long, value_name = "FILE")]
    pub(crate) oob: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) data_args: DataArgs,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Tasks by name.
fn task() -> impl TypedValueParser<Value = Task> {
    let names = [("classification", "Labels"), ("regression", "Numbers")];
    PossibleValuesParser::new(names.map(|(name, help)| PossibleValue::new(name).help(help)))
        .map(|name| if name == "regression" { Task::Regression } else { Task::Classification })
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value < 1.0 => Ok(value),
        _ => Err("expected a share between 0 and 1".into()),
    }
}
