//! `update`: a model learns more.

use std::time::Instant;

use anyhow::{Context as _, bail};
use hedgerow::Model;
use hedgerow::core::metrics::ValueReport;
use hedgerow::core::{Normals, Silent, StopReason, Task, Training};
use hedgerow::io::RowReader;
use serde::Serialize;

use super::learning::{Cut, LearnResult, Plan, StreamRun, TestRows};
use super::{
    Evaluation, Feed, LeftOut, Made, Metrics, Outcome, Seconds, after_bad_row, batch_rows, check_room,
    check_writable, interrupt, timed,
};
use crate::args::UpdateArgs;
use crate::output;

/// Rows of a window, for the report.
const WINDOW: u64 = 100;

pub(crate) fn run(args: &UpdateArgs) -> anyhow::Result<Outcome> {
    let start = Instant::now();
    let out = args.out.as_ref().unwrap_or(&args.model);
    check_writable(args.report.iter().chain([out]))?;
    check_room(&args.common.limits)?;
    let model = Model::load(&args.model)?;
    let par = args.common.run.par()?;
    let budget = interrupt::listen(args.common.limits.budget(start))?;
    if model.task() == Task::Regression {
        return regression(args, model, &Training { par: &par, budget: &budget, observer: &Silent }, start);
    }

    let reader = RowReader::open_growing(&args.data, &args.common.data.options(), model.schema())?;
    let options = args.common.test_options();
    let plan = Plan {
        test: args.common.test.clone().map(|test| TestRows::File(test, options)),
        max_memory: args.common.limits.max_memory,
        wants_report: args.report.is_some(),
        ..Plan::new(Cut::Windows(WINDOW), &par, budget)
    };
    let mut stream = StreamRun::new(model, plan, None).with_context(|| args.model.display().to_string())?;
    stream.state.seconds.read = start.elapsed().as_secs_f64();
    stream.run(&mut Feed::new(reader), &mut |_| Ok(()))?;
    let result = LearnResult::finish(&mut stream, &args.data, [Some(out), args.report.as_ref()], start)?;
    output::show(&LearnResult { is_update: true, ..result }, args.common.run.json)
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
    let reader = RowReader::open_growing(&args.data, &args.common.data.options(), model.schema())?;
    let mut feed = Feed::new(reader);
    let (mut predictions, mut truth) = (Normals::default(), Vec::new());
    let (mut seconds, mut problem) = (Seconds::default(), None);
    while training.budget.spent().is_none() {
        let rows = match feed.next(batch_rows(model.n_features()).min(1_024)) {
            Ok(Some(rows)) => rows,
            Ok(None) => break,
            Err(error) if truth.is_empty() => return Err(error.into()),
            Err(error) => {
                problem = Some(error);
                break;
            }
        };
        let learn = || model.learn_rows(feed.schema(), rows.rows(), training);
        let update = timed(&mut seconds.fit, learn)?;
        truth.extend_from_slice(&rows.targets.view().values()[..update.n_learnt]);
        predictions.mean.extend_from_slice(&update.values.mean[..update.n_learnt]);
        predictions.variance.extend_from_slice(&update.values.variance[..update.n_learnt]);
    }
    seconds.read = start.elapsed().as_secs_f64() - seconds.fit;
    let stop = training.budget.spent().unwrap_or(StopReason::Done);
    let saved = Made::save(&model, Some(args.out.as_ref().unwrap_or(&args.model)))?;
    if let Some(problem) = problem {
        after_bad_row(truth.len() as u64, saved.map(|(path, _)| path));
        return Err(problem.into());
    }
    let options = args.common.test_options();
    let evaluate = |test| Evaluation::of_file(&model, test, &options, training.par, false)?.metrics();
    let metrics = args.common.test.as_deref().map(evaluate).transpose()?;
    let prequential = if truth.is_empty() { None } else { Some(ValueReport::new(&predictions, &truth)?) };
    let made = Made::new(&model, truth.len(), seconds, stop, saved)?;
    let result = RegressionUpdate { made, prequential, metrics, left_out: feed.left_out()? };
    output::show(&result, args.common.run.json)
}
