//! `train`: data in, a model out, trained in the background by the engine while it can be watched.

mod curve;
mod kept;
mod save;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hedgerow::Engine;
use hedgerow::core::{Budget, Dataset, Quality};
use hedgerow::engine::{EngineOptions, Snapshot};
use hedgerow::io::read_dataset;
use hedgerow::trainer::{JobReport, Policy};
use serde::Serialize;

use super::evaluation::{LeftOut, Metrics, evaluate_file};
use super::fit::{Seconds, bytes_left, rows_kept};
use super::learning::StoreFacts;
use super::live::{Broadcast, JobLine, News};
use super::{Made, Outcome, after_bad_row, check_room, check_writable, interrupt, params};
use crate::args::TrainArgs;
use crate::output::{self, live::Live};
use crate::process;
use curve::{Point, point, read_test, write_curve};
use kept::Kept;
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) store: Option<StoreFacts>,
    /// The status of all jobs at the end.
    pub(crate) jobs: Vec<JobReport>,
    /// All snapshots that were seen, in order.
    pub(crate) snapshots: Vec<Point>,
}

pub(crate) fn run(args: &TrainArgs) -> anyhow::Result<Outcome> {
    let start = Instant::now();
    for path in args.out.iter().chain(&args.curve) {
        check_writable(path)?;
    }
    let mut budget = args.limits.budget(start);
    interrupt::listen(&budget)?;
    let room = check_room(&args.limits)?;
    let mut kept = args.store.as_ref().map(|dir| Kept::open(args, dir)).transpose()?;
    let params = match &kept {
        Some(kept) => kept.params.clone(),
        None => params(args.model.unwrap_or_default(), &args.settings, args.seed)?,
    };
    let data: Option<Dataset> = match (&kept, &args.data) {
        (None, Some(path)) => Some(read_dataset(path, &args.data_args.options(), room)?),
        _ => None,
    };
    let (read, n_rows) = (start.elapsed().as_secs_f64(), data.as_ref().map(Dataset::n_rows));
    if let Some(limit) = args.limits.max_memory {
        let left = |data: &Dataset| bytes_left(limit, data, rows_kept(&params, args.frozen));
        budget.bytes = data.as_ref().map_or(Ok(room), |data| left(data).map(Some))?;
    }
    budget.rounds = args.rounds;
    let fit_start = Instant::now();
    let options = EngineOptions {
        threads: args.run.threads,
        policy: args.policy,
        min_slice: Duration::from_millis(args.min_slice),
        lanes: usize::from(args.lanes),
        budget: budget.clone(),
        gives_way: args.give_way,
    };
    let engine = match (&mut kept, data) {
        (Some(kept), _) => kept.start(&options)?,
        (None, data) => {
            let schema = data.as_ref().map_or_else(Default::default, |data| data.schema.clone());
            let engine = Engine::start(schema, &params, &options)?;
            data.map(|data| engine.append_data(data)).transpose()?;
            engine
        }
    };
    let (live, broadcast) =
        (Live::new(budget.deadline), Broadcast::new(args.out.as_deref(), params.kind(), budget.deadline));
    let is_reading = || kept.as_ref().is_some_and(Kept::is_reading);
    let saver = Saver {
        engine: &engine,
        shelf: kept.as_ref().map(Kept::shelf),
        out: args.out.as_deref(),
        is_frozen: args.frozen,
        every: Duration::from_secs_f64(args.save_every),
    };
    let is_over = AtomicBool::new(false);
    let (snapshots, problem) = std::thread::scope(|scope| {
        let saving = scope.spawn(|| saver.run(&is_over));
        let snapshots = watch(&engine, &budget, args.curve.is_some(), is_reading, (live, broadcast));
        is_over.store(true, Ordering::Release);
        (snapshots, saving.join().ok().flatten())
    });
    if let Some(problem) = problem {
        output::note(&format!(
            "warning: the model could not be saved while it was being trained ({problem:#})"
        ));
    }
    let observed = engine.observed();
    let finished = engine.finish()?;
    let fitted = fit_start.elapsed().as_secs_f64();
    let n_rows = n_rows.unwrap_or(finished.n_rows as usize);
    let left = kept.zip(observed).map(|(kept, observed)| kept.leave(&finished, &observed));
    let model = if args.frozen { finished.model.without_rows() } else { finished.model };
    // The model is safe before anything else is told.
    let saved = Made::save(&model, args.out.as_ref())?;
    crate::commands::note_dates(model.schema(), &args.data_args.options());
    let facts = match left.transpose()? {
        Some((_, Some(problem))) => {
            after_bad_row(n_rows as u64, args.out.as_deref());
            return Err(problem);
        }
        left => left.map(|(facts, _)| facts),
    };
    let par = args.run.par()?;
    let seconds = Seconds { read, fit: fitted, predict: 0.0 };
    let mut result = TrainResult {
        made: Made::new(&model, n_rows, seconds, finished.stop, saved)?,
        policy: args.policy,
        validation: finished.validation,
        metrics: None,
        metrics_rows: None,
        left_out: LeftOut::default(),
        store: facts,
        jobs: finished.jobs,
        snapshots: Vec::new(),
    };
    let options = args.data_args.test_options(args.test_labels.as_ref());
    let test = match (&args.test, &args.curve) {
        (Some(test), Some(_)) => Some(read_test(test, &options, &model)?),
        _ => None,
    };
    result.snapshots = snapshots
        .iter()
        .filter_map(|snapshot| point(snapshot, test.as_ref(), &par).transpose())
        .collect::<anyhow::Result<_>>()?;
    if let Some(curve) = &args.curve {
        write_curve(curve, &result.snapshots)?;
    }
    if let Some(test) = &args.test {
        let evaluation = evaluate_file(&model, test, &options, &par, false)?;
        (result.metrics_rows, result.metrics) = (Some(evaluation.rows), Some(evaluation.report));
        (result.made.seconds.predict, result.left_out) = (evaluation.predict_seconds, evaluation.left_out);
    }
    result.made.peak_memory_bytes = process::peak_memory();
    output::show(&result, args.run.json)?;
    output::left_out(&result.left_out);
    Ok(Outcome::Done)
}

/// Shows how it goes until nothing is left to do. Returns all snapshots that were published, or, where they are not needed, only what is known about them.
fn watch(
    engine: &Engine,
    budget: &Budget,
    keeps: bool,
    is_reading: impl Fn() -> bool,
    (mut live, mut broadcast): (Live, Broadcast),
) -> Vec<Arc<Snapshot>> {
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
        let newest = snapshots.last().map(|snapshot| &**snapshot);
        let jobs = || engine.jobs().iter().map(JobLine::new).collect();
        live.show(newest, jobs);
        broadcast.tell(|| News {
            is_reading: reads,
            rounds: budget.rounds.map(|_| engine.rounds_done()),
            validation: newest.and_then(|snapshot| snapshot.validation.as_ref()),
            jobs: jobs(),
        });
        if is_over {
            live.finish();
            return snapshots;
        }
        std::thread::sleep(LOOK);
    }
}
