//! The report on a stream.

use std::path::Path;

use hedgerow::core::{Drift, Result, Targets, Task};
use hedgerow::report::{CurvePoint, LearningCurve, Mark, MarkKind, Page};
use ndarray::Array2;

use super::{Cut, Prequential, StreamRun};
use crate::commands::page::{self, fact};
use crate::commands::{Evaluation, RunningMetrics};
use crate::output::count;

/// The page about a stream, with the predictions for the test data if there are any.
pub(super) fn page(
    stream: &StreamRun<'_>,
    title: &Path,
    evaluation: Option<&Evaluation>,
    bytes: u64,
) -> Result<Page> {
    let (model, state, par) = (&stream.model, &stream.state, stream.plan.par);
    let n_rows = state.windows.rows_seen();
    let rows = count(n_rows);
    let subtitle =
        format!("{rows} rows, each predicted before it was learnt, by {}", model.kind().info().noun);
    let mut page = Page::default();
    page::describe(&mut page, model, title, &subtitle, bytes);
    fact(&mut page, "Rows a second", count((n_rows as f64 / state.seconds.fit.max(1e-9)) as u64));
    let (name, value) = stream.renewed().fact();
    fact(&mut page, name, value);
    if let Some(summary) = model.stream_summary() {
        fact(&mut page, "Concept drift", summary.text());
    }
    page.curve = Some(curve(stream));
    if let Some(evaluation) = evaluation {
        let n_rows = count(evaluation.n_rows() as u64);
        let measured_on = format!("{n_rows} test rows, after all rows were learnt");
        page::evaluation(&mut page, model, evaluation, measured_on)?;
        page::draw_evaluated(&mut page, model, evaluation, "The dots are the test rows.", par)?;
        return Ok(page);
    }
    let n_drawn = match &state.running {
        RunningMetrics::Classes(running) => {
            let measured_on = format!("all {rows} rows, each predicted before it was learnt");
            page.evaluate_running(running, model.schema(), measured_on);
            page.uncertain = stream.least_sure().finish(model.schema());
            page.notes.push("The most uncertain predictions are those among the newest 1,000 rows.".into());
            2
        }
        RunningMetrics::Values(running) => {
            page::value_facts(&mut page, &running.report());
            1
        }
    };
    if model.n_features() == n_drawn {
        let value = |(i, d): (usize, usize)| state.newest[i].values[d];
        let x = Array2::from_shape_fn((state.newest.len(), n_drawn), value);
        let mut targets = Targets::empty(model.task());
        state.newest.iter().for_each(|row| targets.extend(Targets::from(row.truth).view()));
        let rows = (x.view(), targets.view());
        page::draw(&mut page, model, rows, "The dots are the newest rows learnt.", par)?;
    }
    if model.task() == Task::Classification && n_rows > 4_096 && model.n_classes() <= 1_000 {
        page.notes.push("The AUC is estimated on a random sample of the predictions.".into());
    }
    Ok(page)
}

fn curve(stream: &StreamRun<'_>) -> LearningCurve {
    let text = match stream.plan.cut {
        Cut::Windows(_) => {
            "Prequential metrics: every row is predicted before it is learnt; means over windows of rows."
        }
        _ => "Prequential metrics: every row is predicted before it is learnt; means over each batch.",
    };
    let mut curve = LearningCurve { text: text.into(), ..LearningCurve::default() };
    for (i, window) in stream.state.windows.ended().enumerate() {
        let figures = match window.prequential {
            Prequential::Classes {
                prequential_accuracy,
                prequential_log_loss,
                prequential_ece,
                prequential_set_coverage90,
                prequential_set_size90,
            } => CurvePoint {
                accuracy: prequential_accuracy,
                log_loss: Some(prequential_log_loss),
                ece: Some(prequential_ece),
                sets: Some([prequential_set_coverage90, prequential_set_size90]),
                ..CurvePoint::default()
            },
            Prequential::Values { prequential_rmse, prequential_nlpd, .. } => CurvePoint {
                accuracy: f64::NAN,
                rmse: Some(prequential_rmse),
                nlpd: Some(prequential_nlpd),
                ..CurvePoint::default()
            },
        };
        curve.points.push(CurvePoint {
            rows_seen: window.rows_seen,
            memory_weights: match window.memory_weights[..] {
                [all, newest_20, newest_100, newest_300, newest_1000] => {
                    Some([all, newest_300 + newest_1000, newest_20 + newest_100])
                }
                _ => None,
            },
            test_accuracy: window.test_accuracy,
            test_rmse: window.test_rmse,
            rows_per_second: Some(window.rows_per_second),
            ..figures
        });
        curve.marks.extend(window.drifts.iter().map(drift));
        // At the start every class is new.
        if i > 0 || stream.state.seen_before > 0 {
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
    let (before, after) = (percent(drift.error_before), percent(drift.error_after));
    let text = format!("the error rose from {before} to {after} since row {}", count(drift.since));
    Mark { rows_seen: drift.noticed_at, kind: MarkKind::DriftDetected, text }
}
