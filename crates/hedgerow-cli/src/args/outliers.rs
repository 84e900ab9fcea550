//! Arguments of `outliers`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use hedgerow::outliers::Method;

use super::run::LimitArgs;
use super::setting::setting;
use super::{DataArgs, RunArgs};

#[derive(Debug, Args)]
#[command(after_help = include_str!("help/outliers.txt").trim_end())]
pub(crate) struct OutlierArgs {
    /// Rows to find outliers among; - is standard input
    #[arg(required_unless_present = "help_params")]
    pub(crate) data: Option<PathBuf>,
    /// How rows are scored
    #[arg(long, value_name = "METHOD", default_value = "auto", value_parser = method())]
    pub(crate) method: String,
    /// Score the rows of this file instead, by how unlike they are to those of DATA
    #[arg(long, value_name = "OTHER")]
    pub(crate) score: Option<PathBuf>,
    /// Where to write the score of every row, as CSV: row, outlier (0 to 1, larger is stranger), and the reason for the strangest ones
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// How many of the strangest rows are shown
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) top: usize,
    /// Set a parameter of the method (may be repeated); --help-params lists them
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    pub(crate) settings: Vec<(String, String)>,
    /// List the parameters with their meaning and defaults
    #[arg(long)]
    pub(crate) help_params: bool,
    /// Seed of all random choices: same seed, same data, same scores (the same as --set seed=N)
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) data_args: DataArgs,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// The methods by name.
fn method() -> PossibleValuesParser {
    PossibleValuesParser::new(Method::ALL.map(|method| {
        let (name, about) = method.words();
        PossibleValue::new(name).help(about)
    }))
}
