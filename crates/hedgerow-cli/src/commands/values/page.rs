//! Pages about models of values.

use std::path::Path;

use hedgerow::ValueModel;
use hedgerow::core::metrics::ValueReport;
use hedgerow::core::{Dataset, Error, Par};
use hedgerow::report::{Page, ValueCurve};

use super::Inside;
use crate::output::{count, size};

pub(super) fn describe(page: &mut Page, model: &ValueModel, title: &Path, subtitle: &str, bytes: u64) {
    page.title =
        title.file_name().map_or_else(|| "Values".into(), |name| name.to_string_lossy().into_owned());
    page.subtitle = format!("A Relevance Vector Machine for values, {subtitle}");
    let inside = Inside::new(model);
    let mut fact = |name: &str, value: String| page.facts.push((name.to_string(), value));
    fact("Relevant rows", count(inside.active_rows as u64));
    if let Some(length) = inside.kernel.get("length_scale") {
        fact("Length scale", format!("{length:.3}"));
    }
    if let Some(noise) = inside.noise_deviation {
        fact("Noise", format!("{noise:.4}"));
    }
    fact("Features", count(model.schema.n_features() as u64));
    fact("Model file", size(bytes));
    fact("Seed", model.params().seed().to_string());
}

pub(super) fn evaluation(page: &mut Page, report: &ValueReport) {
    let figures = [
        ("RMSE", report.rmse),
        ("MAE", report.mae),
        ("NLPD", report.nlpd),
        ("Inside 90 % intervals", report.coverage90),
    ];
    page.facts.extend(figures.map(|(name, value)| (name.to_string(), format!("{value:.4}"))));
}

/// Puts in the fitted curve, if rows are one number.
pub(super) fn fit(
    page: &mut Page,
    model: &ValueModel,
    data: &Dataset,
    text: &str,
    par: &Par,
) -> Result<(), Error> {
    let active = model.active_rows();
    page.values = ValueCurve::new(model, &model.schema, data, active.view(), par)?
        .map(|curve| ValueCurve { text: text.into(), ..curve });
    Ok(())
}
