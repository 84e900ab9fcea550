//! Arguments of `simulate`.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use hedgerow::Kind;
use hedgerow::active::StrategyName;

use super::kind::kind;
use super::setting::setting;
use super::{DataArgs, RunArgs};

#[derive(Debug, Args)]
#[command(after_help = include_str!("help/simulate.txt").trim_end())]
pub(crate) struct SimulateArgs {
    /// A table whose labels are all known
    pub(crate) data: PathBuf,
    /// Query strategies to compare
    #[arg(long, value_name = "STRATEGY,...", value_delimiter = ',', default_value = "auto,margin,random", value_parser = strategy())]
    pub(crate) strategies: Vec<StrategyName>,
    /// Kinds of model to run them with
    #[arg(long, value_name = "KIND,...", value_delimiter = ',', default_value = "forest", value_parser = kind())]
    pub(crate) models: Vec<Kind>,
    /// Labels at the end of a run, those at its start among them
    #[arg(id = "n_labels", long = "labels", value_name = "N", default_value_t = 100)]
    pub(crate) labels: usize,
    /// Labels of rows drawn at random that a run starts with
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) start: usize,
    /// Rows that are labelled together
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) batch: usize,
    /// Runs of each strategy and model, with the same splits and starts for all
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) seeds: usize,
    /// The share of the rows to test on, 2,000 rows at most
    #[arg(long, value_name = "SHARE", default_value_t = 0.33)]
    pub(crate) test_share: f64,
    /// Rows to choose from at most, drawn at random; 0 takes all
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    pub(crate) pool: usize,
    /// What it costs to take a row of each class for another one, in the order of the classes: strategies ask for what decides
    #[arg(long, value_name = "LOSS,...", value_delimiter = ',')]
    pub(crate) losses: Vec<f64>,
    /// Set a parameter of the models, where there is one kind (may be repeated); fit --help-params lists them
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    pub(crate) settings: Vec<(String, String)>,
    /// Seed of the first run; the next one has the next seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Write a report as one HTML file
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) data_args: TableArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// The strategies by name.
pub(super) fn strategy() -> impl TypedValueParser<Value = StrategyName> {
    let names = StrategyName::ALL.iter().map(|strategy| {
        let (name, about) = strategy.words();
        PossibleValue::new(name).help(about)
    });
    PossibleValuesParser::new(names).try_map(|name| name.parse::<StrategyName>())
}

/// How the table is read: `--labels` counts labels here, so that a file of labels has another name.
#[derive(Debug, Clone)]
pub(crate) struct TableArgs(pub(crate) DataArgs);

impl TableArgs {
    fn renamed(command: Command) -> Command {
        command.mut_arg("labels", |arg| arg.long("label-file"))
    }
}

impl Args for TableArgs {
    fn augment_args(command: Command) -> Command {
        Self::renamed(DataArgs::augment_args(command))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::renamed(DataArgs::augment_args_for_update(command))
    }
}

impl FromArgMatches for TableArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        DataArgs::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}
