//! `fit --task regression`: rows with values in, a model out.

use std::path::{Path, PathBuf};
use std::time::Instant;

use hedgerow::core::metrics::ValueReport;
use hedgerow::core::rng::{Purpose, Rng};
use hedgerow::core::{Budget, Dataset, StopReason, Task, Training};
use hedgerow::io::{ReadOptions, read_dataset};
use hedgerow::report::Page;
use hedgerow::{Kind, ModelParams, ValueModel};
use serde::Serialize;

use super::{Evaluation, Inside, evaluate_file, evaluate_rows, page};
use crate::args::FitArgs;
use crate::commands::fit::Seconds;
use crate::commands::{Outcome, check_room};
use crate::output::{self, progress::Bar};
use crate::process;

/// What `fit` tells of a model of values.
#[derive(Debug, Serialize)]
pub(crate) struct FitValuesResult {
    pub(crate) model: Kind,
    pub(crate) task: &'static str,
    pub(crate) params: ModelParams,
    pub(crate) target: Option<String>,
    pub(crate) rows: usize,
    pub(crate) features: usize,
    pub(crate) seconds: Seconds,
    pub(crate) bytes: u64,
    pub(crate) model_memory_bytes: u64,
    pub(crate) peak_memory_bytes: Option<u64>,
    #[serde(flatten)]
    pub(crate) inside: Inside,
    pub(crate) rows_retained: Option<usize>,
    pub(crate) stop: StopReason,
    pub(crate) log_evidence: f64,
    pub(crate) out: Option<PathBuf>,
    /// Rows the metrics are about: `test` or `holdout`; none if there are no metrics.
    pub(crate) metrics_from: Option<&'static str>,
    pub(crate) metrics: Option<ValueReport>,
    pub(crate) metrics_rows: Option<usize>,
    pub(crate) rows_without_value: u64,
    pub(crate) notes: Vec<String>,
}

pub(crate) fn run(
    args: &FitArgs,
    path: &Path,
    params: &ModelParams,
    start: Instant,
    mut budget: Budget,
) -> anyhow::Result<Outcome> {
    let par = args.run.par()?;
    let options = ReadOptions { task: Task::Regression, ..args.data_args.options() };
    let mut data = read_dataset(path, &options, check_room(&args.limits)?)?;
    crate::commands::note_dates(&data.schema, &args.data_args.options());
    let held_out = args.holdout.map(|share| take(&mut data, share, params.seed()));
    data.check_trainable(Task::Regression)?;
    let read_seconds = start.elapsed().as_secs_f64();
    if let Some(limit) = args.limits.max_memory {
        let in_use = process::memory_now().unwrap_or(0);
        budget.bytes = Some(limit.saturating_sub(in_use + (limit / 25).max(4 << 20)));
    }
    let fit_start = Instant::now();
    let bar = Bar::new(params.kind().work());
    let fitted = ValueModel::fit(&data, params, &Training { par: &par, budget: &budget, observer: &bar });
    bar.finish();
    let fitted = fitted?;
    let fit_seconds = fit_start.elapsed().as_secs_f64();
    let model = if args.frozen { fitted.model.without_rows() } else { fitted.model };
    // The model is safe before anything else can go wrong.
    let saved = args.out.as_ref().map(|out| model.save(out)).transpose()?;
    let (from, evaluation): (Option<&'static str>, Option<Evaluation>) = match (held_out, &args.test) {
        (Some(held_out), _) => (Some("holdout"), Some(evaluate_rows(&model, held_out, &par)?)),
        (None, Some(test)) => {
            (Some("test"), Some(evaluate_file(&model, test, &args.data_args.options(), &par)?))
        }
        (None, None) => (None, None),
    };
    let result = FitValuesResult {
        model: model.kind(),
        task: "regression",
        params: model.params(),
        target: model.schema.target.clone(),
        rows: data.n_rows(),
        features: model.schema.n_features(),
        seconds: Seconds {
            read: read_seconds,
            fit: fit_seconds,
            predict: evaluation.as_ref().map_or(0.0, |evaluation| evaluation.predict_seconds),
        },
        bytes: saved.map_or_else(|| model.file_len(), Ok)?,
        model_memory_bytes: model.bytes() as u64,
        peak_memory_bytes: process::peak_memory(),
        inside: Inside::new(&model),
        rows_retained: model.regressor.can_learn().then(|| model.regressor.n_remembered()),
        stop: fitted.stop,
        log_evidence: fitted.log_evidence,
        out: args.out.clone(),
        metrics_from: from,
        metrics: evaluation.as_ref().map(|evaluation| evaluation.report),
        metrics_rows: evaluation.as_ref().map(|evaluation| evaluation.rows),
        rows_without_value: evaluation.as_ref().map_or(0, |evaluation| evaluation.without_value),
        notes: fitted.notes,
    };
    if let Some(to) = &args.report {
        let mut about = Page::default();
        page::describe(
            &mut about,
            &model,
            path,
            &format!("fitted to {} rows", output::count(result.rows as u64)),
            result.bytes,
        );
        about.facts.push(("Fitted in".into(), output::seconds(result.seconds.fit)));
        if let Some(evaluation) = &evaluation {
            page::evaluation(&mut about, &evaluation.report);
        }
        page::fit(&mut about, &model, &data, "The dots are the training rows", &par)?;
        about.notes.clone_from(&result.notes);
        crate::commands::page::write(&about, to)?;
    }
    output::show(&result, args.run.json)?;
    result.notes.iter().for_each(|text| output::note(text));
    if result.rows_without_value > 0 {
        output::note(&format!("{} rows without a value were left out", result.rows_without_value));
    }
    Ok(Outcome::Done)
}

/// Takes a share of the rows, drawn at random, out of the data.
fn take(data: &mut Dataset, share: f64, seed: u64) -> Dataset {
    let mut rows: Vec<usize> = (0..data.n_rows()).collect();
    Rng::new(seed, Purpose::Sample, 1).shuffle(&mut rows);
    let n = ((data.n_rows() as f64 * share).round() as usize).clamp(1, data.n_rows() - 1);
    let (held, kept) = rows.split_at_mut(n);
    held.sort_unstable();
    kept.sort_unstable();
    let held_out = data.select(held);
    *data = data.select(kept);
    held_out
}
