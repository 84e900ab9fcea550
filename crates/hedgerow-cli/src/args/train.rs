//! Arguments of `train`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use hedgerow::Kind;
use hedgerow::core::Task;
use hedgerow::trainer::Policy;

use super::CommonArgs;
use super::fit::task;
use super::kind::online_kind;
use super::run::pause;
use super::setting::setting;

#[derive(Debug, Args)]
#[command(after_help = include_str!("help/train.txt").trim_end())]
pub(crate) struct TrainArgs {
    /// Labelled data; - is standard input. May be left out with --store: then it learns what is there
    #[arg(required_unless_present = "store")]
    pub(crate) data: Option<PathBuf>,
    /// Kind of model [default: forest]
    #[arg(long, value_parser = online_kind(), value_name = "KIND")]
    pub(crate) model: Option<Kind>,
    /// What the target is: `classification` for labels, or `regression` for numbers. Without this, as for `fit`
    #[arg(long, value_parser = task(), value_name = "TASK")]
    pub(crate) task: Option<Task>,
    /// Set a parameter of the model (may be repeated); fit --help-params lists them
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    pub(crate) settings: Vec<(String, String)>,
    /// Seed of all random choices (the same as --set seed=N)
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Which job gets the next slice: `weakest` the one with the most errors and the fewest rows, `gain` the one with the largest expected gain in the same
    /// time, `round-robin` each in turn
    #[arg(long, value_parser = policy(), default_value_t = Policy::default(), value_name = "POLICY")]
    pub(crate) policy: Policy,
    /// End after this many rounds, each a slice for each of --lanes jobs: same seed and rounds, same model, whatever the threads and the time
    #[arg(long, value_name = "N")]
    pub(crate) rounds: Option<usize>,
    /// Jobs that get a slice in each round; trees and kernels are also shared out among so many jobs
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) lanes: u16,
    /// How long a job keeps its thread before another may have it, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 200)]
    pub(crate) min_slice: u64,
    /// Train only when no other program needs the cores (on Linux)
    #[arg(long)]
    pub(crate) give_way: bool,
    /// Keep all rows in this folder, safe from any crash, and learn them from there, while they are still being read. Run again, it goes on from the model that was found
    #[arg(long, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,
    /// With --store: the name of the learner; several may learn from one store
    #[arg(long, value_name = "NAME", default_value = "train", requires = "store")]
    pub(crate) learner: String,
    /// Where to save the model: the best so far while it is being trained, the last one at the end. `hedgerow info --live FILE` shows the progress
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Save a better model that was found while training, to --out and in the store, when this many seconds have passed since the last time: what a crash
    /// can take from what was learnt. Large models are saved less often, so that it takes a twentieth of the time at most
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = pause)]
    pub(crate) save_every: f64,
    /// Leave rows without a label out, and count rows without them; without this, a missing label is an error. A store keeps such rows until their labels come
    #[arg(long)]
    pub(crate) skip_unlabelled: bool,
    /// Write the quality of each snapshot, on the validation rows and on the test rows, as CSV
    #[arg(long, value_name = "FILE")]
    pub(crate) curve: Option<PathBuf>,
    /// Save the model without its rows: smaller, but it cannot go on learning or tell outliers
    #[arg(long)]
    pub(crate) frozen: bool,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

fn policy() -> impl TypedValueParser<Value = Policy> {
    PossibleValuesParser::new(Policy::ALL.map(Policy::name)).try_map(|name| name.parse::<Policy>())
}
