//! What the trees that did not see a row say about it.

use hedgerow_core::Dataset;
use ndarray::{Array2, Axis};

use crate::calibration::Calibration;
use crate::grow::Verdicts;

/// Out-of-bag answers: an honest estimate from the training rows themselves.
#[derive(Debug, Clone, PartialEq)]
pub struct OutOfBag {
    /// For each row, class shares summed over the trees that did not see it.
    pub shares: Array2<f32>,
    /// How many trees those were.
    pub n_trees: Vec<u32>,
}

impl OutOfBag {
    pub(super) fn new(n_rows: usize, n_classes: usize) -> Self {
        Self { shares: Array2::zeros((n_rows, n_classes)), n_trees: vec![0; n_rows] }
    }

    /// Bytes of the tables, and of the probabilities and ranks that judging them takes.
    pub(super) fn bytes(n_rows: usize, n_classes: usize) -> u64 {
        (n_rows as u64) * (12 * n_classes as u64 + 4 + 48)
    }

    /// Adds what one tree said about the rows it had not seen. Trees must come in order: sums of floats depend on it.
    pub(super) fn add(&mut self, verdicts: &Verdicts) {
        let n_classes = self.shares.ncols();
        let Some(table) = self.shares.as_slice_mut() else { return };
        verdicts.visit(|rows, shares| {
            for &row in rows {
                self.n_trees[row as usize] += 1;
                let table = &mut table[row as usize * n_classes..];
                for &(class, share) in shares {
                    table[usize::from(class)] += share;
                }
            }
        });
    }

    /// Share of the rows with out-of-bag answers that those answers get right, each row counting as much as it weighs; none
    /// if there are no such rows.
    pub fn accuracy(&self, data: &Dataset) -> Option<f64> {
        let (mut judged, mut right) = (0.0, 0.0);
        let rows = self.shares.axis_iter(Axis(0)).zip(&self.n_trees).zip(&data.labels);
        for (row, ((shares, &n), label)) in rows.enumerate() {
            if n > 0 {
                let weight = data.weights.as_ref().map_or(1.0, |w| f64::from(w[row]));
                judged += weight;
                let own = shares[label.index()];
                let beaten =
                    shares.iter().enumerate().any(|(c, &s)| s > own || (s == own && c < label.index()));
                right += if beaten { 0.0 } else { weight };
            }
        }
        (judged > 0.0).then(|| right / judged)
    }

    /// Probabilities for each row, calibrated as the forest's own answers are; rows that every tree has seen get `NaN`.
    pub fn probabilities(&self, calibration: Option<&Calibration>) -> Array2<f64> {
        let Some(calibration) = calibration else { return self.mean_shares() };
        let mut proba = self.shares.mapv(f64::from);
        for (mut row, &n) in proba.axis_iter_mut(Axis(0)).zip(&self.n_trees) {
            match row.as_slice_mut() {
                Some(row) if n > 0 => calibration.apply(row, f64::from(n)),
                _ => row.fill(f64::NAN),
            }
        }
        proba
    }

    /// Mean shares for each row; rows that every tree has seen get `NaN`.
    pub fn mean_shares(&self) -> Array2<f64> {
        let mut mean = self.shares.mapv(f64::from);
        for (mut row, &n) in mean.axis_iter_mut(Axis(0)).zip(&self.n_trees) {
            row /= if n > 0 { f64::from(n) } else { f64::NAN };
        }
        mean
    }
}
