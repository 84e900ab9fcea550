//! Out-of-bag predictions: those of the trees whose bag left the row out.

use hedgerow_core::traits::largest;
use hedgerow_core::{ClassId, Conformal, Dataset, Par};
use ndarray::{Array2, Axis};

use crate::Forest;
use crate::calibration::{self, MOST_DECIDING, WeightedPredictions};
use crate::grow::{Grown, LeftOutVotes};
use crate::leaf_weight::LeafWeight;
use crate::params::ForestParams;

/// Rows that prediction sets are made from, and their values.
const MOST_SET_ROWS: usize = 2_000;
const LEAST_SET_ROWS: usize = 500;
const MOST_SET_VALUES: usize = 1_000_000;
/// How far a line is continued at most, in steps from half of the trees to all of them.
const MOST_LEAD: f64 = 1.0;
/// Votes a row must have for that, about.
const LEAST_VOTES: f64 = 12.0;

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
    /// Predictions of some rows by trees that have learnt all others: of all trees, and of every other one.
    left_one: Vec<[OutOfBag; 2]>,
    /// The rows of `left_one`: every so many.
    set_stride: usize,
    n_trees: usize,
}

impl Tally {
    /// Of `set_stride` 0 nothing is kept for prediction sets.
    pub(super) fn new(n_rows: usize, n_classes: usize, params: &ForestParams, set_stride: usize) -> Self {
        let leaf_weights = LeafWeight::candidates(params);
        let tables = |n: usize, n_rows: usize| vec![OutOfBag::empty(n_rows, n_classes); n];
        let stride = n_rows.div_ceil(MOST_DECIDING).max(1);
        let n_halves = if leaf_weights.len() > 1 { leaf_weights.len() } else { 0 };
        Self {
            tables: tables(leaf_weights.len(), n_rows),
            halves: tables(n_halves, n_rows.div_ceil(stride)),
            stride,
            left_one: (0..leaf_weights.len())
                .filter(|_| set_stride > 0)
                .map(|_| [(); 2].map(|()| OutOfBag::empty(n_rows.div_ceil(set_stride), n_classes)))
                .collect(),
            set_stride,
            leaf_weights,
            n_trees: 0,
        }
    }

    /// Prediction sets are made from every so many rows.
    pub(super) fn set_stride(n_rows: usize, n_classes: usize) -> usize {
        let most = (MOST_SET_VALUES / n_classes.max(1)).clamp(LEAST_SET_ROWS, MOST_SET_ROWS);
        n_rows.div_ceil(most).max(1)
    }

    /// Bytes of the tables, and of the probabilities and ranks that evaluating them takes.
    pub(super) fn bytes(n_rows: usize, n_classes: usize, params: &ForestParams) -> u64 {
        let table = 4 * n_classes as u64 + 4;
        let n_powers = LeafWeight::powers(params).len() as u64;
        (n_rows as u64) * (n_powers * table + 8 * n_classes as u64 + 48)
    }

    /// Bytes of what prediction sets are made from.
    pub(super) fn set_bytes(n_rows: usize, n_classes: usize, params: &ForestParams) -> u64 {
        let (table, n_powers) = (4 * n_classes as u64 + 4, LeafWeight::powers(params).len() as u64);
        n_rows.div_ceil(Self::set_stride(n_rows, n_classes)) as u64 * (2 * n_powers + 4) * table
    }

    /// Adds the votes of one tree for the rows it left out. Trees must come in order: sums of floats depend on it.
    pub(super) fn add(&mut self, grown: &Grown) {
        let Grown { left_out_votes, left_one_votes, .. } = grown;
        for (leaf_weight, [all, half]) in self.leaf_weights.iter().zip(&mut self.left_one) {
            all.add(left_one_votes, leaf_weight, self.set_stride);
            if self.n_trees.is_multiple_of(2) {
                half.add(left_one_votes, leaf_weight, self.set_stride);
            }
        }
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

    /// The best leaf weight, its predictions, and those that prediction sets are made from.
    pub(super) fn finish(
        mut self,
        labels: &[ClassId],
        weight: impl Fn(usize) -> f64,
        par: &Par,
    ) -> (LeafWeight, OutOfBag, Option<LeftOne>) {
        let mut chosen = 0;
        if self.leaf_weights.len() > 1 {
            let left_one = self.left_one.iter_mut().flatten();
            self.tables.iter_mut().chain(&mut self.halves).chain(left_one).for_each(OutOfBag::scale);
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
        let (stride, n_trees) = (self.set_stride, self.n_trees);
        let left_one = self.left_one.into_iter().nth(chosen);
        let left_one = left_one.map(|[all, half]| LeftOne { all, half, stride, n_trees });
        (self.leaf_weights.swap_remove(chosen), self.tables.swap_remove(chosen), left_one)
    }
}

/// Predictions of some rows by trees that have learnt all others.
pub(super) struct LeftOne {
    all: OutOfBag,
    half: OutOfBag,
    stride: usize,
    n_trees: usize,
}

impl LeftOne {
    /// How well rows conform to the predictions of a forest of all its trees; none if too few trees predict them.
    pub(super) fn conformal(&self, forest: &Forest, labels: &[ClassId]) -> Option<Conformal> {
        let is_predicted = |row: &usize| self.half.n_trees[*row] > 0;
        let rows: Vec<usize> = (0..self.half.n_trees.len()).filter(is_predicted).collect();
        // Votes are noisier the fewer there are: what comes of them moves along a line in one over their number.
        let one_over = |table: &OutOfBag| {
            rows.iter().map(|row| 1.0 / f64::from(table.n_trees[*row])).sum::<f64>() / rows.len() as f64
        };
        let (all, half) = (one_over(&self.all), one_over(&self.half));
        let lead = (all - 1.0 / self.n_trees as f64) / (half - all);
        // Scores of votes as those of all trees are scored: pseudo-votes count for as little.
        let values = |table: &OutOfBag| {
            let mut proba = table.shares.select(Axis(0), &rows).mapv(f64::from);
            for row in proba.rows_mut() {
                if let Some(row) = row.into_slice() {
                    forest.finish_row(row, self.n_trees as f64);
                }
            }
            proba
        };
        let labels: Vec<ClassId> = rows.iter().map(|row| labels[row * self.stride]).collect();
        // A handful of votes takes few values, which no line continues: there scores stay too cautious.
        let is_line = lead.is_finite() && all <= 1.0 / LEAST_VOTES;
        let lead = if is_line { lead.clamp(0.0, MOST_LEAD) } else { 0.0 };
        Conformal::continued([values(&self.all).view(), values(&self.half).view()], &labels, lead)
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
