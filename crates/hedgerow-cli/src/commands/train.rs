//! `train`: data in, a model out, trained in slices by the engine, for all to see.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use hedgerow::core::metrics::Report;
use hedgerow::core::{Budget, Classifier as _, Dataset, Features, Par, StopReason};
use hedgerow::engine::{EngineOptions, Evidence, Snapshot};
use hedgerow::io::{ReadOptions, RowReader, read_dataset};
use hedgerow::trainer::{Policy, Seen};
use hedgerow::{Engine, Kind, Model, ModelParams};
use serde::Serialize;

use super::fit::{Seconds, bytes_left, rows_kept};
use super::judge::{LeftOut, judge};
use super::{Inside, Verdict, check_room, check_writable, interrupt, params};
use crate::args::TrainArgs;
use crate::machine;
use crate::output::{self, live::Live};

/// How often the engine is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// What `train` tells.
#[derive(Debug, Serialize)]
pub(crate) struct TrainResult {
    pub(crate) model: Kind,
    pub(crate) params: ModelParams,
    pub(crate) policy: Policy,
    pub(crate) rows: usize,
    pub(crate) features: usize,
    pub(crate) classes: Vec<String>,
    pub(crate) seconds: Seconds,
    pub(crate) bytes: u64,
    pub(crate) model_memory_bytes: u64,
    pub(crate) peak_memory_bytes: Option<u64>,
    #[serde(flatten)]
    pub(crate) inside: Inside,
    pub(crate) rows_remembered: Option<usize>,
    pub(crate) stop: StopReason,
    pub(crate) out: Option<PathBuf>,
    /// How good the model was on rows that it had not learnt; none if nothing was learnt.
    pub(crate) judged: Option<Evidence>,
    pub(crate) metrics: Option<Report>,
    pub(crate) metrics_rows: Option<usize>,
    pub(crate) left_out: LeftOut,
    /// How all jobs stood at the end.
    pub(crate) jobs: Vec<Seen>,
    /// All snapshots that were seen, in order.
    pub(crate) snapshots: Vec<Point>,
}

/// One snapshot.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Point {
    pub(crate) seconds: f64,
    pub(crate) slices: u64,
    pub(crate) judged: Evidence,
    /// On the test rows, where a curve was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) test_accuracy: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) test_macro_accuracy: Option<f64>,
}

pub(crate) fn run(args: &TrainArgs) -> anyhow::Result<Verdict> {
    let start = Instant::now();
    let params = params(args.model, &args.settings, args.seed)?;
    for path in args.out.iter().chain(&args.curve) {
        check_writable(path)?;
    }
    let mut budget = args.limits.budget(start);
    interrupt::listen(&budget)?;
    let data = read_dataset(&args.data, &args.data_args.options(), check_room(&args.limits)?)?;
    let read = start.elapsed().as_secs_f64();
    if let Some(limit) = args.limits.max_memory {
        budget.bytes = Some(bytes_left(limit, &data, rows_kept(&params, args.frozen))?);
    }
    budget.rounds = args.rounds;
    let fit_start = Instant::now();
    let (n_rows, schema) = (data.n_rows(), data.schema.clone());
    let options = EngineOptions {
        threads: args.run.threads,
        policy: args.policy,
        min_slice: Duration::from_millis(args.min_slice),
        lanes: usize::from(args.lanes),
        budget: budget.clone(),
        gives_way: args.give_way,
    };
    let engine = Engine::start(schema, &params, &options)?;
    engine.append_data(data)?;
    let snapshots = watch(&engine, &budget, args.curve.is_some());
    let finished = engine.finish()?;
    let fitted = fit_start.elapsed().as_secs_f64();

    let model = if args.frozen { finished.model.without_rows() } else { finished.model };
    let saved = args.out.as_ref().map(|out| model.save(out)).transpose()?;
    let par = args.run.par()?;
    let mut result = TrainResult {
        model: model.kind(),
        params: model.params(),
        policy: args.policy,
        rows: n_rows,
        features: model.schema.n_features(),
        classes: model.schema.labels.names().to_vec(),
        seconds: Seconds { read, fit: fitted, predict: 0.0 },
        bytes: saved.map_or_else(|| model.file_len(), Ok)?,
        model_memory_bytes: model.bytes() as u64,
        peak_memory_bytes: None,
        inside: Inside::new(&model),
        rows_remembered: model.n_remembered(),
        stop: finished.stop,
        out: args.out.clone(),
        judged: finished.evidence,
        metrics: None,
        metrics_rows: None,
        left_out: LeftOut::default(),
        jobs: finished.jobs,
        snapshots: Vec::new(),
    };
    let mut options = args.data_args.options();
    options.labels.clone_from(&args.test_labels);
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
        let judged = judge(&model, test, &options, &par, false)?;
        (result.metrics_rows, result.metrics) = (Some(judged.rows), Some(judged.report));
        (result.seconds.predict, result.left_out) = (judged.predict_seconds, judged.left_out);
    }
    result.peak_memory_bytes = machine::peak_memory();
    output::show(&result, args.run.json)?;
    output::left_out(&result.left_out);
    Ok(Verdict::Done)
}

/// Shows how it goes until nothing is left to do. Returns all snapshots that were published, or where nobody will ask for them only what is known about them.
fn watch(engine: &Engine, budget: &Budget, keeps: bool) -> Vec<Arc<Snapshot>> {
    let mut live = Live::new(budget.deadline);
    let mut snapshots: Vec<Arc<Snapshot>> = Vec::new();
    loop {
        let is_over = engine.rest().is_some();
        let newest = engine.snapshot();
        if newest.evidence.is_some() && snapshots.last().is_none_or(|last| !Arc::ptr_eq(last, &newest)) {
            if !keeps {
                snapshots.clear();
            }
            snapshots.push(newest);
        }
        live.show(snapshots.last().map(|snapshot| &**snapshot), || engine.jobs());
        if is_over {
            live.finish();
            return snapshots;
        }
        std::thread::sleep(LOOK);
    }
}

/// The test rows, in memory: they are asked of every snapshot.
fn read_test(path: &Path, options: &ReadOptions, model: &Model) -> anyhow::Result<Dataset> {
    let mut reader = RowReader::open_with(path, options, &model.schema)?;
    let (mut features, mut labels) = (Features::new(model.n_features()), Vec::new());
    while let Some(batch) = reader.next_batch(super::batch_rows(model.n_features()))? {
        for (row, label) in batch.x.rows().into_iter().zip(batch.labels.iter().flatten()) {
            if let Some(label) = label {
                features.push(&row.to_vec());
                labels.push(*label);
            }
        }
    }
    Ok(Dataset::new(model.schema.clone(), features, labels, None)?)
}

fn point(snapshot: &Snapshot, test: Option<&Dataset>, par: &Par) -> anyhow::Result<Option<Point>> {
    let Some(judged) = snapshot.evidence.clone() else { return Ok(None) };
    let report = match test {
        Some(test) => {
            let x = test.features.to_array(0..test.n_rows());
            let proba = snapshot.model.predict_proba(x.view(), par)?;
            Some(Report::new(proba.view(), &test.labels, None)?)
        }
        None => None,
    };
    Ok(Some(Point {
        seconds: snapshot.elapsed.as_secs_f64(),
        slices: snapshot.slices,
        judged,
        test_accuracy: report.as_ref().map(|report| report.accuracy),
        test_macro_accuracy: report.as_ref().map(|report| report.balanced_accuracy),
    }))
}

fn write_curve(path: &Path, points: &[Point]) -> anyhow::Result<()> {
    let mut out = csv::Writer::from_path(path).with_context(|| path.display().to_string())?;
    let names = [
        "seconds",
        "slices",
        "judged_loss",
        "judged_accuracy",
        "judged_macro_accuracy",
        "test_accuracy",
        "test_macro_accuracy",
    ];
    out.write_record(names)?;
    for point in points {
        let number = |value: f64| format!("{value:.6}");
        let maybe = |value: Option<f64>| value.map_or_else(String::new, number);
        out.write_record([
            format!("{:.3}", point.seconds),
            point.slices.to_string(),
            number(point.judged.loss),
            number(point.judged.accuracy),
            number(point.judged.macro_accuracy),
            maybe(point.test_accuracy),
            maybe(point.test_macro_accuracy),
        ])?;
    }
    out.flush().with_context(|| path.display().to_string())
}
