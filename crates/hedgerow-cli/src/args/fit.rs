//! Arguments of `fit`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use hedgerow::Kind;
use hedgerow::core::Task;

use super::CommonArgs;
use super::kind::kind;
use super::setting::setting;

#[derive(Debug, Args)]
#[command(after_help = include_str!("help/fit.txt").trim_end())]
pub(crate) struct FitArgs {
    /// Labelled data; - is standard input
    #[arg(required_unless_present = "help_params")]
    pub(crate) data: Option<PathBuf>,
    /// Kind of model
    #[arg(long, value_parser = kind(), default_value_t = Kind::default(), value_name = "KIND")]
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
    /// Keep this share of the rows, drawn at random, out of the training and evaluate the model on them
    #[arg(long, value_name = "SHARE", value_parser = open_share, conflicts_with = "test")]
    pub(crate) holdout: Option<f64>,
    /// Leave rows without a label out, and count rows without them; without this, a missing label is an error
    #[arg(long)]
    pub(crate) skip_unlabelled: bool,
    /// Save the model without its training rows: smaller, but it cannot go on learning or tell outliers
    #[arg(long)]
    pub(crate) frozen: bool,
    /// Save what `predict --interval` needs with the model, so that it need not be made when it is asked for
    #[arg(long)]
    pub(crate) interval: bool,
    /// Write a page about the model: one HTML file that needs no network
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// For a forest: save the out-of-bag probabilities of the training rows, as CSV
    #[arg(long, value_name = "FILE")]
    pub(crate) oob: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

/// Tasks by name.
pub(super) fn task() -> impl TypedValueParser<Value = Task> {
    let names = [("classification", "Labels"), ("regression", "Numbers")];
    PossibleValuesParser::new(names.map(|(name, help)| PossibleValue::new(name).help(help)))
        .map(|name| if name == "regression" { Task::Regression } else { Task::Classification })
}

/// A share without its ends.
pub(super) fn open_share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value < 1.0 => Ok(value),
        _ => Err("expected a share between 0 and 1".into()),
    }
}
