//! How good each snapshot of a training was.

use std::path::Path;

use anyhow::Context as _;
use hedgerow::Model;
use hedgerow::core::metrics::Report;
use hedgerow::core::{Dataset, Features, Par, Quality};
use hedgerow::engine::Snapshot;
use hedgerow::io::{ReadOptions, RowReader};
use serde::Serialize;

/// One snapshot.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Point {
    pub(crate) seconds: f64,
    pub(crate) steps: u64,
    pub(crate) validation: Option<Quality>,
    /// On the test rows, where a curve was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) test_accuracy: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) test_balanced_accuracy: Option<f64>,
}

/// The test rows, in memory: every snapshot predicts them.
pub(super) fn read_test(path: &Path, options: &ReadOptions, model: &Model) -> anyhow::Result<Dataset> {
    let mut reader = RowReader::open_with(path, options, model.schema())?;
    let (mut features, mut labels) = (Features::new(model.n_features()), Vec::new());
    while let Some(batch) = reader.next_batch(crate::commands::batch_rows(model.n_features()))? {
        for (row, label) in batch.x.rows().into_iter().zip(batch.labels.iter().flatten()) {
            if let Some(label) = label {
                features.push(&row.to_vec());
                labels.push(*label);
            }
        }
    }
    Ok(Dataset::new(model.schema().clone(), features, labels, None)?)
}

/// How good a snapshot is; none if it has learnt nothing.
pub(super) fn point(snapshot: &Snapshot, test: Option<&Dataset>, par: &Par) -> anyhow::Result<Option<Point>> {
    if !snapshot.is_trained() {
        return Ok(None);
    }
    let report = match test {
        Some(test) => {
            let x = test.features.to_array(0..test.n_rows());
            let proba = snapshot.model.predict_proba_par(x.view(), par)?;
            Some(Report::new(proba.view(), test.labels(), None)?)
        }
        None => None,
    };
    Ok(Some(Point {
        seconds: snapshot.elapsed.as_secs_f64(),
        steps: snapshot.steps,
        validation: snapshot.validation.clone(),
        test_accuracy: report.as_ref().map(|report| report.accuracy),
        test_balanced_accuracy: report.as_ref().map(|report| report.balanced_accuracy),
    }))
}

/// One line a snapshot, as CSV.
pub(super) fn write_curve(path: &Path, points: &[Point]) -> anyhow::Result<()> {
    let mut out = csv::Writer::from_path(path).with_context(|| path.display().to_string())?;
    let names = [
        "seconds",
        "steps",
        "validation_log_loss",
        "validation_accuracy",
        "validation_balanced_accuracy",
        "test_accuracy",
        "test_balanced_accuracy",
    ];
    out.write_record(names)?;
    for point in points {
        let number = |value: f64| format!("{value:.6}");
        let quality = point.validation.as_ref();
        let maybe = |value: Option<f64>| value.map_or_else(String::new, number);
        out.write_record([
            format!("{:.3}", point.seconds),
            point.steps.to_string(),
            maybe(quality.map(|quality| quality.log_loss)),
            maybe(quality.map(|quality| quality.accuracy)),
            maybe(quality.map(|quality| quality.balanced_accuracy)),
            maybe(point.test_accuracy),
            maybe(point.test_balanced_accuracy),
        ])?;
    }
    out.flush().with_context(|| path.display().to_string())
}
