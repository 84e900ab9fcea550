//! How good each snapshot of a training was.

use std::path::Path;

use anyhow::Context as _;
use hedgerow::core::{Par, Quality, Task};
use hedgerow::engine::Snapshot;
use serde::Serialize;

use crate::commands::{Evaluation, Metrics, NumberedRows};

/// One snapshot.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Point {
    pub(crate) seconds: f64,
    pub(crate) steps: u64,
    pub(crate) validation: Option<Quality>,
    /// On the test rows, where a curve was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) test_accuracy: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) test_balanced_accuracy: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) test_rmse: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) test_nlpd: Option<f64>,
}

/// How good a snapshot is; none if it has learnt nothing.
pub(super) fn point(
    snapshot: &Snapshot,
    test: Option<&NumberedRows>,
    par: &Par,
) -> anyhow::Result<Option<Point>> {
    if !snapshot.is_trained() {
        return Ok(None);
    }
    let evaluate = |test| Evaluation::of_rows(&snapshot.model, test, par, false)?.metrics();
    let mut point = Point {
        seconds: snapshot.elapsed.as_secs_f64(),
        steps: snapshot.steps,
        validation: snapshot.validation.clone(),
        ..Point::default()
    };
    match test.map(evaluate).transpose()? {
        Some(Metrics::Classes(report)) => {
            point.test_accuracy = Some(report.accuracy);
            point.test_balanced_accuracy = Some(report.balanced_accuracy);
        }
        Some(Metrics::Values(report)) => {
            (point.test_rmse, point.test_nlpd) = (Some(report.rmse), Some(report.nlpd));
        }
        None => {}
    }
    Ok(Some(point))
}

/// One line a snapshot, as CSV.
pub(super) fn write_curve(path: &Path, task: Task, points: &[Point]) -> anyhow::Result<()> {
    let mut out = csv::Writer::from_path(path).with_context(|| path.display().to_string())?;
    let header = match task {
        Task::Classification => {
            "seconds,steps,validation_log_loss,validation_accuracy,validation_balanced_accuracy,\
             test_accuracy,test_balanced_accuracy"
        }
        Task::Regression => "seconds,steps,validation_nlpd,validation_rmse,validation_r2,test_rmse,test_nlpd",
    };
    out.write_record(header.split(','))?;
    for point in points {
        let cell = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.6}"));
        let validation = match &point.validation {
            Some(Quality::Classes(q)) => [q.log_loss, q.accuracy, q.balanced_accuracy].map(Some),
            Some(Quality::Values(q)) => [Some(q.nlpd), Some(q.rmse), q.r2],
            None => [None; 3],
        };
        let test = match task {
            Task::Classification => [point.test_accuracy, point.test_balanced_accuracy],
            Task::Regression => [point.test_rmse, point.test_nlpd],
        };
        let figures = validation.into_iter().chain(test).map(cell);
        let first = [format!("{:.3}", point.seconds), point.steps.to_string()];
        out.write_record(first.into_iter().chain(figures))?;
    }
    out.flush().with_context(|| path.display().to_string())
}
