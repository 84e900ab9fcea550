//! The report on a course.

use std::path::Path;

use hedgerow::core::metrics::Report;
use hedgerow::core::{Classifier as _, Drift, Result};
use hedgerow::report::{Answers, CurvePoint, LearningCurve, Mark, MarkKind, Page};
use ndarray::Array2;

use super::{Course, Cut};
use crate::commands::page::{self, fact};
use crate::output::count;

/// The page about a course, with the answers to the test data if there are any.
pub(crate) fn page(
    course: &Course<'_>,
    title: &Path,
    judged: Option<&(Array2<f64>, Report)>,
    bytes: u64,
) -> Result<Page> {
    let model = &course.model;
    let rows = count(course.rows());
    let subtitle = format!("{rows} rows, each answered before it was learnt, by {}", page::a_kind(model));
    let mut page = Page::default();
    page::describe(&mut page, model, title, &subtitle, bytes);
    let fit = course.seconds.fit;
    fact(&mut page, "Rows a second", count((course.rows() as f64 / fit.max(1e-9)) as u64));
    let (name, value) = course.renewed().fact();
    fact(&mut page, name, value);
    page.curve = Some(curve(course));
    if let (Some(test), Some((proba, _))) = (course.test(), judged) {
        page.judge(&Answers {
            measured_on: format!("{} test rows, after all rows were learnt", count(test.n_rows() as u64)),
            ..Answers::new(proba.view(), &test.labels, &model.schema)
        })?;
        page.uncertain = test.least_sure(proba).finish(&model.schema);
    } else {
        let measured_on = format!("all {rows} rows, each answered before it was learnt");
        page.judge_running(&course.running, &model.schema, measured_on);
        page.uncertain = course.least_sure().finish(&model.schema);
        page.notes.push("The least sure rows are those among the newest 1,000.".into());
    }
    if model.n_features() == 2 {
        map(&mut page, course)?;
    }
    if course.running.n_rows() > 4_096 && model.n_classes() <= 1_000 && judged.is_none() {
        page.notes.push("The AUC is that of a random sample of the answers.".into());
    }
    Ok(page)
}

/// A map with the test data or, where there are none, the newest rows.
fn map(page: &mut Page, course: &Course<'_>) -> Result<()> {
    let model = &course.model;
    if let Some(test) = course.test() {
        let rows = (test.rows(), test.labels.as_slice());
        return page::map(
            page,
            model,
            (rows.0.view(), rows.1),
            "The dots are the test rows.",
            course.plan.par,
        );
    }
    let (x, labels) = course.newest_rows();
    page::map(page, model, (x.view(), &labels), "The dots are the newest rows learnt.", course.plan.par)
}

fn curve(course: &Course<'_>) -> LearningCurve {
    let text = match course.plan.cut {
        Cut::Windows(_) => {
            "Prequential figures: every row is answered before it is learnt; means over windows of rows."
        }
        _ => "Prequential figures: every row is answered before it is learnt; means over each batch.",
    };
    let mut curve = LearningCurve { text: text.into(), ..LearningCurve::default() };
    for (i, window) in course.windows.all.iter().enumerate() {
        curve.points.push(CurvePoint {
            rows_seen: window.rows_seen,
            accuracy: window.prequential_accuracy,
            log_loss: Some(window.prequential_log_loss),
            test_accuracy: window.test_accuracy,
            rows_per_second: Some(window.rows_per_second),
        });
        curve.marks.extend(window.drifts.iter().map(drift));
        // That everything is new at the start goes without saying.
        if i > 0 || course.seen_before > 0 {
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
            "wrong answers rose from {} to {} since row {}",
            percent(drift.error_before),
            percent(drift.error_after),
            count(drift.since)
        ),
    }
}
