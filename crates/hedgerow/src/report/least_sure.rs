//! The most uncertain predictions out of many.

use hedgerow_core::metrics::normalized_entropy;
use hedgerow_core::{ClassId, ColumnKind, Schema};
use ndarray::ArrayView1;

use super::number::significant;
use super::picture::{Picture, range};
use super::uncertain::{Look, MOST_VALUES, UncertainRow};

/// Rows that are kept.
const MOST_ROWS: usize = 16;

/// Collects the rows whose predictions have the largest entropy, the largest first; memory does not grow with the rows seen.
#[derive(Debug, Clone, Default)]
pub struct LeastSure {
    rows: Vec<Kept>,
}

#[derive(Debug, Clone)]
struct Kept {
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
        if place < MOST_ROWS {
            self.rows.truncate(MOST_ROWS - 1);
            let kept = Kept { row, entropy, prediction: prediction.to_vec(), truth, values: values.to_vec() };
            self.rows.insert(place, kept);
        }
    }

    /// The rows as they are shown.
    pub fn finish(&self, schema: &Schema) -> Vec<UncertainRow> {
        let range = range(self.rows.iter().flat_map(|kept| kept.values.iter().copied()));
        let row = |kept: &Kept| UncertainRow {
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
        assert_eq!(rows.len(), MOST_ROWS);
        assert!(rows.windows(2).all(|pair| pair[0].certainty <= pair[1].certainty));
        // Two rows have every probability; the first of them comes first.
        assert_eq!((rows[0].row, rows[1].row), (0, 500));
    }
}
