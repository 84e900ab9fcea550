//! Arguments of `generate`.

use std::path::PathBuf;
use std::sync::LazyLock;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum, value_parser};
use hedgerow::core::synth::Problem;

use super::DataArgs;
use super::setting::setting;

/// The kinds of stream there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamKind {
    Sea,
    Hyperplane,
    Rtg,
    Led,
    LabelSwap,
    /// One whose class probabilities are known.
    Known(Problem),
}

const STREAMS: [StreamKind; 5] =
    [StreamKind::Sea, StreamKind::Hyperplane, StreamKind::Rtg, StreamKind::Led, StreamKind::LabelSwap];

impl ValueEnum for StreamKind {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<StreamKind>> = LazyLock::new(|| {
            let known = Problem::ALL.iter().map(|problem| StreamKind::Known(*problem));
            STREAMS.into_iter().chain(known).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, about) = match self {
            Self::Sea => ("sea", "Three numbers, of which the sum of two decides; four concepts"),
            Self::Hyperplane => (
                "hyperplane",
                "Numbers on the two sides of a plane, which turns slowly unless --drift is given",
            ),
            Self::Rtg => ("rtg", "Numbers and categories, labelled by a random decision tree"),
            Self::Led => {
                ("led", "Digits on a display of seven segments that often fail, among irrelevant columns")
            }
            Self::LabelSwap => {
                ("label-swap", "The rows of --data in random order, with labels that are exchanged (--swap)")
            }
            Self::Known(problem) => (problem.name(), problem.about()),
        };
        Some(PossibleValue::new(name).help(about))
    }
}

/// How the concept changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Drift {
    /// Never
    None,
    /// To a new concept at once
    Abrupt,
    /// To a new concept over --width rows
    Gradual,
    /// Between two concepts, back and forth
    Recurring,
}

#[derive(Debug, Args)]
#[command(after_help = include_str!("help/generate.txt").trim_end())]
pub(crate) struct GenerateArgs {
    /// What the rows are
    #[arg(value_enum, value_name = "KIND")]
    pub(crate) kind: StreamKind,
    /// How many rows
    #[arg(long, default_value_t = 10_000, value_name = "N")]
    pub(crate) rows: u64,
    /// Seed of all random choices (the same as --set seed=N)
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Number of feature columns, for hyperplane, rtg, led and those from bumps on
    #[arg(long, value_name = "N")]
    pub(crate) features: Option<usize>,
    /// Share of wrong labels (led: of wrong segments; the same as --set noise=SHARE)
    #[arg(long, value_name = "SHARE")]
    pub(crate) noise: Option<f64>,
    /// Set another parameter (may be repeated); --help-params lists them
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    pub(crate) settings: Vec<(String, String)>,
    /// Write the true probability of each class behind its label, in columns `p_CLASS` (of the kinds from bumps on)
    #[arg(long)]
    pub(crate) truth: bool,
    /// List the parameters of this kind of stream with their meaning and defaults
    #[arg(long)]
    pub(crate) help_params: bool,
    /// Where to write the rows, as CSV; standard output if not given
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Print one JSON object instead of text about what was written to --out
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) drift: DriftArgs,
    /// Labelled data whose labels are exchanged; - is standard input
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    pub(crate) data: Option<PathBuf>,
    /// Labels to exchange at every change, such as 1:7 or 1:7,3:8
    #[arg(long, value_name = "A:B", value_parser = pair, value_delimiter = ',', help_heading = "Data")]
    pub(crate) swap: Vec<[String; 2]>,
    #[command(flatten)]
    pub(crate) data_args: DataArgs,
}

/// When and how the concept changes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Drift")]
pub(crate) struct DriftArgs {
    /// How the concept changes; --width alone means gradual, --every or --at alone abrupt
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) drift: Option<Drift>,
    /// A change after every so many rows; if neither this nor --at is given, changes part the rows into four equal
    /// stretches (label-swap: two)
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..), conflicts_with = "at")]
    pub(crate) every: Option<u64>,
    /// Changes at these rows, such as 2000,5000
    #[arg(long, value_name = "ROWS", value_delimiter = ',')]
    pub(crate) at: Vec<u64>,
    /// Rows that a gradual change takes; a fifth of the shortest stretch between changes if not given
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    pub(crate) width: Option<u64>,
}

fn pair(text: &str) -> Result<[String; 2], String> {
    match text.split_once(':') {
        Some((a, b)) if !a.trim().is_empty() && !b.trim().is_empty() => {
            Ok([a.trim().to_string(), b.trim().to_string()])
        }
        _ => Err("expected two labels with a colon between them, such as 1:7".into()),
    }
}
