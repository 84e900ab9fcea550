//! Arguments of the commands that train a model row after row.

use std::path::PathBuf;

use clap::{Args, value_parser};
use hedgerow::Kind;
use hedgerow::core::Task;

use super::CommonArgs;
use super::fit::task;
use super::kind::kind;
use super::model::share;
use super::setting::setting;

#[derive(Debug, Args)]
#[command(after_help = include_str!("help/update.txt").trim_end())]
pub(crate) struct UpdateArgs {
    /// Model file; it is replaced in one step unless --out is given
    pub(crate) model: PathBuf,
    /// Labelled data to learn; - is standard input
    pub(crate) data: PathBuf,
    /// Where to save the model instead
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Write a page about it all: one HTML file that needs no network
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

#[derive(Debug, Args)]
#[command(
    after_help = include_str!("help/stream.txt").trim_end(),
    mut_arg("test", |arg| arg.help(
        "Labelled data to evaluate the model on: after each batch, or at the end if there are no batches"
    )),
)]
pub(crate) struct StreamArgs {
    /// Labelled data; - is standard input. May be left out with --store: then it goes on with what is there
    #[arg(required_unless_present = "store")]
    pub(crate) data: Option<PathBuf>,
    /// Kind of model [default: forest]
    #[arg(long, value_parser = kind(), value_name = "KIND")]
    pub(crate) model: Option<Kind>,
    /// What the target of a new model is: `classification` for labels (the default), or `regression` for numbers
    #[arg(long, value_parser = task(), value_name = "TASK", conflicts_with = "from")]
    pub(crate) task: Option<Task>,
    /// Set a parameter of the model (may be repeated); `hedgerow fit --model KIND --help-params` lists them
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    pub(crate) settings: Vec<(String, String)>,
    /// Seed of all random choices: same seed, same rows, same model (the same as --set seed=N)
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Go on with this model instead of a new one
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["model", "settings", "seed"])]
    pub(crate) from: Option<PathBuf>,
    /// Cut the data into this many equal batches and evaluate the model on --test after each (reads the data twice)
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..=10_000))]
    pub(crate) batches: Option<u64>,
    /// The same with this many rows a batch, for data of unknown length
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..), conflicts_with = "batches")]
    pub(crate) batch_rows: Option<u64>,
    /// Without batches: rows between two lines of output; neighbors are put together when there are more than 200
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..), default_value_t = 1_000,
          conflicts_with_all = ["batches", "batch_rows"])]
    pub(crate) window: u64,
    /// Keep all rows in this folder, safe from any crash, and go on where it stopped when run again
    #[arg(long, value_name = "DIR", conflicts_with = "batches")]
    pub(crate) store: Option<PathBuf>,
    /// With --store: save the model there after every so many rows; what comes after is learnt again from the store
    #[arg(long, value_name = "ROWS", value_parser = value_parser!(u64).range(1..), default_value_t = 50_000,
          requires = "store")]
    pub(crate) checkpoint_every: u64,
    /// With --store: the name of the learner; several may learn from one store
    #[arg(long, value_name = "NAME", default_value = "stream", requires = "store")]
    pub(crate) learner: String,
    /// Labels come this many rows late: a row is predicted at once, and learnt when so many more rows have come
    #[arg(long, value_name = "ROWS", default_value_t = 0)]
    pub(crate) delay: usize,
    /// Learn at most this share of the labels: those of the most uncertain predictions, and some at random so that drift is noticed. The others only serve the
    /// figures
    #[arg(long, value_name = "SHARE", value_parser = rate, conflicts_with_all = ["store", "delay"])]
    pub(crate) query_rate: Option<f64>,
    /// With --query-rate: the share of these labels that is drawn at random, from 0 to 1 (random sampling)
    #[arg(long, value_name = "SHARE", value_parser = share, requires = "query_rate")]
    pub(crate) query_random: Option<f64>,
    /// With --query-rate: look at so many rows together, and learn the most uncertain ones among them at their end [default: 1]
    #[arg(long, value_name = "ROWS", value_parser = value_parser!(u32).range(1..=1_000_000), requires = "query_rate")]
    pub(crate) query_batch: Option<u32>,
    /// Write each prediction, made before its row was learnt: row, label or value, prediction, probabilities or deviation (CSV). With --query-rate, the
    /// column `queried` tells which labels were learnt (without --query-batch)
    #[arg(long, value_name = "FILE")]
    pub(crate) predictions: Option<PathBuf>,
    /// Where to save the model
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Write a page about it all: one HTML file that needs no network
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

/// A share that is not 0.
fn rate(text: &str) -> Result<f64, String> {
    share(text).ok().filter(|value| *value > 0.0).ok_or_else(|| "expected a share above 0, up to 1".into())
}
