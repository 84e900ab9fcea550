//! `generate`: rows out of nothing, with changes at known places.

mod table;

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use clap::ValueEnum as _;
use hedgerow::core::synth::{
    Changes, Generator, HyperplaneParams, KnownParams, LabelSwapParams, LedParams, RandomTreeParams,
    Schedule, SeaParams,
};
use hedgerow::core::{Checked, ParamInfo, Params, describe};
use hedgerow::io::read_dataset;
use serde::Serialize;

use super::{Outcome, check_apart, check_writable, name_of_out, open_out};
use crate::args::{Drift, DriftArgs, GenerateArgs, StreamKind};
use crate::output;

/// What `generate` tells beside the rows.
#[derive(Debug, Serialize)]
pub(crate) struct GenerateResult {
    pub(crate) kind: String,
    pub(crate) rows: u64,
    pub(crate) features: usize,
    pub(crate) classes: Vec<String>,
    /// The rows, from 0, at which the concept changes.
    pub(crate) changes: Vec<u64>,
    pub(crate) bytes: u64,
    pub(crate) out: PathBuf,
}

pub(crate) fn run(args: &GenerateArgs) -> anyhow::Result<Outcome> {
    if args.help_params {
        return output::show(&output::text::ParamList(help_params(args.kind)), args.json);
    }
    if args.json && args.out.is_none() {
        bail!("--json needs --out: rows and the summary cannot both go to standard output");
    }
    if let Some(out) = &args.out {
        check_writable([out])?;
        if let Some(data) = &args.data {
            check_apart("rows", out, data)?;
        }
    }
    let mut generator = generator(args)?;
    let path = args.out.as_ref();
    let bytes = table::write(&mut generator, args.rows, args.truth, &mut *open_out(path)?)
        .with_context(|| name_of_out(path))?;
    let Some(path) = path else { return Ok(Outcome::Done) };
    let result = GenerateResult {
        kind: name(args.kind),
        rows: args.rows,
        features: generator.schema().n_features(),
        classes: generator.schema().labels.names().to_vec(),
        changes: generator.changes(args.rows),
        bytes,
        out: path.clone(),
    };
    output::show(&result, args.json)
}

fn help_params(kind: StreamKind) -> Vec<ParamInfo> {
    match kind {
        StreamKind::Sea => describe::<SeaParams>(),
        StreamKind::Hyperplane => describe::<HyperplaneParams>(),
        StreamKind::Rtg => describe::<RandomTreeParams>(),
        StreamKind::Led => describe::<LedParams>(),
        StreamKind::LabelSwap => describe::<LabelSwapParams>(),
        StreamKind::Known(_) => describe::<KnownParams>(),
    }
}

fn generator(args: &GenerateArgs) -> anyhow::Result<Generator> {
    let schedule = schedule(args.kind, &args.drift, args.rows)?;
    if args.kind != StreamKind::LabelSwap && (args.data.is_some() || !args.swap.is_empty()) {
        bail!("--data and --swap are for label-swap; {} makes its own rows", name(args.kind));
    }
    if !matches!(args.kind, StreamKind::Known(_)) && args.truth {
        bail!("--truth: the class probabilities of {} are not known", name(args.kind));
    }
    Ok(match args.kind {
        StreamKind::Known(_) if schedule != Schedule::none() => {
            bail!(
                "{} has one concept, which never changes: leave --drift, --every, --at and --width out",
                name(args.kind)
            )
        }
        StreamKind::Known(problem) => {
            let start = KnownParams { n_features: args.features.unwrap_or(0), ..KnownParams::default() };
            Generator::known(problem, &params(args, start)?)?
        }
        StreamKind::Sea if args.features.is_some() => bail!("--features: sea always has 3 columns"),
        StreamKind::Sea => Generator::sea(&params(args, SeaParams::default())?, schedule),
        StreamKind::Hyperplane => {
            let mut start = HyperplaneParams::default();
            if args.drift.drift.is_some() || schedule != Schedule::none() {
                start.magnitude = 0.0;
            }
            if let Some(n_features) = args.features {
                start.n_features = n_features;
                start.n_drifting = start.n_drifting.min(n_features);
            }
            Generator::hyperplane(&params(args, start)?, schedule)
        }
        StreamKind::Rtg => Generator::random_tree(&params(args, random_tree(args))?, schedule),
        StreamKind::Led => {
            let mut start = LedParams::default();
            if let Some(n_features) = args.features {
                let n_irrelevant = n_features.checked_sub(7);
                start.n_irrelevant = n_irrelevant.context("--features: led has 7 columns or more")?;
                start.n_swapped = start.n_swapped.min(start.n_irrelevant);
            }
            Generator::led(&params(args, start)?, schedule)
        }
        StreamKind::LabelSwap => label_swap(args, schedule)?,
    })
}

/// The start with `--set`, `--seed` and `--noise` applied.
fn params<P: Params>(args: &GenerateArgs, start: P) -> anyhow::Result<Checked<P>> {
    let mut settings = args.settings.clone();
    settings.extend(args.seed.map(|seed| ("seed".into(), seed.to_string())));
    settings.extend(args.noise.map(|noise| ("noise".into(), noise.to_string())));
    let settings = settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    Ok(start.with_settings(settings)?.check()?)
}

/// `--features` counts all columns: those that `--set` does not make categorical are numeric.
fn random_tree(args: &GenerateArgs) -> RandomTreeParams {
    let mut start = RandomTreeParams::default();
    if let Some(n_features) = args.features {
        let set = args.settings.iter().rev().find(|(name, _)| name == "n_categorical");
        let n_categorical = set.and_then(|(_, value)| value.parse().ok());
        start.n_categorical = n_categorical.unwrap_or(start.n_categorical.min(n_features / 2));
        start.n_numeric = n_features.saturating_sub(start.n_categorical);
    }
    start
}

fn label_swap(args: &GenerateArgs, schedule: Schedule) -> anyhow::Result<Generator> {
    if args.features.is_some() || args.noise.is_some() {
        bail!("--features and --noise are not for label-swap: its rows are those of --data");
    }
    let Some(path) = &args.data else {
        bail!("label-swap needs --data FILE, whose rows it takes, and --target COLUMN for their labels");
    };
    let params = params(args, LabelSwapParams { swap: args.swap.clone(), ..LabelSwapParams::default() })?;
    if params.get().swap.is_empty() {
        bail!("label-swap needs --swap A:B, the labels to exchange");
    }
    let data = read_dataset(path, &args.data_args.options(), None)?;
    Ok(Generator::label_swap(data, &params, schedule)?)
}

/// When the concept changes: as told, and otherwise as suits the kind and the number of rows.
fn schedule(kind: StreamKind, args: &DriftArgs, n_rows: u64) -> anyhow::Result<Schedule> {
    let is_placed = args.every.is_some() || !args.at.is_empty();
    let drift = match args.drift {
        Some(drift) => drift,
        None if args.width.is_some() => Drift::Gradual,
        None if is_placed || kind == StreamKind::LabelSwap => Drift::Abrupt,
        None => Drift::None,
    };
    if drift == Drift::None && is_placed {
        bail!("--every and --at set when the concept changes; with --drift none it does not");
    }
    if matches!(drift, Drift::None | Drift::Abrupt) && args.width.is_some() {
        bail!("--width is for changes that take time: use --drift gradual or recurring");
    }
    if let Some(row) = args.every.iter().chain(&args.at).find(|&&row| row >= n_rows) {
        bail!("a change at row {row} would never come: --rows is {n_rows}");
    }
    let n_changes = if kind == StreamKind::LabelSwap { 1 } else { 3 };
    let (changes, stretch) = match args.every {
        Some(n) => (Changes::every(n)?, n),
        None if args.at.is_empty() => (Changes::spread(n_rows, n_changes), n_rows / (n_changes + 1)),
        None => (Changes::at(args.at.clone())?, shortest(&args.at)),
    };
    Ok(match drift {
        Drift::None => Schedule::none(),
        Drift::Abrupt => Schedule::abrupt(changes),
        Drift::Gradual => Schedule::gradual(changes, args.width.unwrap_or(stretch / 5).max(1)),
        Drift::Recurring => Schedule { width: args.width.unwrap_or(0), ..Schedule::recurring(changes) },
    })
}

/// The shortest stretch from the start to the first change or from one change to the next.
fn shortest(changes: &[u64]) -> u64 {
    let gaps = changes.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
    gaps.chain(changes.first().copied()).min().unwrap_or(0)
}

/// The kind as it is typed.
fn name(kind: StreamKind) -> String {
    kind.to_possible_value().map_or_else(String::new, |value| value.get_name().to_string())
}
