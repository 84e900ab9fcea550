//! What `update` and `stream` tell.

use std::path::{Path, PathBuf};
use std::time::Instant;

use hedgerow::Selective;
use hedgerow::core::conformal::{SetTally, TRACKED_LEVEL};
use hedgerow::core::{CalibrationGain, Drift};
use serde::Serialize;

use super::{Keeper, StreamRun, Window, page};
use crate::commands::info::Stream;
use crate::commands::store::learner::StoreFacts;
use crate::commands::{LeftOut, Made, Metrics, Renewed, after_bad_row, page as pages};

/// What `update` and `stream` tell.
#[derive(Debug, Serialize)]
pub(crate) struct LearnResult {
    /// The model, made from the rows learnt now.
    #[serde(flatten)]
    pub(crate) made: Made,
    /// Rows learnt a second, without reading and evaluating; and with everything.
    pub(crate) rows_per_second: f64,
    pub(crate) rows_per_second_overall: f64,
    /// Rows learnt since the model began.
    pub(crate) rows_learnt: u64,
    pub(crate) rows_forgotten: usize,
    #[serde(flatten)]
    pub(crate) renewed: Renewed,
    pub(crate) new_classes: Vec<String>,
    /// Changes noticed, in rows from the start of these data; the first 1,000.
    pub(crate) drifts: Vec<Drift>,
    pub(crate) n_drifts: usize,
    /// What the rows were like: changes of the concept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stream: Option<Stream>,
    /// Rows the metrics are about: `test`, or `prequential` where there are no test data.
    pub(crate) metrics_from: &'static str,
    pub(crate) metrics_rows: u64,
    pub(crate) metrics: Metrics,
    /// Metrics of the predictions made before the rows were learnt.
    pub(crate) prequential: Metrics,
    /// Log-loss without and with prequential calibration, over all rows learnt online.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) calibration: Option<CalibrationGain>,
    /// How many rows had their class in their prediction set, made before they were learnt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sets: Option<SetFigures>,
    pub(crate) batches: Vec<Window>,
    pub(crate) left_out: LeftOut,
    /// The labels that were learnt, where only some were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) queries: Option<QueryFigures>,
    /// Rows learnt again because their label was corrected.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) rows_corrected: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) store: Option<StoreFacts>,
    /// Whether it is told as by `update`.
    #[serde(skip)]
    pub(crate) is_update: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// How prediction sets did.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct SetFigures {
    pub(crate) level: f64,
    pub(crate) coverage: f64,
    pub(crate) mean_size: f64,
}

impl SetFigures {
    fn of(tally: &SetTally) -> Option<Self> {
        Some(Self { level: TRACKED_LEVEL, coverage: tally.coverage()?, mean_size: tally.mean_size()? })
    }
}

/// How many labels were asked for.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct QueryFigures {
    /// The share that was allowed.
    pub(crate) rate: f64,
    pub(crate) labels: u64,
    /// How many of them were drawn at random.
    pub(crate) random: u64,
    pub(crate) share: f64,
}

impl QueryFigures {
    fn of(selective: &Selective) -> Self {
        let labels = selective.n_queried();
        let share = labels as f64 / selective.n_seen().max(1) as f64;
        Self { rate: selective.params().rate, labels, random: selective.n_random(), share }
    }
}

impl LearnResult {
    /// Ends a stream: saves the model if that is wanted, evaluates it, writes the report. Fails if bad input has ended it.
    pub(crate) fn finish(
        stream: &mut StreamRun<'_>,
        data: &Path,
        [out, report]: [Option<&PathBuf>; 2],
        start: Instant,
    ) -> anyhow::Result<Self> {
        // Otherwise saving would put a copy in order.
        stream.model.put_in_order();
        let saved = Made::save(&stream.model, out)?;
        let evaluation = stream.evaluate(report.is_some())?;
        let (model, state) = (&stream.model, &stream.state);
        let n_rows = state.windows.rows_seen();
        let made = Made::new(model, n_rows as usize, state.seconds, stream.stop, saved)?;
        if let Some(path) = report {
            pages::write(&page::page(stream, data, evaluation.as_ref(), made.about.bytes)?, path)?;
        }
        if let Some(problem) = stream.problem.take() {
            after_bad_row(n_rows, out.map(PathBuf::as_path));
            return Err(problem.into());
        }
        let mut left_out = stream.left_out.clone();
        let prequential = state.running.metrics();
        let (metrics_from, metrics_rows, metrics) = match evaluation {
            Some(evaluation) => {
                left_out.unknown_labels.clone_from(&evaluation.left_out.unknown_labels);
                ("test", evaluation.n_rows() as u64, evaluation.metrics()?)
            }
            None => ("prequential", state.running.n_rows(), prequential.clone()),
        };
        Ok(Self {
            made,
            rows_per_second: n_rows as f64 / state.seconds.fit.max(1e-9),
            rows_per_second_overall: (n_rows - stream.rows_before) as f64 / start.elapsed().as_secs_f64(),
            rows_learnt: model.n_seen().unwrap_or(0),
            rows_forgotten: state.n_forgotten,
            renewed: stream.renewed(),
            new_classes: state.new_classes.clone(),
            drifts: state.drifts.clone(),
            n_drifts: state.n_drifts,
            stream: Stream::of(model),
            metrics_from,
            metrics_rows,
            metrics,
            prequential,
            calibration: model.calibration_gain(),
            sets: SetFigures::of(&state.sets),
            batches: state.windows.ended().cloned().collect(),
            left_out,
            queries: stream.plan.selective.as_ref().map(QueryFigures::of),
            rows_corrected: state.n_corrected,
            store: stream.plan.keeper.as_ref().map(Keeper::facts),
            is_update: false,
        })
    }
}
