//! Arguments of `query`.

use std::path::PathBuf;

use clap::{Args, value_parser};
use hedgerow::Kind;
use hedgerow::active::StrategyName;

use super::run::LimitArgs;
use super::setting::setting;
use super::simulate::strategy;
use super::{DataArgs, RunArgs};

#[derive(Debug, Args)]
#[command(after_help = include_str!("help/query.txt").trim_end())]
pub(crate) struct QueryArgs {
    /// Rows to choose from; - is standard input. Rows whose label is there already are learnt from, not chosen. Before it, a model file may be given
    #[arg(value_name = "[MODEL] POOL", num_args = 1..=2, required_unless_present = "help_params")]
    pub(crate) files: Vec<PathBuf>,
    /// Model that asks: a model file, or the kind of model to train on the labels there are (forest, ivm, ...) [default: forest]
    #[arg(long, value_name = "FILE|KIND", value_parser = model)]
    pub(crate) model: Option<QueryModel>,
    /// Labelled rows in a file of their own
    #[arg(long, value_name = "DATA", requires = "target")]
    pub(crate) labelled: Option<PathBuf>,
    /// How many rows to choose
    #[arg(short = 'n', long = "n", value_name = "N", default_value_t = 10, value_parser = value_parser!(u32).range(1..))]
    pub(crate) n: u32,
    /// How rows are chosen
    #[arg(long, value_parser = strategy(), default_value_t = StrategyName::Auto, value_name = "STRATEGY")]
    pub(crate) strategy: StrategyName,
    /// Where to write the chosen rows, as CSV: row, utility, reason, prediction, probability, and the values of the row
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Leave out the advice whether to stop, for which models of fewer labels are trained too
    #[arg(long)]
    pub(crate) no_advice: bool,
    /// Set a parameter of the model, or one of the choice or the advice, as in query.diversity=0.5 or stopping.rule=cost (may be repeated);
    /// --help-params lists them
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    pub(crate) settings: Vec<(String, String)>,
    /// List the parameters with their meaning and defaults
    #[arg(long)]
    pub(crate) help_params: bool,
    /// Seed of all random choices: same seed, same rows, same labels, same query
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) data_args: DataArgs,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// The model whose predictions rows are chosen by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum QueryModel {
    /// One that was trained before.
    File(PathBuf),
    /// One that is trained on the labels there are.
    Kind(Kind),
}

fn model(text: &str) -> Result<QueryModel, String> {
    if let Ok(kind) = text.parse::<Kind>() {
        return Ok(QueryModel::Kind(kind));
    }
    let path = PathBuf::from(text);
    // A mistyped kind is more likely than a file that is not there and has no ending.
    if path.exists() || path.extension().is_some() {
        return Ok(QueryModel::File(path));
    }
    let kinds: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
    Err(format!("expected a model file, or one of {}", kinds.join(", ")))
}
