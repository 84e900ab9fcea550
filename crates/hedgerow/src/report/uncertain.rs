//! The rows with the most uncertain predictions: which they are out of many, and how they are shown.

use hedgerow_core::metrics::normalized_entropy;
use hedgerow_core::{ClassId, ColumnKind, Schema};
use ndarray::ArrayView1;
use serde::Serialize;

use super::bars;
use super::html::{clip, element, name, paragraph};
use super::number::{count, percent, significant, whole_percent};
use super::picture::{Picture, range};
use super::section::Section;

/// Rows that are kept.
const MOST_KEPT: usize = 16;
/// The most rows that are shown.
const MOST_ROWS: usize = 24;
/// The most classes of an prediction that are shown.
const MOST_CLASSES: usize = 3;
/// The most values of a row that are shown.
const MOST_VALUES: usize = 6;

/// A row and its prediction.
#[derive(Debug, Clone, Default, Serialize)]
pub struct UncertainRow {
    /// The row's number, counted as the caller counts.
    pub row: u64,
    /// Its label, where it is known.
    pub truth: Option<String>,
    /// Classes with their probabilities, the most probable first; three are shown.
    pub prediction: Vec<(String, f64)>,
    /// How certain the prediction is: 1 − its entropy to base "number of classes", from 0 for uniform to 1 for certain.
    #[serde(skip)]
    pub certainty: f64,
    /// What the row looks like.
    #[serde(skip)]
    pub look: Look,
}

/// What a row looks like.
#[derive(Debug, Clone)]
pub enum Look {
    /// An image.
    Picture(Picture),
    /// Names of columns with their values as text; six are shown.
    Values(Vec<(String, String)>),
}

impl Default for Look {
    fn default() -> Self {
        Self::Values(Vec::new())
    }
}

/// Collects the rows whose predictions have the largest entropy, the largest first; memory does not grow with the rows seen.
#[derive(Debug, Clone, Default)]
pub struct LeastSure {
    rows: Vec<UncertainPrediction>,
}

#[derive(Debug, Clone)]
struct UncertainPrediction {
    row: u64,
    entropy: f64,
    prediction: Vec<f64>,
    truth: Option<ClassId>,
    values: Vec<f32>,
}

impl LeastSure {
    /// Looks at an prediction: for which row, by the number the reader of the page knows it by, with which features.
    pub fn add(
        &mut self,
        row: u64,
        prediction: ArrayView1<'_, f64>,
        truth: Option<ClassId>,
        values: ArrayView1<'_, f32>,
    ) {
        let entropy = normalized_entropy(prediction);
        // Of equals, the first that came stays first.
        let place = self.rows.partition_point(|kept| kept.entropy >= entropy);
        if place < MOST_KEPT {
            self.rows.truncate(MOST_KEPT - 1);
            let kept = UncertainPrediction {
                row,
                entropy,
                prediction: prediction.to_vec(),
                truth,
                values: values.to_vec(),
            };
            self.rows.insert(place, kept);
        }
    }

    /// The rows as they are shown.
    pub fn finish(&self, schema: &Schema) -> Vec<UncertainRow> {
        let range = range(self.rows.iter().flat_map(|kept| kept.values.iter().copied()));
        let row = |kept: &UncertainPrediction| UncertainRow {
            row: kept.row,
            truth: kept.truth.map(|class| schema.labels.name(class).to_string()),
            prediction: ranked(schema, &kept.prediction),
            certainty: 1.0 - kept.entropy,
            look: look(schema, &kept.values, range),
        };
        self.rows.iter().map(row).collect()
    }
}

/// The three most probable classes.
fn ranked(schema: &Schema, prediction: &[f64]) -> Vec<(String, f64)> {
    let mut order: Vec<usize> = (0..prediction.len()).collect();
    order.sort_by(|&a, &b| prediction[b].total_cmp(&prediction[a]).then(a.cmp(&b)));
    let named = |&c: &usize| (schema.labels.name(ClassId(c as u32)).to_string(), prediction[c]);
    order.iter().take(3).map(named).collect()
}

fn look(schema: &Schema, row: &[f32], range: [f32; 2]) -> Look {
    match schema.image.filter(|[h, w]| h.checked_mul(*w) == Some(row.len())) {
        Some(size) => Look::Picture(Picture { size, values: row.to_vec(), range }),
        None => Look::Values(values(schema, row)),
    }
}

/// The first columns with their values in words.
fn values(schema: &Schema, row: &[f32]) -> Vec<(String, String)> {
    let words = |kind: &ColumnKind, value: f32| match kind {
        _ if value.is_nan() => "missing".into(),
        ColumnKind::Numeric if value.fract() == 0.0 && value.abs() < 1e7 => value.to_string(),
        ColumnKind::Numeric => significant(f64::from(value)),
        ColumnKind::Boolean { no, yes } => if value == 0.0 { no } else { yes }.clone(),
        ColumnKind::Categorical { categories } => {
            categories.get(value as usize).cloned().unwrap_or_else(|| value.to_string())
        }
    };
    let columns = schema.columns.iter().zip(row).take(MOST_VALUES);
    columns.map(|(column, &value)| (column.name.clone(), words(&column.kind, value))).collect()
}

pub(super) fn section(rows: &[UncertainRow]) -> Section {
    let lead = "Certainty is 1 − the normalised entropy of the prediction: 0 is uniform, 100 % is certain.";
    let rows = element("div", "rows", rows.iter().take(MOST_ROWS).map(UncertainRow::to_html));
    Section::new("uncertain", "Most uncertain predictions", true, paragraph("lead", lead) + &rows)
}

impl UncertainRow {
    fn to_html(&self) -> String {
        let row = count(self.row);
        let (kind, picture, values) = match &self.look {
            Look::Picture(picture) => ("image", picture.to_html(&format!("row {row}")), String::new()),
            Look::Values(values) => ("plain", String::new(), described(values)),
        };
        let bar = |(name, p): &(String, f64)| {
            let class = if self.truth.as_ref() == Some(name) { "true" } else { "" };
            bars::item(class, name, *p, &[whole_percent(*p)])
        };
        let prediction = element("ul", "prediction", self.prediction.iter().take(MOST_CLASSES).map(bar));
        let (certainty, truth) = (percent(self.certainty, 0), self.truth());
        format!(
            "<article class=\"{kind}\">\n{picture}<div><p class=\"head\"><span>row {row}</span>\
             <span>{certainty} certain</span></p>\n{prediction}{truth}{values}</div></article>\n"
        )
    }

    fn truth(&self) -> String {
        let Some(truth) = &self.truth else { return String::new() };
        let is_right = self.prediction.first().is_some_and(|(name, _)| name == truth);
        let (class, sign) = if is_right { ("good", "✓") } else { ("bad", "✗") };
        format!("<p class=\"truth {class}\">{sign} true class {}</p>\n", name(truth, 24))
    }
}

/// Columns with their values.
fn described(values: &[(String, String)]) -> String {
    if values.is_empty() {
        return String::new();
    }
    let value = |(name, value): &(String, String)| {
        format!("<dt>{}</dt><dd>{}</dd>\n", clip(name, 40), clip(value, 24))
    };
    element("dl", "values", values.iter().take(MOST_VALUES).map(value))
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn the_least_sure_of_many_are_kept_in_order() {
        let mut least = LeastSure::default();
        for row in 0..1000_u64 {
            let p = 0.5 + 0.4 * ((row * 37 % 500) as f64 / 500.0);
            least.add(row, array![p, 1.0 - p].view(), Some(ClassId(0)), array![row as f32].view());
        }
        let rows = least.finish(&Schema::unnamed(1));
        assert_eq!(rows.len(), MOST_KEPT);
        assert!(rows.windows(2).all(|pair| pair[0].certainty <= pair[1].certainty));
        // Two rows have every probability; the first of them comes first.
        assert_eq!((rows[0].row, rows[1].row), (0, 500));
    }
}
