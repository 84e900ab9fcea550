//! What `update` and `stream` tell.

use std::path::{Path, PathBuf};
use std::time::Instant;

use hedgerow::core::metrics::Report;
use hedgerow::core::{Drift, StopReason, Summary};
use hedgerow::{Kind, Model, ModelParams};
use serde::Serialize;

use super::{StreamRun, Window, page};
use crate::commands::fit::Seconds;
use crate::commands::page as pages;
use crate::commands::{LeftOut, Renewed};
use crate::process;

/// What `update` and `stream` tell.
#[derive(Debug, Serialize)]
pub(crate) struct LearnResult {
    pub(crate) model: Kind,
    pub(crate) params: ModelParams,
    /// Rows learnt now.
    pub(crate) rows: u64,
    pub(crate) features: usize,
    pub(crate) classes: Vec<String>,
    pub(crate) seconds: Seconds,
    /// Bytes of the model file.
    pub(crate) bytes: u64,
    pub(crate) model_memory_bytes: u64,
    pub(crate) peak_memory_bytes: Option<u64>,
    /// What is told of this kind of model only.
    #[serde(flatten)]
    pub(crate) inside: Summary,
    /// Rows learnt a second, without reading and evaluating; and with everything.
    pub(crate) rows_per_second: f64,
    pub(crate) rows_per_second_overall: f64,
    /// Rows learnt since the model began.
    pub(crate) rows_learnt: u64,
    pub(crate) rows_retained: usize,
    pub(crate) rows_forgotten: usize,
    #[serde(flatten)]
    pub(crate) renewed: Renewed,
    pub(crate) new_classes: Vec<String>,
    /// Changes noticed, in rows from the start of these data; the first 1,000.
    pub(crate) drifts: Vec<Drift>,
    pub(crate) n_drifts: usize,
    pub(crate) stop: StopReason,
    pub(crate) out: Option<PathBuf>,
    /// Rows the metrics are about: `test`, or `prequential` where there are no test data.
    pub(crate) metrics_from: &'static str,
    pub(crate) metrics_rows: u64,
    pub(crate) metrics: Report,
    /// Metrics of the predictions made before the rows were learnt.
    pub(crate) prequential: Report,
    pub(crate) batches: Vec<Window>,
    pub(crate) left_out: LeftOut,
    /// Rows learnt again because their label was corrected.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) rows_corrected: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) store: Option<StoreFacts>,
}

/// What is told about the store that rows were kept in.
#[derive(Debug, Serialize)]
pub(crate) struct StoreFacts {
    pub(crate) dir: PathBuf,
    pub(crate) learner: String,
    pub(crate) rows: u64,
    pub(crate) events: u64,
    /// The place in the log from which on events were learnt in this run.
    pub(crate) resumed_at: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl LearnResult {
    /// Ends a stream: saves the model if that is wanted, evaluates it, writes the report.
    pub(crate) fn finish(
        stream: &mut StreamRun<'_>,
        data: &Path,
        [out, report]: [Option<&PathBuf>; 2],
        start: Instant,
    ) -> anyhow::Result<Self> {
        // Otherwise saving would put a copy in order.
        stream.model.put_in_order();
        let bytes = match out {
            Some(out) => stream.model.save(out)?,
            None => stream.model.file_len()?,
        };
        let evaluation = stream.evaluate()?;
        if let Some(path) = report {
            pages::write(&page(stream, data, evaluation.as_ref(), bytes)?, path)?;
        }
        let prequential = stream.running.report();
        let (metrics_from, metrics_rows) = match stream.test() {
            Some(test) => ("test", test.n_rows() as u64),
            None => ("prequential", stream.running.n_rows()),
        };
        let metrics = evaluation.map_or_else(|| prequential.clone(), |(_, report)| report);
        let mut result = Self::describe(stream, start, bytes, out, metrics, prequential);
        (result.metrics_from, result.metrics_rows) = (metrics_from, metrics_rows);
        Ok(result)
    }

    fn describe(
        stream: &mut StreamRun<'_>,
        start: Instant,
        bytes: u64,
        out: Option<&PathBuf>,
        metrics: Report,
        prequential: Report,
    ) -> Self {
        let model: &Model = &stream.model;
        let rows = stream.rows();
        Self {
            model: model.kind(),
            params: model.params(),
            rows,
            features: model.schema().n_features(),
            classes: model.schema().labels.names().to_vec(),
            seconds: stream.seconds,
            bytes,
            model_memory_bytes: model.bytes() as u64,
            peak_memory_bytes: process::peak_memory(),
            inside: model.summary(),
            rows_per_second: rows as f64 / stream.seconds.fit.max(1e-9),
            rows_per_second_overall: (rows - stream.rows_before) as f64 / start.elapsed().as_secs_f64(),
            rows_learnt: model.n_seen().unwrap_or(0),
            rows_retained: model.n_retained().unwrap_or(0),
            rows_forgotten: stream.n_forgotten,
            renewed: stream.renewed(),
            new_classes: std::mem::take(&mut stream.new_classes),
            drifts: std::mem::take(&mut stream.drifts),
            n_drifts: stream.n_drifts,
            stop: stream.stop,
            out: out.cloned(),
            metrics_from: "prequential",
            metrics_rows: 0,
            metrics,
            prequential,
            batches: Vec::new(),
            rows_corrected: stream.n_corrected,
            store: None,
            left_out: LeftOut { without_label: stream.without_label, ..LeftOut::default() },
        }
    }
}
