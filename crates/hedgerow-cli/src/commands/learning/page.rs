//! The report on a stream.

use std::path::Path;

use hedgerow::core::metrics::Report;
use hedgerow::core::{Drift, Result};
use hedgerow::report::{CurvePoint, LearningCurve, Mark, MarkKind, Page, Predictions};
use ndarray::Array2;

use super::{Cut, StreamRun};
use crate::commands::page::{self, fact};
use crate::output::count;

/// The page about a stream, with the predictions for the test data if there are any.
pub(crate) fn page(
    stream: &StreamRun<'_>,
    title: &Path,
    evaluation: Option<&(Array2<f64>, Report)>,
    bytes: u64,
) -> Result<Page> {
    let model = &stream.model;
    let rows = count(stream.rows());
    let subtitle =
        format!("{rows} rows, each predicted before it was learnt, by {}", model.kind().info().noun);
    let mut page = Page::default();
    page::describe(&mut page, model, title, &subtitle, bytes);
    let fit = stream.seconds.fit;
    fact(&mut page, "Rows a second", count((stream.rows() as f64 / fit.max(1e-9)) as u64));
    let (name, value) = stream.renewed().fact();
    fact(&mut page, name, value);
    page.curve = Some(curve(stream));
    if let (Some(test), Some((proba, _))) = (stream.test(), evaluation) {
        page.evaluate(&Predictions {
            measured_on: format!("{} test rows, after all rows were learnt", count(test.n_rows() as u64)),
            ..Predictions::new(proba.view(), &test.labels, model.schema())
        })?;
        page.uncertain = test.least_sure(proba).finish(model.schema());
    } else {
        let measured_on = format!("all {rows} rows, each predicted before it was learnt");
        page.evaluate_running(&stream.running, model.schema(), measured_on);
        page.uncertain = stream.least_sure().finish(model.schema());
        page.notes.push("The most uncertain predictions are those among the newest 1,000 rows.".into());
    }
    if model.n_features() == 2 {
        map(&mut page, stream)?;
    }
    if stream.running.n_rows() > 4_096 && model.n_classes() <= 1_000 && evaluation.is_none() {
        page.notes.push("The AUC is estimated on a random sample of the predictions.".into());
    }
    Ok(page)
}

/// A map with the test data or, where there are none, the newest rows.
fn map(page: &mut Page, stream: &StreamRun<'_>) -> Result<()> {
    let model = &stream.model;
    if let Some(test) = stream.test() {
        let rows = (test.rows(), test.labels.as_slice());
        return page::draw(
            page,
            model,
            (rows.0.view(), rows.1.into()),
            "The dots are the test rows.",
            stream.plan.par,
        );
    }
    let (x, labels) = stream.newest_rows();
    page::draw(
        page,
        model,
        (x.view(), labels.as_slice().into()),
        "The dots are the newest rows learnt.",
        stream.plan.par,
    )
}

fn curve(stream: &StreamRun<'_>) -> LearningCurve {
    let text = match stream.plan.cut {
        Cut::Windows(_) => {
            "Prequential metrics: every row is predicted before it is learnt; means over windows of rows."
        }
        _ => "Prequential metrics: every row is predicted before it is learnt; means over each batch.",
    };
    let mut curve = LearningCurve { text: text.into(), ..LearningCurve::default() };
    for (i, window) in stream.windows.all.iter().enumerate() {
        curve.points.push(CurvePoint {
            rows_seen: window.rows_seen,
            accuracy: window.prequential_accuracy,
            log_loss: Some(window.prequential_log_loss),
            test_accuracy: window.test_accuracy,
            rows_per_second: Some(window.rows_per_second),
        });
        curve.marks.extend(window.drifts.iter().map(drift));
        // At the start every class is new.
        if i > 0 || stream.seen_before > 0 {
            curve.marks.extend(window.new_classes.iter().map(|name| Mark {
                rows_seen: window.rows_seen - window.rows,
                kind: MarkKind::NewClass,
                text: name.clone(),
            }));
        }
    }
    curve
}

fn drift(drift: &Drift) -> Mark {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    Mark {
        rows_seen: drift.noticed_at,
        kind: MarkKind::DriftDetected,
        text: format!(
            "the error rose from {} to {} since row {}",
            percent(drift.error_before),
            percent(drift.error_after),
            count(drift.since)
        ),
    }
}
