//! Out-of-bag predictions: those of the trees whose bag left the row out.

use hedgerow_core::traits::largest;
use hedgerow_core::{ClassId, Dataset, Par};
use ndarray::{Array2, Axis};

use crate::Forest;
use crate::calibration::{self, MOST_DECIDING, WeightedPredictions};
use crate::grow::LeftOutVotes;
use crate::leaf_weight::LeafWeight;
use crate::params::ForestParams;

/// Out-of-bag predictions (Breiman, 2001).
#[derive(Debug, Clone, PartialEq)]
pub struct OutOfBag {
    /// For each row, class shares summed over the trees that did not see it.
    pub shares: Array2<f32>,
    /// How many trees those were.
    pub n_trees: Vec<u32>,
}

/// Out-of-bag predictions while trees are added: one table for each leaf weight.
#[derive(Clone)]
pub(super) struct Tally {
    leaf_weights: Vec<LeafWeight>,
    pub(super) tables: Vec<OutOfBag>,
    /// The same for every other tree and some rows only, to tell how predictions change with the number of trees.
    halves: Vec<OutOfBag>,
    /// The rows of `halves`: every so many.
    stride: usize,
    n_trees: usize,
}

impl Tally {
    pub(super) fn new(n_rows: usize, n_classes: usize, params: &ForestParams) -> Self {
        let leaf_weights = LeafWeight::candidates(params);
        let tables = |n: usize, n_rows: usize| vec![OutOfBag::empty(n_rows, n_classes); n];
        let stride = n_rows.div_ceil(MOST_DECIDING).max(1);
        let n_halves = if leaf_weights.len() > 1 { leaf_weights.len() } else { 0 };
        Self {
            tables: tables(leaf_weights.len(), n_rows),
            halves: tables(n_halves, n_rows.div_ceil(stride)),
            stride,
            leaf_weights,
            n_trees: 0,
        }
    }

    /// Bytes of the tables, and of the probabilities and ranks that evaluating them takes.
    pub(super) fn bytes(n_rows: usize, n_classes: usize, params: &ForestParams) -> u64 {
        let table = 4 * n_classes as u64 + 4;
        (n_rows as u64) * (LeafWeight::powers(params).len() as u64 * table + 8 * n_classes as u64 + 48)
    }

    /// Adds the votes of one tree for the rows it left out. Trees must come in order: sums of floats depend on it.
    pub(super) fn add(&mut self, left_out_votes: &LeftOutVotes) {
        for (leaf_weight, table) in self.leaf_weights.iter().zip(&mut self.tables) {
            table.add(left_out_votes, leaf_weight, 1);
        }
        if self.n_trees.is_multiple_of(2) {
            for (leaf_weight, table) in self.leaf_weights.iter().zip(&mut self.halves) {
                table.add(left_out_votes, leaf_weight, self.stride);
            }
        }
        self.n_trees += 1;
    }

    /// The best leaf weight, and its predictions.
    pub(super) fn finish(
        mut self,
        labels: &[ClassId],
        weight: impl Fn(usize) -> f64,
        par: &Par,
    ) -> (LeafWeight, OutOfBag) {
        let mut chosen = 0;
        if self.leaf_weights.len() > 1 {
            self.tables.iter_mut().chain(&mut self.halves).for_each(OutOfBag::scale);
            let rows: Vec<usize> = (0..labels.len()).step_by(self.stride).collect();
            let whole: Vec<OutOfBag> = self.tables.iter().map(|table| table.select(&rows)).collect();
            let predictions = WeightedPredictions {
                whole: &whole,
                half: &self.halves,
                labels: &rows.iter().map(|&row| labels[row]).collect::<Vec<_>>(),
                weights: &rows.iter().map(|&row| weight(row)).collect::<Vec<_>>(),
                n_trees: self.n_trees,
            };
            chosen = calibration::choose(predictions, 0, None, par).0;
        }
        (self.leaf_weights.swap_remove(chosen), self.tables.swap_remove(chosen))
    }
}

impl OutOfBag {
    /// Before any tree has voted.
    pub(super) fn empty(n_rows: usize, n_classes: usize) -> Self {
        Self { shares: Array2::zeros((n_rows, n_classes)), n_trees: vec![0; n_rows] }
    }

    /// The class predicted for each row; none for rows without votes.
    pub fn predicted(&self) -> Vec<Option<usize>> {
        let votes = self.shares.rows().into_iter().zip(&self.n_trees);
        votes.map(|(shares, &n)| largest(shares).filter(|_| n > 0)).collect()
    }

    /// Adds a tree's votes for every `stride`-th row.
    pub(super) fn add(&mut self, left_out_votes: &LeftOutVotes, leaf_weight: &LeafWeight, stride: usize) {
        let n_classes = self.shares.ncols();
        let Some(table) = self.shares.as_slice_mut() else { return };
        left_out_votes.visit(|rows, size, shares| {
            let counts = leaf_weight.of(size) as f32;
            for &row in rows {
                let row = row as usize;
                if stride > 1 && !row.is_multiple_of(stride) {
                    continue;
                }
                let row = row / stride;
                self.n_trees[row] += 1;
                let table = &mut table[row * n_classes..];
                for &(class, share) in shares {
                    table[usize::from(class)] += share * counts;
                }
            }
        });
    }

    fn select(&self, rows: &[usize]) -> Self {
        Self {
            shares: self.shares.select(Axis(0), rows),
            n_trees: rows.iter().map(|&row| self.n_trees[row]).collect(),
        }
    }

    /// Makes the shares of each row sum to its number of trees.
    pub(crate) fn scale(&mut self) {
        for (mut row, &n) in self.shares.axis_iter_mut(Axis(0)).zip(&self.n_trees) {
            let sum = row.sum();
            if sum > 0.0 {
                row *= n as f32 / sum;
            }
        }
    }

    /// Share of the rows with out-of-bag predictions that are predicted right, each row counting as much as it weighs; none
    /// if there are no such rows.
    pub fn accuracy(&self, data: &Dataset) -> Option<f64> {
        let (mut total, mut right) = (0.0, 0.0);
        for (row, (class, label)) in self.predicted().into_iter().zip(data.labels()).enumerate() {
            let weight = data.weights.as_ref().map_or(1.0, |w| f64::from(w[row]));
            total += if class.is_some() { weight } else { 0.0 };
            right += if class == Some(label.index()) { weight } else { 0.0 };
        }
        (total > 0.0).then(|| right / total)
    }

    /// Probabilities for each row, calibrated and shifted as the forest's own predictions are; rows that every tree has seen get
    /// `NaN`.
    pub fn probabilities(&self, forest: &Forest) -> Array2<f64> {
        let mut proba = self.shares.mapv(f64::from);
        for (mut row, &n) in proba.rows_mut().into_iter().zip(&self.n_trees) {
            match row.as_slice_mut() {
                Some(row) if n > 0 => forest.finish_row(row, f64::from(n)),
                _ => row.fill(f64::NAN),
            }
        }
        proba
    }
}
