//! Prepared rows in an order that makes distances to all of them quick.
//!
//! Sixteen rows at a time lie column by column, so that a loop over columns works on sixteen distances at once, whatever the number of columns.

use hedgerow_core::saved::{array, optional, require};
use hedgerow_core::{ClassId, Result};
use ndarray::{ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use crate::metric::Metric;

/// Rows in a block.
const LANES: usize = 16;
/// Values farther from 0 count as this: their squares must have a sum.
const MOST: f32 = 1e15;

/// Prepared rows with their classes and weights, the oldest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Points {
    width: usize,
    /// Block by block, in each column by column; what is left of the last block is 0.
    #[serde(with = "array")]
    values: Vec<f32>,
    #[serde(with = "array")]
    labels: Vec<ClassId>,
    #[serde(with = "optional")]
    weights: Option<Vec<f32>>,
    /// Whether they follow from other rows of the model, and need not be saved.
    #[serde(skip)]
    pub(crate) is_derived: bool,
}

impl Points {
    /// No rows yet, of so many prepared columns.
    pub(crate) fn new(width: usize) -> Self {
        Self { width, is_derived: true, ..Self::default() }
    }

    pub(crate) fn is_derived(&self) -> bool {
        self.is_derived
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.labels.len()
    }

    /// Columns of each.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    pub(crate) fn labels(&self) -> &[ClassId] {
        &self.labels
    }

    pub(crate) fn weights(&self) -> Option<&[f32]> {
        self.weights.as_deref()
    }

    /// Adds rows.
    pub(crate) fn extend(&mut self, x: ArrayView2<'_, f32>, labels: &[ClassId], weights: Option<&[f32]>) {
        let n = self.len();
        self.values.resize((n + labels.len()).div_ceil(LANES) * LANES * self.width, 0.0);
        for (row, place) in x.rows().into_iter().zip(n..) {
            for (column, value) in row.iter().enumerate() {
                let at = self.at(place, column);
                self.values[at] = value.clamp(-MOST, MOST);
            }
        }
        self.labels.extend_from_slice(labels);
        if weights.is_some() || self.weights.is_some() {
            let own = self.weights.get_or_insert_with(|| vec![1.0; n]);
            own.extend_from_slice(weights.unwrap_or_default());
            own.resize(self.labels.len(), 1.0);
        }
    }

    /// Keeps the chosen rows only.
    pub(crate) fn keep(&mut self, rows: &[usize]) {
        let mut kept = Self { is_derived: self.is_derived, ..Self::new(self.width) };
        kept.values.resize(rows.len().div_ceil(LANES) * LANES * self.width, 0.0);
        for (place, &row) in rows.iter().enumerate() {
            for column in 0..self.width {
                let (to, from) = (kept.at(place, column), self.at(row, column));
                kept.values[to] = self.values[from];
            }
        }
        kept.labels = rows.iter().map(|&row| self.labels[row]).collect();
        kept.weights = self.weights.as_ref().map(|weights| rows.iter().map(|&row| weights[row]).collect());
        *self = kept;
    }

    /// A row.
    pub(crate) fn row(&self, row: usize) -> Vec<f32> {
        (0..self.width).map(|column| self.values[self.at(row, column)]).collect()
    }

    /// The summed weights of the first `n` rows of each class.
    pub(crate) fn counts(&self, n: usize, n_classes: usize) -> Vec<f64> {
        let mut counts = vec![0.0; n_classes];
        for (row, label) in self.labels[..n].iter().enumerate() {
            counts[label.index()] += self.weights.as_ref().map_or(1.0, |weights| f64::from(weights[row]));
        }
        counts
    }

    /// A column.
    pub(crate) fn column(&self, column: usize) -> impl Iterator<Item = f32> + '_ {
        (0..self.len()).map(move |row| self.values[self.at(row, column)])
    }

    fn at(&self, row: usize, column: usize) -> usize {
        (row / LANES * self.width + column) * LANES + row % LANES
    }

    /// The distances of a row to the first `n`, as [`Metric::measured`]. Rows of weight 0 are infinitely far away.
    pub(crate) fn distances(&self, metric: Metric, x: &[f32], n: usize, out: &mut Vec<f32>) {
        out.clear();
        let x: Vec<f32> = x.iter().map(|v| v.clamp(-MOST, MOST)).collect();
        match metric {
            Metric::Euclidean => self.each_block(&x, n, out, |sum, d| sum + d * d),
            Metric::Manhattan => self.each_block(&x, n, out, |sum, d| sum + d.abs()),
            Metric::Chebyshev => {
                self.each_block(&x, n, out, |most, d| if d.abs() > most { d.abs() } else { most });
            }
        }
        if let Some(weights) = &self.weights {
            out.iter_mut()
                .zip(weights)
                .filter(|(_, weight)| **weight == 0.0)
                .for_each(|(d, _)| *d = f32::INFINITY);
        }
    }

    fn each_block(&self, x: &[f32], n: usize, out: &mut Vec<f32>, add: impl Fn(f32, f32) -> f32) {
        let blocks = self.values.chunks_exact((LANES * self.width).max(1)).take(n.div_ceil(LANES));
        for block in blocks {
            let mut sums = [0.0_f32; LANES];
            for (x, values) in x.iter().zip(block.as_chunks::<LANES>().0) {
                for (sum, value) in sums.iter_mut().zip(values) {
                    *sum = add(*sum, x - value);
                }
            }
            out.extend_from_slice(&sums);
        }
        out.resize(n, 0.0);
    }

    /// The root of the mean variance of columns that vary, and how many they are. Without any, 1 and 1.
    pub(crate) fn spread(&self) -> (f64, usize) {
        let n = self.len().max(1) as f64;
        let variance = |column: usize| {
            let mean = self.column(column).map(f64::from).sum::<f64>() / n;
            self.column(column).map(|v| (f64::from(v) - mean) * (f64::from(v) - mean)).sum::<f64>() / n
        };
        let varies =
            |column: &usize| self.column(*column).any(|v| v != self.column(*column).next().unwrap_or(v));
        let varying: Vec<usize> = (0..self.width).filter(varies).collect();
        let mean = varying.iter().map(|&column| variance(column)).sum::<f64>() / varying.len().max(1) as f64;
        (if mean > 0.0 { libm::sqrt(mean) } else { 1.0 }, varying.len().max(1))
    }

    pub(crate) fn bytes(&self) -> usize {
        4 * (self.values.len() + self.labels.len() + self.weights.as_ref().map_or(0, Vec::len))
    }

    /// Fails unless what was read fits together, so many columns and classes.
    pub(crate) fn check(&self, width: usize, n_classes: usize) -> Result<()> {
        let n = self.len();
        let fits = self.width == width
            && self.values.len() == n.div_ceil(LANES) * LANES * width
            && self.values.iter().all(|v| v.abs() <= MOST)
            && self.labels.iter().all(|label| label.index() < n_classes)
            && self
                .weights
                .as_ref()
                .is_none_or(|w| w.len() == n && w.iter().all(|w| *w >= 0.0 && w.is_finite()));
        require(fits, || "prepared rows, classes and weights do not fit together")
    }
}

/// Rows of a table, prepared as numbers.
pub(crate) fn rows_of(x: ArrayView2<'_, f32>) -> Vec<Vec<f32>> {
    x.axis_iter(Axis(0)).map(|row| row.to_vec()).collect()
}

#[cfg(test)]
mod tests {
    use hedgerow_core::rng::{Purpose, Rng};
    use ndarray::Array2;

    use super::*;

    fn random(n: usize, width: usize) -> (Array2<f32>, Vec<ClassId>) {
        let mut rng = Rng::new(1, Purpose::Data, 0);
        let x = Array2::from_shape_fn((n, width), |_| rng.normal() as f32);
        (x, (0..n).map(|i| ClassId((i % 3) as u32)).collect())
    }

    #[test]
    fn distances_like_the_plain_formulae() {
        let (x, labels) = random(53, 5);
        let mut points = Points::new(5);
        for rows in [0..20, 20..21, 21..53] {
            points.extend(x.slice(ndarray::s![rows.clone(), ..]), &labels[rows], None);
        }
        let mut found = Vec::new();
        for query in [0, 17, 52] {
            assert_eq!(points.row(query), x.row(query).to_vec());
            for metric in [Metric::Euclidean, Metric::Manhattan, Metric::Chebyshev] {
                points.distances(metric, &points.row(query), 50, &mut found);
                assert_eq!(found.len(), 50);
                for (row, d) in found.iter().enumerate() {
                    let apart = (0..5).map(|c| f64::from((x[(query, c)] - x[(row, c)]).abs()));
                    let expected = match metric {
                        Metric::Euclidean => apart.map(|d| d * d).sum::<f64>().sqrt(),
                        Metric::Manhattan => apart.sum(),
                        Metric::Chebyshev => apart.fold(0.0, f64::max),
                    };
                    assert!((metric.distance(*d) - expected).abs() < 1e-5, "{metric:?} {query} {row}");
                }
            }
        }
    }

    #[test]
    fn rows_stay_in_order_and_weights_of_zero_are_far_away() {
        let (x, labels) = random(40, 2);
        let mut points = Points::new(2);
        points.extend(x.view(), &labels, None);
        let mut kept = points.clone();
        let rows: Vec<usize> = (0..40).filter(|row| row % 3 != 1).collect();
        kept.keep(&rows);
        let mut direct = Points::new(2);
        let chosen: Vec<ClassId> = rows.iter().map(|&row| labels[row]).collect();
        direct.extend(x.select(Axis(0), &rows).view(), &chosen, None);
        assert_eq!(kept, direct);
        kept.extend(x.slice(ndarray::s![..2, ..]), &labels[..2], Some(&[0.0, 2.0]));
        let mut found = Vec::new();
        kept.distances(Metric::Euclidean, &[0.0, 0.0], kept.len(), &mut found);
        let n = kept.len();
        assert!(
            found[n - 2] == f32::INFINITY
                && found[..n - 2].iter().chain(&found[n - 1..]).all(|d| d.is_finite())
        );
        assert!(kept.check(2, 3).is_ok() && kept.check(3, 3).is_err() && kept.check(2, 2).is_err());
    }

    #[test]
    fn huge_values_have_distances_and_constant_columns_do_not_count() {
        let mut points = Points::new(3);
        let x = ndarray::array![[f32::MAX, 1.0, 0.0], [f32::MIN, 1.0, 2.0]];
        points.extend(x.view(), &[ClassId(0), ClassId(1)], None);
        let mut found = Vec::new();
        points.distances(Metric::Euclidean, &[f32::INFINITY, 1.0, 0.0], 2, &mut found);
        assert!(found[0] == 0.0 && found[1].is_finite() && found[1] > 1e30);
        assert_eq!(points.spread().1, 2);
        let mut alike = Points::new(2);
        alike.extend(ndarray::array![[1.0, 2.0], [1.0, 2.0]].view(), &[ClassId(0); 2], None);
        assert_eq!(alike.spread(), (1.0, 1));
    }
}
