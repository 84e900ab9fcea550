//! Artificial rows of no class, spread evenly over the box around all rows.

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::saved::require;
use hedgerow_core::{ClassId, Result};
use ndarray::Array2;
use serde::{Deserialize, Serialize};

use crate::points::Points;

/// Artificial rows at most.
pub(crate) const MOST_ROWS: usize = 100_000;
/// How much the box is larger than the range of a column, on each side.
const MARGIN: f32 = 0.1;
/// A column with at most so many values has no others among artificial rows.
const FEW_VALUES: usize = 10;

/// Where artificial rows are drawn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Background {
    pub(crate) n: usize,
    columns: Vec<Side>,
    /// The rows; they follow from the rest and from the seed.
    #[serde(skip)]
    pub(crate) points: Points,
}

/// The values of a column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Side {
    /// Any between two.
    Range(f32, f32),
    /// One of some.
    Values(Vec<f32>),
}

impl Background {
    /// So many artificial rows in the box around rows.
    pub(crate) fn new(around: &Points, n: usize, seed: u64) -> Self {
        let columns = (0..around.width()).map(|column| side(around, column)).collect();
        let mut made = Self { n: n.min(MOST_ROWS), columns, points: Points::default() };
        made.draw(seed);
        made
    }

    /// Draws the rows: the same for the same seed, fewer of them are the first ones.
    fn draw(&mut self, seed: u64) {
        let mut x = Array2::zeros((self.n, self.columns.len()));
        for (number, mut row) in x.rows_mut().into_iter().enumerate() {
            let mut rng = Rng::new(seed, Purpose::Sample, 10 + ((number as u64) << 4));
            for (value, side) in row.iter_mut().zip(&self.columns) {
                *value = match side {
                    Side::Range(low, high) => low + (high - low) * rng.unit() as f32,
                    Side::Values(values) => values[rng.index(values.len())],
                };
            }
        }
        self.points = Points::new(self.columns.len());
        self.points.extend(x.view(), &vec![ClassId(0); self.n], None);
    }

    /// Checks what was read, and draws the rows again.
    pub(crate) fn complete(&mut self, width: usize, seed: u64) -> Result<()> {
        let is_good = |side: &Side| match side {
            Side::Range(low, high) => low.is_finite() && high.is_finite() && low <= high,
            Side::Values(values) => {
                (1..=FEW_VALUES).contains(&values.len()) && values.iter().all(|v| v.is_finite())
            }
        };
        let fits = self.n <= MOST_ROWS && self.columns.len() == width && self.columns.iter().all(is_good);
        require(fits, || "artificial rows that do not fit the columns")?;
        self.draw(seed);
        Ok(())
    }
}

/// The values of a column, if they are few, or the range around them.
fn side(around: &Points, column: usize) -> Side {
    let mut few: Vec<f32> = Vec::new();
    let [mut low, mut high] = [f32::INFINITY, f32::NEG_INFINITY];
    for value in around.column(column) {
        (low, high) = (low.min(value), high.max(value));
        if few.len() <= FEW_VALUES && !few.contains(&value) {
            few.push(value);
        }
    }
    few.sort_by(f32::total_cmp);
    match few.len() {
        0 => Side::Range(0.0, 0.0),
        1..=FEW_VALUES => Side::Values(few),
        _ => Side::Range(low - MARGIN, high + MARGIN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_fill_the_box_and_keep_to_few_values() {
        let mut around = Points::new(2);
        let x =
            Array2::from_shape_fn((50, 2), |(i, c)| if c == 0 { i as f32 / 10.0 } else { (i % 3) as f32 });
        around.extend(x.view(), &[ClassId(0); 50], None);
        let mut made = Background::new(&around, 2000, 7);
        let first: Vec<f32> = made.points.column(0).collect();
        let mean = first.iter().sum::<f32>() / 2000.0;
        assert!(first.iter().all(|v| (-0.1..=5.0).contains(v)) && (mean - 2.45).abs() < 0.15);
        assert!(first.iter().any(|v| *v < 0.0) && first.iter().any(|v| *v > 4.9));
        let ones = made.points.column(1).filter(|v| *v == 1.0).count();
        assert!(made.points.column(1).all(|v| [0.0, 1.0, 2.0].contains(&v)) && (560..=780).contains(&ones));
        let fewer = Background::new(&around, 20, 7);
        assert_eq!(fewer.points.row(19), made.points.row(19));
        let before = made.points.clone();
        made.points = Points::default();
        made.complete(2, 7).unwrap();
        assert_eq!(made.points, before);
        assert!(made.complete(3, 7).is_err());
    }
}
