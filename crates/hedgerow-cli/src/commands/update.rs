//! `update`: a model learns more.

use std::time::Instant;

use anyhow::{Context as _, bail};
use hedgerow::Model;
use hedgerow::core::metrics::ValueReport;
use hedgerow::core::{Normals, Rows, Silent, StopReason, Task, Training};
use hedgerow::io::RowReader;
use ndarray::Axis;
use serde::Serialize;

use super::evaluation::evaluate_file;
use super::fit::Seconds;
use super::learning::{self, Cut, Feed, LearnResult, Plan, StreamRun};
use super::{LeftOut, Made, Metrics, Outcome, check_writable, interrupt, page as pages};
use crate::args::UpdateArgs;
use crate::output::{self, text};
use crate::process;

/// Rows of a window, for the report.
const WINDOW: u64 = 100;

pub(crate) fn run(args: &UpdateArgs) -> anyhow::Result<Outcome> {
    let start = Instant::now();
    let out = args.out.as_ref().unwrap_or(&args.model);
    for path in args.report.iter().chain([out]) {
        check_writable(path)?;
    }
    super::check_room(&args.limits)?;
    let model = Model::load(&args.model)?;
    let par = args.run.par()?;
    let budget = args.limits.budget(start);
    interrupt::listen(&budget)?;
    if model.task() == Task::Regression {
        return regression(args, model, &Training { par: &par, budget: &budget, observer: &Silent }, start);
    }

    let reader = RowReader::open_growing(&args.data, &args.data_args.options(), model.schema())?;
    let plan = Plan {
        keeper: None,
        cut: Cut::Windows(WINDOW),
        test: None,
        par: &par,
        budget,
        max_memory: args.limits.max_memory,
        wants_report: args.report.is_some(),
    };
    let mut stream = StreamRun::new(model, plan).with_context(|| args.model.display().to_string())?;
    stream.seconds.read = start.elapsed().as_secs_f64();
    stream.run(&mut Feed::new(reader, &args.data), &mut |_| Ok(()))?;
    let mut result = LearnResult::finish(&mut stream, &args.data, [Some(out), None], start)?;
    if let Some(problem) = stream.problem {
        super::after_bad_row(result.rows, result.out.as_deref());
        return Err(problem.into());
    }
    let mut page =
        args.report.as_ref().map(|_| learning::page(&stream, &args.data, None, result.bytes)).transpose()?;
    if let Some(test) = &args.test {
        let options = args.data_args.test_options(args.test_labels.as_ref());
        let evaluation = evaluate_file(&stream.model, test, &options, &par, page.is_some())?;
        if let Some(page) = &mut page {
            let measured_on =
                format!("{} test rows, after all rows were learnt", output::count(evaluation.rows as u64));
            pages::evaluation(page, &stream.model, &evaluation, measured_on)?;
            page.notes.clear();
        }
        result.seconds.predict = evaluation.predict_seconds;
        (result.metrics_from, result.metrics_rows) = ("test", evaluation.rows as u64);
        if let Metrics::Classes(report) = evaluation.report {
            result.metrics = *report;
        }
        result.left_out.unknown_labels = evaluation.left_out.unknown_labels;
    }
    if let (Some(path), Some(page)) = (&args.report, &page) {
        pages::write(page, path)?;
    }
    result.batches = std::mem::take(&mut stream.windows.all);
    output::show(&text::Updated(result), args.run.json)?;
    Ok(Outcome::Done)
}

/// What `update` tells of a regression model.
#[derive(Debug, Serialize)]
pub(crate) struct RegressionUpdate {
    #[serde(flatten)]
    pub(crate) made: Made,
    pub(crate) prequential: Option<ValueReport>,
    pub(crate) metrics: Option<Metrics>,
    pub(crate) left_out: LeftOut,
}

/// The same for a regression model: rows are predicted, evaluated and learnt.
fn regression(
    args: &UpdateArgs,
    mut model: Model,
    training: &Training<'_>,
    start: Instant,
) -> anyhow::Result<Outcome> {
    if args.report.is_some() {
        bail!("--report of update needs a classifier (this is a regression model): use evaluate --report");
    }
    model.check_can_learn().with_context(|| args.model.display().to_string())?;
    let mut reader = RowReader::open_growing(&args.data, &args.data_args.options(), model.schema())?;
    let (mut predictions, mut truth) = (Normals::default(), Vec::new());
    let (mut seconds, mut left_out, mut problem) = (Seconds::default(), LeftOut::default(), None);
    while training.budget.spent().is_none() {
        let batch = match reader.next_batch(super::batch_rows(model.n_features()).min(1_024)) {
            Ok(Some(batch)) => batch,
            Ok(None) => break,
            Err(error) if truth.is_empty() => return Err(error.into()),
            Err(error) => {
                problem = Some(error);
                break;
            }
        };
        let values = batch.values.ok_or_else(|| learning::no_target(model.schema()).in_file(&args.data))?;
        let known: Vec<usize> = (0..values.len()).filter(|&i| !values[i].is_nan()).collect();
        left_out.without_label += (values.len() - known.len()) as u64;
        let x = batch.x.select(Axis(0), &known);
        let values: Vec<f64> = known.iter().map(|&i| values[i]).collect();
        let clock = Instant::now();
        let schema = reader.schema().clone();
        let update = model.learn_rows(&schema, Rows::new(x.view(), values.as_slice(), None), training)?;
        seconds.fit += clock.elapsed().as_secs_f64();
        truth.extend_from_slice(&values[..update.n_learnt]);
        predictions.mean.extend_from_slice(&update.values.mean[..update.n_learnt]);
        predictions.variance.extend_from_slice(&update.values.variance[..update.n_learnt]);
    }
    seconds.read = start.elapsed().as_secs_f64() - seconds.fit;
    let stop = training.budget.spent().unwrap_or(StopReason::Done);
    let saved = Made::save(&model, Some(args.out.as_ref().unwrap_or(&args.model)))?;
    let mut made = Made::new(&model, truth.len(), seconds, stop, saved)?;
    if let Some(problem) = problem {
        super::after_bad_row(truth.len() as u64, made.out.as_deref());
        return Err(problem.into());
    }
    let options = args.data_args.test_options(args.test_labels.as_ref());
    let tested = args
        .test
        .as_ref()
        .map(|test| evaluate_file(&model, test, &options, training.par, false))
        .transpose()?;
    made.peak_memory_bytes = process::peak_memory();
    let prequential = if truth.is_empty() { None } else { Some(ValueReport::new(&predictions, &truth)?) };
    let metrics = tested.map(|evaluation| evaluation.report);
    let result = RegressionUpdate { made, prequential, metrics, left_out };
    output::show(&result, args.run.json)?;
    output::left_out(&result.left_out);
    Ok(Outcome::Done)
}
