//! `fit`: data in, a model out.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, bail};
use hedgerow::core::rng::{Purpose, Rng};
use hedgerow::core::{Budget, DataProblem, Dataset, Error, OutOfSample, Par, Source, Task, Training};
use hedgerow::io::{ReadOptions, read_dataset};
use hedgerow::report::{LeastSure, Page};
use hedgerow::{Fitted, Kind, Model, ModelParams};
use serde::{Deserialize, Serialize};

use super::evaluation::{
    Evaluation, LeftOut, Metrics, evaluate_dataset, evaluate_file, evaluate_predictions,
};
use super::{Made, Outcome, check_room, check_writable, interrupt, note_dates, page, params};
use crate::args::FitArgs;
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
    /// The logarithm of the probability of the targets, where the model can tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) log_evidence: Option<f64>,
    pub(crate) left_out: LeftOut,
}

/// Where the time went.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct Seconds {
    pub(crate) read: f64,
    pub(crate) fit: f64,
    pub(crate) predict: f64,
}

pub(crate) fn run(args: &FitArgs) -> anyhow::Result<Outcome> {
    let start = Instant::now();
    if args.help_params {
        output::show(&output::text::ParamList(args.model.describe_params()), args.run.json)?;
        return Ok(Outcome::Done);
    }
    let params = params(args.model, &args.settings, args.seed)?;
    if args.oob.is_some() && !args.model.has_oob() {
        bail!("--oob: {}", args.model.unable("predict out of bag", Kind::has_oob));
    }
    for path in args.out.iter().chain(&args.oob).chain(&args.report) {
        check_writable(path)?;
    }
    let Some(path) = &args.data else { return Ok(Outcome::Done) };
    let par = args.run.par()?;
    let mut budget = args.limits.budget(start);
    interrupt::listen(&budget)?;
    let mut data = read(args, path)?;
    note_dates(&data.schema, &args.data_args.options());
    let held_out = args.holdout.map(|share| HeldOut::take(&mut data, share, params.seed())).transpose()?;
    let read_seconds = start.elapsed().as_secs_f64();
    if let Some(limit) = args.limits.max_memory {
        budget.bytes = Some(bytes_left(limit, &data, rows_kept(&params, args.frozen))?);
    }
    let fit_start = Instant::now();
    let Fitted { model, validation, log_evidence, stop, notes, oob_votes } =
        train(&data, &params, &par, &budget)?;
    let oob = validation.filter(|validation| validation.source == Source::OutOfBag);
    let seconds = Seconds { read: read_seconds, fit: fit_start.elapsed().as_secs_f64(), predict: 0.0 };

    let mut page = args.report.as_ref().map(|_| Page::default());
    let oob_accuracy =
        oob.as_ref().filter(|oob| !oob.is_empty()).map(|oob| oob.accuracy(data.weights.as_deref()));
    let is_tested = held_out.is_some() || args.test.is_some();
    let mut measured = match &oob {
        Some(oob) if !is_tested => evaluate_oob(&model, oob, &data, page.as_mut())?,
        _ => None,
    };
    let n_rows = data.n_rows();
    if let Some(page) = page.as_mut().filter(|_| data.schema.n_features() <= 2) {
        let x = data.features.to_array(0..n_rows);
        let text = "The dots are the training rows.";
        page::draw(page, &model, (x.view(), data.targets.view()), text, &par)?;
    }
    drop(data);
    let model = if args.frozen { model.without_rows() } else { model };
    // The model is safe before anything else can go wrong.
    let saved = Made::save(&model, args.out.as_ref())?;
    if let (Some(path), Some(oob), Some(votes)) = (&args.oob, &oob, &oob_votes) {
        write_oob(path, oob, votes, &model)?;
    }
    let mut result = FitResult {
        made: Made::new(&model, n_rows, seconds, stop, saved)?,
        metrics_from: None,
        metrics: None,
        metrics_rows: None,
        oob_accuracy,
        log_evidence,
        left_out: LeftOut::default(),
    };
    if is_tested {
        measured = evaluate_on_test(args, &model, held_out.as_ref(), &par, page.as_mut())?;
    }
    if let Some(measured) = measured {
        result.made.seconds.predict = measured.predict_seconds;
        result.metrics_from = Some(measured.from);
        result.metrics_rows = Some(measured.rows);
        result.metrics = Some(measured.report);
        result.left_out = measured.left_out;
    }
    if let (Some(to), Some(page)) = (&args.report, &mut page) {
        let subtitle = page::fitted_to(&model, n_rows);
        page::describe(page, &model, path, &subtitle, result.made.bytes);
        page::fact(page, "Fitted in", output::seconds(result.made.seconds.fit));
        page::write(page, to)?;
    }
    result.made.peak_memory_bytes = process::peak_memory();
    output::show(&result, args.run.json)?;
    output::left_out(&result.left_out);
    notes.iter().for_each(|text| output::note(text));
    Ok(Outcome::Done)
}

/// Reads the training data. A target that looks continuous is one of numbers for a kind of model that does regression, unless the task is given.
fn read(args: &FitArgs, path: &Path) -> anyhow::Result<Dataset> {
    let room = check_room(&args.limits)?;
    let options = |task| ReadOptions { task, ..args.data_args.options() };
    if let Some(task) = args.task {
        if let Err(error) = args.model.check_task(task) {
            bail!("--task {task}: {error}");
        }
        return Ok(read_dataset(path, &options(task), room)?);
    }
    match read_dataset(path, &options(Task::Classification), room) {
        Err(error) if args.model.regresses() && is_continuous(&error) => {
            if path.as_os_str() == "-" {
                bail!("{error}; for a numeric target, give --task regression");
            }
            output::note("the target looks numeric: fitting a regression (--task classification for labels)");
            Ok(read_dataset(path, &options(Task::Regression), room)?)
        }
        other => Ok(other?),
    }
}

/// Whether labels were refused because they look like numbers.
fn is_continuous(error: &Error) -> bool {
    matches!(error, Error::Data(data) if matches!(data.problem, DataProblem::ContinuousTarget { .. }))
}

/// Rows kept out of the training, with their numbers in the file.
struct HeldOut {
    data: Dataset,
    numbers: Vec<u64>,
}

impl HeldOut {
    /// Takes a share of the rows, drawn at random, out of the data.
    fn take(data: &mut Dataset, share: f64, seed: u64) -> Result<Self, Error> {
        let mut rows: Vec<usize> = (0..data.n_rows()).collect();
        Rng::new(seed, Purpose::Sample, 1).shuffle(&mut rows);
        let n = ((data.n_rows() as f64 * share).round() as usize).clamp(1, data.n_rows() - 1);
        let (held, kept) = rows.split_at_mut(n);
        held.sort_unstable();
        kept.sort_unstable();
        let held_out = data.select(held);
        *data = data.select(kept);
        data.check_trainable(data.task())?;
        Ok(Self { data: held_out, numbers: held.iter().map(|&row| row as u64 + 1).collect() })
    }
}

/// What is told about a model that was evaluated.
struct Measured {
    from: &'static str,
    rows: usize,
    predict_seconds: f64,
    report: Metrics,
    left_out: LeftOut,
}

impl Measured {
    /// Keeps the figures, and puts the rest on the page if there is one.
    fn new(
        from: &'static str,
        evaluation: Evaluation,
        model: &Model,
        page: Option<&mut Page>,
    ) -> anyhow::Result<Self> {
        if let Some(page) = page {
            let words = match from {
                "test" => "test rows",
                "holdout" => "held-out rows",
                _ => "training rows, predicted out of bag",
            };
            let measured_on = format!("{} {words}", output::count(evaluation.rows as u64));
            page::evaluation(page, model, &evaluation, measured_on)?;
        }
        let Evaluation { rows, predict_seconds, report, left_out, .. } = evaluation;
        Ok(Self { from, rows, predict_seconds, report, left_out })
    }
}

/// How the model does on the rows held out or the test data.
fn evaluate_on_test(
    args: &FitArgs,
    model: &Model,
    held_out: Option<&HeldOut>,
    par: &Par,
    page: Option<&mut Page>,
) -> anyhow::Result<Option<Measured>> {
    let for_report = page.is_some();
    let (from, evaluation) = match (held_out, &args.test) {
        (Some(HeldOut { data, numbers }), _) => {
            ("holdout", evaluate_dataset(model, data, for_report.then_some(numbers), par)?)
        }
        (None, Some(test)) => {
            let options = args.data_args.test_options(args.test_labels.as_ref());
            ("test", evaluate_file(model, test, &options, par, for_report)?)
        }
        (None, None) => return Ok(None),
    };
    Measured::new(from, evaluation, model, page).map(Some)
}

/// How good the out-of-bag predictions are.
fn evaluate_oob(
    model: &Model,
    oob: &OutOfSample,
    data: &Dataset,
    page: Option<&mut Page>,
) -> anyhow::Result<Option<Measured>> {
    if oob.is_empty() {
        return Ok(None);
    }
    let mut evaluation = evaluate_predictions(oob.values.clone(), oob.labels.clone().into(), None)?;
    if page.is_some() {
        let mut least = LeastSure::default();
        for ((prediction, &class), &row) in
            evaluation.predictions.rows().into_iter().zip(&oob.labels).zip(&oob.rows)
        {
            let values = data.features.to_array(row..row + 1);
            least.add(row as u64 + 1, prediction, Some(class), values.row(0));
        }
        evaluation.least_sure = least;
    }
    Measured::new("out_of_bag", evaluation, model, page).map(Some)
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
