//! `fit`: data in, a model out.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context as _;
use hedgerow::core::metrics::Report;
use hedgerow::core::rng::{Purpose, Rng};
use hedgerow::core::{Budget, Checked, ClassId, Dataset, Error, Par, Params as _, StopReason};
use hedgerow::forest::{ForestParams, OutOfBag, Training};
use hedgerow::io::read_dataset;
use hedgerow::{Fitted, Model};
use serde::Serialize;

use super::judge::{Judged, LeftOut, judge, judge_dataset};
use super::{Verdict, check_writable};
use crate::args::{FitArgs, Kind};
use crate::machine;
use crate::output::{self, progress::Bar};

/// What `fit` tells.
#[derive(Debug, Serialize)]
pub(crate) struct FitResult {
    pub(crate) model: &'static str,
    pub(crate) params: ForestParams,
    pub(crate) rows: usize,
    pub(crate) features: usize,
    pub(crate) classes: Vec<String>,
    pub(crate) seconds: Seconds,
    /// Bytes of the model file.
    pub(crate) bytes: u64,
    /// Bytes of the model in memory.
    pub(crate) model_memory_bytes: u64,
    pub(crate) peak_memory_bytes: Option<u64>,
    pub(crate) trees: usize,
    /// Splits and leaves.
    pub(crate) nodes: usize,
    /// Greatest number of splits one below the other.
    pub(crate) height: usize,
    pub(crate) calibrated: bool,
    /// Why training ended.
    pub(crate) stop: StopReason,
    /// Where the file was saved.
    pub(crate) out: Option<PathBuf>,
    /// Rows the metrics are about: `test`, `holdout`, or `out_of_bag` where neither was given; none if there are no metrics.
    pub(crate) metrics_from: Option<&'static str>,
    pub(crate) metrics: Option<Report>,
    pub(crate) metrics_rows: Option<usize>,
    /// Share of training rows that trees which had not seen them got right.
    pub(crate) oob_accuracy: Option<f64>,
    pub(crate) left_out: LeftOut,
}

/// Where the time went.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct Seconds {
    pub(crate) read: f64,
    pub(crate) fit: f64,
    pub(crate) predict: f64,
}

pub(crate) fn run(args: &FitArgs) -> anyhow::Result<Verdict> {
    let start = Instant::now();
    if args.help_params {
        let params = match args.model {
            Kind::Forest => hedgerow::core::describe::<ForestParams>(),
        };
        output::show(&output::text::ParamList(params), args.run.json)?;
        return Ok(Verdict::Done);
    }
    let params = params(args)?;
    for path in args.out.iter().chain(&args.oob) {
        check_writable(path)?;
    }
    let Some(path) = &args.data else { return Ok(Verdict::Done) };
    let par = args.run.par()?;
    let mut budget = args.limits.budget(start);
    interrupt(&budget)?;

    let mut data = read(args, path)?;
    let held_out = args.holdout.map(|share| hold_out(&mut data, share, params.get().seed)).transpose()?;
    let read_seconds = start.elapsed().as_secs_f64();
    if let Some(limit) = args.limits.max_memory {
        budget.bytes = Some(bytes_left(limit, data.schema.n_features())?);
    }
    let fit_start = Instant::now();
    let fitted = train(&data, &params, &par, &budget)?;
    let fit_seconds = fit_start.elapsed().as_secs_f64();

    // The model is safe before anything else can go wrong.
    let saved = args.out.as_ref().map(|out| fitted.model.save(out)).transpose()?;
    if let (Some(path), Some(oob)) = (&args.oob, &fitted.oob) {
        write_oob(path, oob, &fitted.model)?;
    }
    let seconds = Seconds { read: read_seconds, fit: fit_seconds, predict: 0.0 };
    let mut result = describe(args, &data, &fitted, seconds, saved)?;
    if let Some(judged) = judge_on_test(args, &fitted.model, held_out.as_ref(), &par)? {
        result.seconds.predict = judged.predict_seconds;
        result.metrics_from = Some(if held_out.is_some() { "holdout" } else { "test" });
        result.metrics_rows = Some(judged.rows);
        result.metrics = Some(judged.report);
        result.left_out = judged.left_out;
    } else if let Some((report, rows)) = oob_report(&fitted, &data.labels)? {
        result.metrics_from = Some("out_of_bag");
        result.metrics_rows = Some(rows);
        result.metrics = Some(report);
    }
    result.peak_memory_bytes = machine::peak_memory();
    output::show(&result, args.run.json)?;
    output::left_out(&result.left_out);
    Ok(Verdict::Done)
}

fn params(args: &FitArgs) -> Result<Checked<ForestParams>, Error> {
    let settings = args.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let mut params = ForestParams::default().with_settings(settings)?;
    if let Some(seed) = args.seed {
        params.seed = seed;
    }
    params.check()
}

fn read(args: &FitArgs, path: &Path) -> anyhow::Result<Dataset> {
    let limit = args.limits.max_memory;
    let in_use = machine::memory_now().unwrap_or(0);
    if let Some(limit) = limit.filter(|&limit| limit <= in_use) {
        let (needed, limit) = (output::size(in_use), output::size(limit));
        return Err(
            Error::BudgetTooSmall { what: "the program without any data".into(), needed, limit }.into()
        );
    }
    let for_data = limit.map(|limit| limit - in_use);
    Ok(read_dataset(path, &args.data_args.options(), for_data)?)
}

/// Takes a share of the rows, drawn at random, out of the data.
fn hold_out(data: &mut Dataset, share: f64, seed: u64) -> Result<Dataset, Error> {
    let mut rows: Vec<usize> = (0..data.n_rows()).collect();
    Rng::new(seed, Purpose::Sample, 1).shuffle(&mut rows);
    let n = ((data.n_rows() as f64 * share).round() as usize).clamp(1, data.n_rows() - 1);
    let (held, kept) = rows.split_at_mut(n);
    held.sort_unstable();
    kept.sort_unstable();
    let held_out = data.select(held);
    *data = data.select(kept);
    data.check_trainable()?;
    Ok(held_out)
}

/// How the model does on the rows held out or the test data; none if there are neither.
fn judge_on_test(
    args: &FitArgs,
    model: &Model,
    held_out: Option<&Dataset>,
    par: &Par,
) -> Result<Option<Judged>, Error> {
    match (held_out, &args.test) {
        (Some(data), _) => judge_dataset(model, data, par).map(Some),
        (None, Some(test)) => {
            let mut options = args.data_args.options();
            options.labels.clone_from(&args.test_labels);
            judge(model, test, &options, par).map(Some)
        }
        (None, None) => Ok(None),
    }
}

/// What a limit leaves for the model, after all that is in memory already and what judging it will take.
fn bytes_left(limit: u64, n_features: usize) -> Result<u64, Error> {
    let in_use = machine::memory_now().unwrap_or(0);
    let batch = (super::batch_rows(n_features) * n_features * size_of::<f32>()) as u64;
    let kept = in_use + 2 * batch.min(limit / 8) + (limit / 25).max(4 << 20);
    limit.checked_sub(kept).filter(|&left| left > 0).ok_or_else(|| Error::BudgetTooSmall {
        what: "the data with room to work".into(),
        needed: output::size(kept),
        limit: output::size(limit),
    })
}

fn train(
    data: &Dataset,
    params: &Checked<ForestParams>,
    par: &Par,
    budget: &Budget,
) -> anyhow::Result<Fitted> {
    let bar = Bar::new("growing trees");
    let training = Training { par, budget, observer: &bar };
    let fitted = Model::fit_forest(data, params, &training);
    bar.finish();
    Ok(fitted?)
}

/// The first Ctrl-C asks the training to end, the second ends the program.
fn interrupt(budget: &Budget) -> anyhow::Result<()> {
    let stop = budget.stop.clone();
    ctrlc::set_handler(move || {
        if stop.is_stopped() {
            std::process::exit(130);
        }
        stop.stop();
        output::note("stopping: keeping the model so far (press again to quit at once)");
    })
    .context("cannot listen for Ctrl-C")
}

fn describe(
    args: &FitArgs,
    data: &Dataset,
    fitted: &Fitted,
    seconds: Seconds,
    saved: Option<u64>,
) -> anyhow::Result<FitResult> {
    let model = &fitted.model;
    let forest = model.as_forest().context("not a forest")?;
    Ok(FitResult {
        model: model.kind(),
        params: forest.params().clone(),
        rows: data.n_rows(),
        features: model.schema.n_features(),
        classes: model.schema.labels.names().to_vec(),
        seconds,
        bytes: saved.map_or_else(|| model.file_len(), Ok)?,
        model_memory_bytes: model.bytes() as u64,
        peak_memory_bytes: None,
        trees: forest.trees().len(),
        nodes: forest.n_nodes(),
        height: forest.trees().iter().map(hedgerow::forest::tree::Tree::height).max().unwrap_or(0),
        calibrated: forest.calibration().is_some(),
        stop: fitted.stop,
        out: args.out.clone(),
        metrics_from: None,
        metrics: None,
        metrics_rows: None,
        oob_accuracy: fitted.oob.as_ref().and_then(|oob| oob.accuracy(data)),
        left_out: LeftOut::default(),
    })
}

/// How good the out-of-bag answers are, and about how many rows that speaks.
fn oob_report(fitted: &Fitted, labels: &[ClassId]) -> anyhow::Result<Option<(Report, usize)>> {
    let (Some(oob), Some(forest)) = (&fitted.oob, fitted.model.as_forest()) else { return Ok(None) };
    let rows: Vec<usize> = (0..labels.len()).filter(|&row| oob.n_trees[row] > 0).collect();
    if rows.is_empty() {
        return Ok(None);
    }
    let mut proba = oob.probabilities(forest.calibration());
    let mut truth = labels.to_vec();
    if rows.len() < labels.len() {
        proba = proba.select(ndarray::Axis(0), &rows);
        truth = rows.iter().map(|&row| labels[row]).collect();
    }
    Ok(Some((Report::new(proba.view(), &truth, None)?, rows.len())))
}

/// The out-of-bag probabilities of the training rows as CSV: how many trees had not seen the row, then a column a class.
fn write_oob(path: &Path, oob: &OutOfBag, model: &Model) -> anyhow::Result<()> {
    let calibration = model.as_forest().and_then(|forest| forest.calibration());
    let mut out = csv::Writer::from_path(path).with_context(|| path.display().to_string())?;
    let names = model.schema.labels.names().iter().map(|name| format!("p_{name}"));
    out.write_record(["n_trees".to_string()].into_iter().chain(names))?;
    for (row, n) in oob.probabilities(calibration).rows().into_iter().zip(&oob.n_trees) {
        let cell = |p: &f64| if p.is_nan() { String::new() } else { format!("{p:.6}") };
        out.write_record([n.to_string()].into_iter().chain(row.iter().map(cell)))?;
    }
    out.flush().with_context(|| path.display().to_string())
}
