//! Background rows: artificial rows of no class, spread evenly over the space of a table.

use crate::data::{ColumnKind, Features, Schema};
use crate::rng::Rng;

/// A column with at most so many different values, all of them whole numbers, is drawn from these values.
const FEW_VALUES: usize = 20;

/// How background values of a column are drawn.
#[derive(Debug, Clone)]
enum Draw {
    /// From these values alike.
    Values(Vec<f32>),
    /// Evenly between two numbers, or missing with a probability.
    Range { low: f64, high: f64, missing: f64 },
}

/// Draws background rows around those of a table: numbers evenly from a little below the smallest to a little above the largest, categories and
/// few whole numbers alike from those that occur, missing values as often as they are missing.
#[derive(Debug, Clone)]
pub struct Background {
    draws: Vec<Draw>,
}

impl Background {
    /// Looks at all rows; there must be some. The range of a number is widened by so many deviations on each side.
    pub fn around(schema: &Schema, features: &Features, margin: f64) -> Self {
        let of_column = |column| draw(schema, features, column, margin);
        Self { draws: (0..features.n_features()).map(of_column).collect() }
    }

    /// Draws a row.
    pub fn draw(&self, rng: &mut Rng, row: &mut [f32]) {
        for (value, draw) in row.iter_mut().zip(&self.draws) {
            *value = match draw {
                Draw::Values(values) => values[rng.index(values.len())],
                Draw::Range { missing, .. } if *missing > 0.0 && rng.unit() < *missing => f32::NAN,
                Draw::Range { low, high, .. } => (low + rng.unit() * (high - low)) as f32,
            };
        }
    }
}

/// Evenly over the range of a column, or over its values where these are categories or few whole numbers.
fn draw(schema: &Schema, features: &Features, column: usize, margin: f64) -> Draw {
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
        low: low - margin * deviation,
        high: high + margin * deviation,
        missing: 1.0 - n / n_rows as f64,
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::rng::Purpose;

    #[test]
    fn rows_cover_ranges_and_values() {
        let mut schema = Schema::unnamed(3);
        schema.columns[2].kind =
            ColumnKind::Categorical { categories: ["a", "b", "c"].map(String::from).to_vec() };
        let x = Array2::from_shape_fn((90, 3), |(row, column)| match column {
            0 if row % 3 == 0 => f32::NAN,
            0 => row as f32 / 90.0,
            1 => (row % 4) as f32,
            _ => (row % 10 == 0) as u8 as f32,
        });
        let background = Background::around(&schema, &Features::from_view(x.view()), 0.1);
        let mut rng = Rng::new(1, Purpose::Data, 0);
        let mut rows = Array2::zeros((3_000, 3));
        for mut row in rows.rows_mut() {
            background.draw(&mut rng, row.as_slice_mut().unwrap());
        }
        let share = |column: usize, of: &dyn Fn(f32) -> bool| {
            rows.column(column).iter().filter(|v| of(**v)).count() as f64 / 3_000.0
        };
        assert!((share(0, &f32::is_nan) - 1.0 / 3.0).abs() < 0.03);
        assert!(rows.column(0).iter().all(|v| v.is_nan() || (-0.1..1.1).contains(v)));
        for value in 0..4 {
            assert!((share(1, &|v| v == value as f32) - 0.25).abs() < 0.03, "whole numbers alike");
        }
        assert!((share(2, &|v| v == 1.0) - 0.5).abs() < 0.03, "categories that occur, alike");
    }
}
