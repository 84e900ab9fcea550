//! Background rows: what a forest tells the rows of a table from.

use hedgerow_core::rng::Rng;
use hedgerow_core::{ColumnKind, Features, Schema};

use crate::params::Background;

/// A column with at most so many different values, all of them whole numbers, is drawn from these values.
const FEW_VALUES: usize = 20;
/// How far the range of a number is widened on each side, in deviations.
const MARGIN: f64 = 0.1;

/// How background values of a column are drawn.
enum Draw {
    /// From these values alike.
    Values(Vec<f32>),
    /// Evenly between two numbers, or missing with a probability.
    Range { low: f64, high: f64, missing: f64 },
    /// From the column itself.
    Column,
}

/// Draws background rows like those of a table.
pub(crate) struct Sampler<'a> {
    features: &'a Features,
    draws: Vec<Draw>,
}

impl<'a> Sampler<'a> {
    /// Looks at the columns.
    pub(crate) fn new(background: Background, schema: &Schema, features: &'a Features) -> Self {
        let draw = |column: usize| match background {
            Background::Permuted => Draw::Column,
            Background::Uniform => even(schema, features, column),
        };
        Self { features, draws: (0..features.n_features()).map(draw).collect() }
    }

    /// So many rows.
    pub(crate) fn rows(&self, n_rows: usize, rng: &mut Rng) -> Features {
        let mut rows = Features::new(self.draws.len());
        let mut row = vec![0.0; self.draws.len()];
        for _ in 0..n_rows {
            for (column, (value, draw)) in row.iter_mut().zip(&self.draws).enumerate() {
                *value = match draw {
                    Draw::Values(values) => values[rng.index(values.len())],
                    Draw::Range { missing, .. } if *missing > 0.0 && rng.unit() < *missing => f32::NAN,
                    Draw::Range { low, high, .. } => (low + rng.unit() * (high - low)) as f32,
                    Draw::Column => self.features.value(rng.index(self.features.n_rows()), column),
                };
            }
            rows.push(&row);
        }
        rows
    }
}

/// Evenly over the range of a column, or over its values where these are categories or few whole numbers.
fn even(schema: &Schema, features: &Features, column: usize) -> Draw {
    let n_rows = features.n_rows();
    let mut values: Vec<f32> = Vec::new();
    let (mut n, mut sum, mut squares) = (0.0, 0.0, 0.0);
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    let mut is_discrete = true;
    for value in (0..n_rows).map(|row| features.value(row, column)) {
        let is_known = values.iter().any(|known| known.to_bits() == value.to_bits());
        if is_discrete && !is_known {
            values.push(value);
        }
        if value.is_nan() {
            continue;
        }
        let is_category = matches!(schema.columns[column].kind, ColumnKind::Categorical { .. });
        is_discrete &= is_category || (value.fract() == 0.0 && values.len() <= FEW_VALUES);
        let value = f64::from(value);
        (n, sum, squares) = (n + 1.0, sum + value, squares + value * value);
        (low, high) = (low.min(value), high.max(value));
    }
    if is_discrete && !values.is_empty() {
        values.sort_by(f32::total_cmp);
        return Draw::Values(values);
    }
    let deviation = libm::sqrt((squares / n - (sum / n) * (sum / n)).max(0.0));
    Draw::Range {
        low: low - MARGIN * deviation,
        high: high + MARGIN * deviation,
        missing: 1.0 - n / n_rows as f64,
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::rng::Purpose;
    use ndarray::Array2;

    use super::*;

    fn table() -> (Schema, Features) {
        let mut schema = Schema::unnamed(3);
        schema.columns[2].kind =
            ColumnKind::Categorical { categories: ["a", "b", "c"].map(String::from).to_vec() };
        let x = Array2::from_shape_fn((90, 3), |(row, column)| match column {
            0 if row % 3 == 0 => f32::NAN,
            0 => row as f32 / 90.0,
            1 => (row % 4) as f32,
            _ => (row % 10 == 0) as u8 as f32,
        });
        (schema, Features::from_view(x.view()))
    }

    #[test]
    fn uniform_rows_cover_ranges_and_values() {
        let (schema, features) = table();
        let sampler = Sampler::new(Background::Uniform, &schema, &features);
        let rows = sampler.rows(3_000, &mut Rng::new(1, Purpose::Data, 0));
        let column = |c: usize| -> Vec<f32> { (0..3_000).map(|row| rows.value(row, c)).collect() };
        let share = |values: &[f32], of: &dyn Fn(f32) -> bool| {
            values.iter().filter(|v| of(**v)).count() as f64 / values.len() as f64
        };
        let [numbers, whole, categories] = [0, 1, 2].map(column);
        assert!((share(&numbers, &|v| v.is_nan()) - 1.0 / 3.0).abs() < 0.03);
        assert!(numbers.iter().all(|v| v.is_nan() || (-0.1..1.1).contains(v)));
        for value in 0..4 {
            assert!((share(&whole, &|v| v == value as f32) - 0.25).abs() < 0.03, "whole numbers alike");
        }
        assert!((share(&categories, &|v| v == 1.0) - 0.5).abs() < 0.03, "categories that occur, alike");
    }

    #[test]
    fn permuted_rows_keep_each_column() {
        let (schema, features) = table();
        let sampler = Sampler::new(Background::Permuted, &schema, &features);
        let rows = sampler.rows(3_000, &mut Rng::new(1, Purpose::Data, 0));
        let ones = (0..3_000).filter(|&row| rows.value(row, 2) == 1.0).count();
        assert!((ones as f64 / 3_000.0 - 0.1).abs() < 0.02);
    }
}
