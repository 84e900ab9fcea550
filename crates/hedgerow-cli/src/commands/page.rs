//! Report pages: what `fit`, `evaluate`, `update`, `stream` and `demo` have in common.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use hedgerow::Model;
use hedgerow::core::metrics::ValueReport;
use hedgerow::core::{Error, Par, TargetSlice, Task};
use hedgerow::report::{DecisionMap, Importances, MapRows, Page, Predictions, UncertaintyMaps, ValueCurve};
use ndarray::{Array2, ArrayView2};

use super::{Evaluation, Metrics};
use crate::output::{count, size};

/// Puts in what is known about a model without predictions.
pub(super) fn describe(page: &mut Page, model: &Model, title: &Path, subtitle: &str, bytes: u64) {
    page.title = match title.file_name() {
        Some(name) if title.as_os_str() != "-" => name.to_string_lossy().into_owned(),
        _ => "Standard input".into(),
    };
    page.subtitle = subtitle.to_string();
    let schema = model.schema();
    let summary = model.summary();
    for (name, value) in summary.facts {
        fact(page, name, value);
    }
    if let Some(importances) = summary.importances {
        let meaning = "The share of all impurity removed that each column's splits removed.";
        page.importances = Some(Importances::new(meaning, schema, &importances));
    }
    page.comparison = summary.comparison;
    fact(page, "Features", count(schema.n_features() as u64));
    if model.task() == Task::Classification {
        fact(page, "Classes", count(schema.n_classes() as u64));
    }
    if let (Some(seen), Some(retained)) = (model.n_seen(), model.n_retained()) {
        fact(page, "Rows learnt", count(seen));
        fact(page, "Rows retained", count(retained as u64));
    }
    fact(page, "Model file", size(bytes));
    fact(page, "Seed", model.params().seed().to_string());
}

/// What was fitted to how many rows.
pub(super) fn fitted_to(model: &Model, n_rows: usize) -> String {
    let kind = model.kind().info().noun;
    format!("{}{} fitted to {} rows", kind[..1].to_uppercase(), &kind[1..], count(n_rows as u64))
}

/// Adds a fact.
pub(super) fn fact(page: &mut Page, name: &str, value: String) {
    page.facts.push((name.to_string(), value));
}

/// Puts in what was found by evaluating a model; of a classifier, with the most uncertain predictions.
pub(super) fn evaluation(
    page: &mut Page,
    model: &Model,
    evaluation: &Evaluation,
    measured_on: String,
) -> Result<(), Error> {
    if let Metrics::Values(report) = evaluation.metrics()? {
        value_facts(page, &report);
        return Ok(());
    }
    let predictions = Predictions {
        weights: evaluation.weights.as_deref(),
        measured_on,
        ..Predictions::new(evaluation.predictions.view(), evaluation.truth.view().labels(), model.schema())
    };
    page.evaluate(&predictions)?;
    page.uncertain = evaluation.least_sure.finish(model.schema());
    page.rejection = evaluation.rejection()?;
    Ok(())
}

/// Adds the figures of a regression.
pub(super) fn value_facts(page: &mut Page, report: &ValueReport) {
    let figures = [
        ("RMSE", report.rmse),
        ("MAE", report.mae),
        ("NLPD", report.nlpd),
        ("Inside 90 % intervals", report.coverage90),
    ];
    figures.into_iter().for_each(|(name, value)| fact(page, name, format!("{value:.4}")));
}

/// The same as [`draw`] for the rows that a model was evaluated on, where they can be drawn.
pub(super) fn draw_evaluated(
    page: &mut Page,
    model: &Model,
    evaluation: &Evaluation,
    text: &str,
    par: &Par,
) -> Result<(), Error> {
    let Some(rows) = &evaluation.drawn else { return Ok(()) };
    let x = rows.to_array(0..rows.n_rows());
    draw(page, model, (x.view(), evaluation.truth.view()), text, par)
}

/// Puts in a picture of the predictions around some rows: a map of classes if rows are two numbers, or the curve of a regression if they
/// are one. `text` names the rows.
pub(super) fn draw(
    page: &mut Page,
    model: &Model,
    (x, targets): (ArrayView2<'_, f32>, TargetSlice<'_>),
    text: &str,
    par: &Par,
) -> Result<(), Error> {
    let active = model.active_rows();
    match targets {
        TargetSlice::Classes(labels) => {
            let rows = MapRows { x, labels, active: active.as_ref().map(|active| active.view()) };
            let map = DecisionMap::new(model.classifier()?, model.schema(), &rows, par)?;
            page.map = map.map(|map| DecisionMap { text: text.into(), ..map });
            // A model without rows can predict, but not tell its evidence.
            if let (Some(map), Ok(evidence)) = (&page.map, model.relative_evidence()) {
                page.uncertainty = Some(UncertaintyMaps::new(map, &evidence, par)?);
            }
        }
        TargetSlice::Values(values) => {
            let active = active.unwrap_or_else(|| Array2::zeros((0, model.n_features())));
            let rows = (x, values);
            let curve = ValueCurve::new(model.regressor()?, model.schema(), rows, active.view(), par)?;
            page.values = curve.map(|curve| ValueCurve { text: text.into(), ..curve });
        }
    }
    Ok(())
}

/// Writes the page.
pub(super) fn write(page: &Page, path: &Path) -> anyhow::Result<()> {
    fs::write(path, page.to_html()).with_context(|| path.display().to_string())
}
