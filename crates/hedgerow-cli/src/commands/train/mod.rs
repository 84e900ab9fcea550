//! `train`: data in, a model out, trained in the background by the engine while it can be watched.

mod curve;
mod kept;
mod save;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::bail;
use hedgerow::core::{Budget, Dataset, Quality};
use hedgerow::engine::{EngineOptions, Snapshot};
use hedgerow::io::RowReader;
use hedgerow::trainer::{JobReport, Policy};
use hedgerow::{Engine, Kind};
use serde::Serialize;

use super::fit::{bytes_left, read, rows_kept};
use super::live::{Broadcast, JobLine, LiveStatus, now};
use super::store::learner::StoreFacts;
use super::{
    Evaluation, Feed, LeftOut, Made, Metrics, NumberedRows, Outcome, Seconds, after_bad_row, check_room,
    check_task, check_writable, interrupt, note_dates, params,
};
use crate::args::TrainArgs;
use crate::output::{self, live::Live};
use curve::{Point, point, write_curve};
use kept::StoredRows;
use save::Saver;

/// How often the engine is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// What `train` tells.
#[derive(Debug, Serialize)]
pub(crate) struct TrainResult {
    #[serde(flatten)]
    pub(crate) made: Made,
    pub(crate) policy: Policy,
    /// How good the out-of-sample predictions of the model were; none if nothing was learnt.
    pub(crate) validation: Option<Quality>,
    pub(crate) metrics: Option<Metrics>,
    pub(crate) metrics_rows: Option<usize>,
    pub(crate) left_out: LeftOut,
    /// Rows that were left out of the training because they have no label (--skip-unlabelled).
    pub(crate) rows_without_label: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) store: Option<StoreFacts>,
    /// The status of all jobs at the end.
    pub(crate) jobs: Vec<JobReport>,
    /// All snapshots that were seen, in order.
    pub(crate) snapshots: Vec<Point>,
}

pub(crate) fn run(args: &TrainArgs) -> anyhow::Result<Outcome> {
    let start = Instant::now();
    check_writable(args.out.iter().chain(&args.curve))?;
    let mut budget = interrupt::listen(args.common.limits.budget(start))?;
    let room = check_room(&args.common.limits)?;
    check_task(args.model.unwrap_or_default(), args.task, args.store.is_some())?;
    let mut kept = args.store.as_ref().map(|dir| StoredRows::open(args, dir)).transpose()?;
    let params = match &kept {
        Some(kept) => kept.params.clone(),
        None => params(args.model.unwrap_or_default(), &args.settings, args.seed)?,
    };
    let (data, rows_without_label): (Option<Dataset>, u64) = match (&kept, &args.data) {
        (None, Some(path)) => {
            let (data, n) = read(path, (params.kind(), args.task), args.skip_unlabelled, &args.common)?;
            (Some(data), n)
        }
        _ => (None, 0),
    };
    let (seconds_read, n_rows) = (start.elapsed().as_secs_f64(), data.as_ref().map(Dataset::n_rows));
    if let Some(limit) = args.common.limits.max_memory {
        let left = |data: &Dataset| bytes_left(limit, data, rows_kept(&params, args.frozen));
        budget.bytes = data.as_ref().map_or(Ok(room), |data| left(data).map(Some))?;
    }
    budget.rounds = args.rounds;
    let fit_start = Instant::now();
    let options = EngineOptions {
        threads: args.common.run.threads,
        policy: args.policy,
        min_slice: Duration::from_millis(args.min_slice),
        lanes: usize::from(args.lanes),
        budget: budget.clone(),
        gives_way: args.give_way,
    };
    let engine = match (&mut kept, data) {
        (Some(kept), _) => kept.start(&options)?,
        (None, Some(data)) => {
            let engine = Engine::start(data.schema.clone(), &params, &options)?;
            engine.append_data(data)?;
            engine
        }
        (None, None) => bail!("expected data to learn, or a store to go on with"),
    };
    let broadcast = Broadcast::new(args.out.as_deref());
    let is_reading = || kept.as_ref().is_some_and(StoredRows::is_reading);
    let saver = Saver {
        engine: &engine,
        learner: kept.as_ref().map(|kept| &kept.learner),
        out: args.out.as_deref(),
        is_frozen: args.frozen,
        every: Duration::from_secs_f64(args.save_every),
    };
    let is_over = AtomicBool::new(false);
    let (snapshots, problem) = std::thread::scope(|scope| {
        let saving = scope.spawn(|| saver.run(&is_over));
        let snapshots = watch(&engine, (params.kind(), &budget), args.curve.is_some(), is_reading, broadcast);
        is_over.store(true, Ordering::Release);
        (snapshots, saving.join().ok().flatten())
    });
    if let Some(problem) = problem {
        let what = "the model could not be saved while it was being trained";
        output::note(&format!("warning: {what} ({problem:#})"));
    }
    let observed = engine.observed();
    let finished = engine.finish()?;
    let fitted = fit_start.elapsed().as_secs_f64();
    let n_rows = n_rows.unwrap_or(finished.n_rows as usize);
    let left = kept.zip(observed).map(|(kept, observed)| kept.leave(&finished, &observed));
    let model = if args.frozen { finished.model.without_rows() } else { finished.model };
    // The model is safe before anything else is told.
    let saved = Made::save(&model, args.out.as_ref())?;
    note_dates(model.schema(), &args.common.data.options());
    let facts = match left.transpose()? {
        Some((_, Some(problem))) => {
            after_bad_row(n_rows as u64, args.out.as_deref());
            return Err(problem);
        }
        left => left.map(|(facts, _)| facts),
    };
    let par = args.common.run.par()?;
    let options = args.common.test_options();
    let open = |path: &PathBuf| RowReader::open_with(path, &options, model.schema());
    let test_rows = match (&args.common.test, &args.curve) {
        (Some(test), Some(_)) => Some(NumberedRows::read(&mut Feed::new(open(test)?))?),
        _ => None,
    };
    let points =
        snapshots.iter().filter_map(|snapshot| point(snapshot, test_rows.as_ref(), &par).transpose());
    let snapshots = points.collect::<anyhow::Result<Vec<_>>>()?;
    if let Some(curve) = &args.curve {
        write_curve(curve, model.task(), &snapshots)?;
    }
    let evaluate = |test: &PathBuf| Evaluation::of_file(&model, test, &options, &par, false);
    let evaluation = args.common.test.as_ref().map(evaluate).transpose()?;
    let predict = evaluation.as_ref().map_or(0.0, |evaluation| evaluation.seconds.predict);
    let seconds = Seconds { read: seconds_read, fit: fitted, predict };
    let result = TrainResult {
        made: Made::new(&model, n_rows, seconds, finished.stop, saved)?,
        policy: args.policy,
        validation: finished.validation,
        metrics: evaluation.as_ref().map(Evaluation::metrics).transpose()?,
        metrics_rows: evaluation.as_ref().map(Evaluation::n_rows),
        left_out: evaluation.map(|evaluation| evaluation.left_out).unwrap_or_default(),
        rows_without_label,
        store: facts,
        jobs: finished.jobs,
        snapshots,
    };
    output::show(&result, args.common.run.json)
}

/// Shows how it goes until nothing is left to do. Returns all snapshots that were published, or, where they are not needed, only what is known about them.
fn watch(
    engine: &Engine,
    (kind, budget): (Kind, &Budget),
    keeps: bool,
    is_reading: impl Fn() -> bool,
    mut broadcast: Broadcast,
) -> Vec<Arc<Snapshot>> {
    let (mut live, start) = (Live::new(), Instant::now());
    let mut snapshots: Vec<Arc<Snapshot>> = Vec::new();
    loop {
        // In this order: what is read meanwhile is work for the engine.
        let reads = is_reading() && budget.spent().is_none();
        let is_over = engine.rest().is_some() && !reads;
        let newest = engine.snapshot();
        if newest.is_trained() && snapshots.last().is_none_or(|last| !Arc::ptr_eq(last, &newest)) {
            if !keeps {
                snapshots.clear();
            }
            snapshots.push(newest);
        }
        let left = |end: Instant| end.saturating_duration_since(Instant::now()).as_secs_f64();
        let status = || LiveStatus {
            model: kind.to_string(),
            state: if reads { "reading and training" } else { "training" }.into(),
            process: std::process::id(),
            elapsed_seconds: start.elapsed().as_secs_f64(),
            left_seconds: budget.deadline.map(left),
            rounds: budget.rounds.map(|_| engine.rounds_done()),
            validation: snapshots.last().and_then(|newest| newest.validation.clone()),
            jobs: engine.jobs().iter().map(JobLine::new).collect(),
            written: now(),
        };
        live.show(status);
        broadcast.tell(status);
        if is_over {
            live.finish();
            return snapshots;
        }
        std::thread::sleep(LOOK);
    }
}
