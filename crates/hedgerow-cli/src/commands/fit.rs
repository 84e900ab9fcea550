//! `fit`: data in, a model out.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, bail};
use hedgerow::core::rng::{Purpose, Rng};
use hedgerow::core::{
    Budget, DataProblem, Dataset, Error, OutOfSample, Par, Quality, Source, Task, Training,
};
use hedgerow::io::{ReadOptions, read_dataset, read_labelled};
use hedgerow::report::Page;
use hedgerow::{Fitted, Kind, Model, ModelParams};
use serde::Serialize;

use super::{
    Evaluation, LeftOut, Made, Metrics, NumberedRows, Outcome, Seconds, check_room, check_task,
    check_writable, interrupt, note_dates, page, params, timed,
};
use crate::args::{CommonArgs, FitArgs};
use crate::output::{self, progress::Bar};
use crate::process;

/// What `fit` tells.
#[derive(Debug, Serialize)]
pub(crate) struct FitResult {
    #[serde(flatten)]
    pub(crate) made: Made,
    /// Rows the metrics are about: `test`, `holdout`, or `out_of_bag` where neither was given; none if there are no metrics.
    pub(crate) metrics_from: Option<&'static str>,
    pub(crate) metrics: Option<Metrics>,
    pub(crate) metrics_rows: Option<usize>,
    /// Out-of-bag accuracy; none for other models than forests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) oob_accuracy: Option<f64>,
    /// How good the out-of-sample predictions of training rows were; none where they are what the metrics are about, and for kinds that make none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) validation: Option<Quality>,
    /// Where these predictions come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) validation_from: Option<Source>,
    /// The logarithm of the probability of the targets, where the model can tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) log_evidence: Option<f64>,
    pub(crate) left_out: LeftOut,
    /// Rows that were left out of the training because they have no label (--skip-unlabelled).
    pub(crate) rows_without_label: u64,
    #[serde(skip)]
    pub(crate) notes: Vec<String>,
}

pub(crate) fn run(args: &FitArgs) -> anyhow::Result<Outcome> {
    let start = Instant::now();
    if args.help_params {
        return output::show(&output::text::ParamList(args.model.describe_params()), args.common.run.json);
    }
    let params = params(args.model, &args.settings, args.seed)?;
    if args.oob.is_some() && !args.model.has_oob() {
        bail!("--oob: {}", args.model.unable("predict out of bag", Kind::has_oob));
    }
    check_writable(args.out.iter().chain(&args.oob).chain(&args.report))?;
    let Some(path) = &args.data else { return Ok(Outcome::Done) };
    let par = args.common.run.par()?;
    let mut budget = interrupt::listen(args.common.limits.budget(start))?;
    let (mut data, rows_without_label) =
        read(path, (args.model, args.task), args.skip_unlabelled, &args.common)?;
    note_dates(&data.schema, &args.common.data.options());
    let held_out = args.holdout.map(|share| hold_out(&mut data, share, params.seed())).transpose()?;
    let mut seconds = Seconds { read: start.elapsed().as_secs_f64(), ..Seconds::default() };
    if let Some(limit) = args.common.limits.max_memory {
        budget.bytes = Some(bytes_left(limit, &data, rows_kept(&params, args.frozen))?);
    }
    if args.out.is_some() && rows_kept(&params, args.frozen).is_some() {
        args.common.limits.keep_time_to_save(data.bytes(), &mut budget);
    }
    let Fitted { mut model, validation, log_evidence, stop, notes, oob_votes } =
        timed(&mut seconds.fit, || train(&data, &params, &par, &budget))?;
    if args.interval {
        timed(&mut seconds.fit, || model.keep_true_probability(&par))?;
    }

    let for_report = args.report.is_some();
    let mut page = Page::default();
    let n_rows = data.n_rows();
    if for_report && data.schema.n_features() <= 2 {
        let x = data.features.to_array(0..n_rows);
        let text = "The dots are the training rows.";
        page::draw(&mut page, &model, (x.view(), data.targets.view()), text, &par)?;
    }
    let (oob, validation) = match validation {
        Some(oob) if oob.source == Source::OutOfBag => (Some(oob), None),
        others => (None, others.filter(|others| !others.is_empty())),
    };
    let (validation_from, validation) = validation.map(|of| (of.source, of.quality())).unzip();
    let known_oob = oob.as_ref().filter(|oob| !oob.is_empty());
    let oob_accuracy = known_oob.map(|oob| oob.accuracy(data.weights.as_deref()));
    let is_tested = held_out.is_some() || args.common.test.is_some();
    let out_of_bag = known_oob.filter(|_| !is_tested).map(|oob| evaluate_oob(oob, &data, for_report));
    drop(data);
    let model = if args.frozen { model.without_rows() } else { model };
    // The model is safe before anything else can go wrong.
    let saved = Made::save(&model, args.out.as_ref())?;
    if let (Some(path), Some(oob), Some(votes)) = (&args.oob, &oob, &oob_votes) {
        write_oob(path, oob, votes, &model)?;
    }
    let evaluation = match (&held_out, &args.common.test) {
        (Some(rows), _) => Some(("holdout", Evaluation::of_rows(&model, rows, &par, for_report)?)),
        (None, Some(test)) => {
            let options = args.common.test_options();
            Some(("test", Evaluation::of_file(&model, test, &options, &par, for_report)?))
        }
        (None, None) => out_of_bag.map(|evaluation| ("out_of_bag", evaluation)),
    };
    let (metrics_from, evaluation) = evaluation.unzip();
    seconds.predict = evaluation.as_ref().map_or(0.0, |evaluation| evaluation.seconds.predict);
    let made = Made::new(&model, n_rows, seconds, stop, saved)?;
    if let Some(to) = &args.report {
        if let (Some(from), Some(evaluation)) = (metrics_from, &evaluation) {
            let measured_on = measured_on(from, evaluation.n_rows());
            page::evaluation(&mut page, &model, evaluation, measured_on)?;
        }
        page::describe(&mut page, &model, path, &page::fitted_to(&model, n_rows), made.about.bytes);
        page::fact(&mut page, "Fitted in", output::seconds(seconds.fit));
        page::write(&page, to)?;
    }
    let result = FitResult {
        made,
        metrics_from,
        metrics: evaluation.as_ref().map(Evaluation::metrics).transpose()?,
        metrics_rows: evaluation.as_ref().map(Evaluation::n_rows),
        oob_accuracy,
        validation,
        validation_from,
        log_evidence,
        left_out: evaluation.map(|evaluation| evaluation.left_out).unwrap_or_default(),
        rows_without_label,
        notes,
    };
    output::show(&result, args.common.run.json)
}

/// Reads the training data, and how many rows were left out because they have no target, where that is wanted. A target that looks continuous is one of
/// numbers for a kind of model that does regression, unless the task is given.
pub(super) fn read(
    path: &Path,
    (kind, task): (Kind, Option<Task>),
    skip_unlabelled: bool,
    common: &CommonArgs,
) -> anyhow::Result<(Dataset, u64)> {
    let room = check_room(&common.limits)?;
    check_task(kind, task, false)?;
    let read = |task| {
        let options = ReadOptions { task, ..common.data.options() };
        if skip_unlabelled {
            return read_labelled(path, &options, room);
        }
        read_dataset(path, &options, room).map(|data| (data, 0))
    };
    if let Some(task) = task {
        return Ok(read(task)?);
    }
    match read(Task::Classification) {
        Err(error) if kind.regresses() && is_continuous(&error) => {
            if path.as_os_str() == "-" {
                bail!("{error}; for a numeric target, give --task regression");
            }
            output::note("the target looks numeric: fitting a regression (--task classification for labels)");
            Ok(read(Task::Regression)?)
        }
        other => Ok(other?),
    }
}

/// Whether labels were refused because they look like numbers.
fn is_continuous(error: &Error) -> bool {
    matches!(error, Error::Data(data) if matches!(data.problem, DataProblem::ContinuousTarget { .. }))
}

/// Takes a share of the rows, drawn at random, out of the data.
fn hold_out(data: &mut Dataset, share: f64, seed: u64) -> Result<NumberedRows, Error> {
    let mut rows: Vec<usize> = (0..data.n_rows()).collect();
    Rng::new(seed, Purpose::Sample, 1).shuffle(&mut rows);
    let n = ((data.n_rows() as f64 * share).round() as usize).clamp(1, data.n_rows() - 1);
    let (held, kept) = rows.split_at_mut(n);
    held.sort_unstable();
    kept.sort_unstable();
    let held_out = NumberedRows::select(data, held);
    *data = data.select(kept);
    data.check_trainable(data.task())?;
    Ok(held_out)
}

/// What the metrics of a page are about, in words.
fn measured_on(from: &str, n_rows: usize) -> String {
    let words = match from {
        "test" => "test rows",
        "holdout" => "held-out rows",
        _ => "training rows, predicted out of bag",
    };
    format!("{} {words}", output::count(n_rows as u64))
}

/// The out-of-bag predictions with their rows.
fn evaluate_oob(oob: &OutOfSample, data: &Dataset, for_report: bool) -> Evaluation {
    let mut evaluation = Evaluation::new(oob.values.clone(), oob.targets.clone());
    if for_report {
        for (i, &row) in oob.rows.iter().enumerate() {
            let (number, values) = (row as u64 + 1, data.features.to_array(row..row + 1));
            evaluation.least_sure.add(number, oob.values.row(i), Some(oob.labels()[i]), values.row(0));
        }
    }
    evaluation
}

/// What a limit leaves for the model, after all that is in memory already, what evaluating it will take and, where rows are to be
/// kept with the model (at most so many, 0 for any number), what saving them takes.
pub(super) fn bytes_left(limit: u64, data: &Dataset, keeps: Option<usize>) -> Result<u64, Error> {
    let n_features = data.schema.n_features();
    let in_use = process::memory_now().unwrap_or(0);
    let batch = (super::batch_rows(n_features) * n_features * size_of::<f32>()) as u64;
    let rows = data.n_rows().max(1) as u64;
    let saved = keeps.map_or(0, |most| {
        let kept = if most == 0 { rows } else { rows.min(most as u64) };
        2 * data.bytes() as u64 * kept / rows
    });
    let kept = in_use + saved + 2 * batch.min(limit / 8) + (limit / 25).max(4 << 20);
    limit.checked_sub(kept).filter(|&left| left > 0).ok_or_else(|| Error::BudgetTooSmall {
        what: format!(
            "the data with room to work{}",
            if keeps.is_some() { " (--frozen needs less)" } else { "" }
        ),
        needed: output::size(kept),
        limit: output::size(limit),
    })
}

/// How many rows will be kept with the model to learn from, 0 for any number; none if it keeps no rows for that.
pub(super) fn rows_kept(params: &ModelParams, is_frozen: bool) -> Option<usize> {
    if is_frozen { None } else { params.max_retained() }
}

fn train(data: &Dataset, params: &ModelParams, par: &Par, budget: &Budget) -> anyhow::Result<Fitted> {
    let bar = Bar::new(params.kind().info().work);
    let training = Training { par, budget, observer: &bar };
    let fitted = Model::fit(data, params, &training);
    bar.finish();
    Ok(fitted?)
}

/// The out-of-bag probabilities of the training rows as CSV: how many trees had the row out of bag, then a column a class.
fn write_oob(path: &Path, oob: &OutOfSample, votes: &[u32], model: &Model) -> anyhow::Result<()> {
    let mut out = csv::Writer::from_path(path).with_context(|| path.display().to_string())?;
    let names = model.schema().labels.names();
    out.write_record(
        ["n_trees".to_string()].into_iter().chain(names.iter().map(|name| format!("p_{name}"))),
    )?;
    let mut known = oob.rows.iter().zip(oob.values.rows()).peekable();
    for (row, n) in votes.iter().enumerate() {
        let proba = known.next_if(|(known, _)| **known == row).map(|(_, proba)| proba);
        let cell = |class: usize| proba.map_or_else(String::new, |proba| format!("{:.6}", proba[class]));
        out.write_record([n.to_string()].into_iter().chain((0..names.len()).map(cell)))?;
    }
    out.flush().with_context(|| path.display().to_string())
}
