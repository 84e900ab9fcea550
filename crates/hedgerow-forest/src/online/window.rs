//! Prequential predictions of the newest rows.
//!
//! They rank the trees, calibrate the probabilities, and feed the drift detector.

use hedgerow_core::{ClassId, saved};
use ndarray::Array2;
use serde::{Deserialize, Serialize};

use crate::train::OutOfBag;

/// Rows in the window.
pub(super) const ROWS: usize = 1024;
pub(super) const WORDS: usize = ROWS / 64;

/// A set of the newest rows.
pub(super) type RowSet = [u64; WORDS];

/// The record of one tree: which of the newest rows it predicted before it learnt them, and which of them it predicted right.
#[derive(Debug, Clone, Default)]
pub(super) struct Record {
    pub(super) predicted: RowSet,
    pub(super) right: RowSet,
}

impl Record {
    /// Records a prediction of the row of this number.
    #[inline]
    pub(super) fn note(&mut self, age: u64, right: bool) {
        let at = age as usize % ROWS;
        let bit = 1 << (at % 64);
        self.predicted[at / 64] |= bit;
        self.right[at / 64] = self.right[at / 64] & !bit | u64::from(right) << (at % 64);
    }

    /// Drops the prediction of the row of this number.
    pub(super) fn clear(&mut self, age: u64) {
        let at = age as usize % ROWS;
        self.predicted[at / 64] &= !(1 << (at % 64));
        self.right[at / 64] &= !(1 << (at % 64));
    }

    /// Rows of a set that were predicted, and that were predicted right.
    pub(super) fn counts(&self, rows: &RowSet) -> (u32, u32) {
        let count =
            |bits: &RowSet| bits.iter().zip(rows).map(|(bits, rows)| (bits & rows).count_ones()).sum();
        (count(&self.predicted), count(&self.right))
    }
}

/// The votes of the whole forest for the newest rows.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Window {
    /// For each of the newest rows, in a ring: shares summed over trees, for each leaf weight one number a class.
    #[serde(with = "saved::columns")]
    pub(super) shares: Vec<Vec<f32>>,
    #[serde(with = "saved::array")]
    pub(super) labels: Vec<u16>,
    /// Trees that voted.
    #[serde(with = "saved::array")]
    pub(super) n_trees: Vec<u32>,
}

impl Window {
    /// Records the summed votes for the row of this number.
    pub(super) fn note(&mut self, age: u64, shares: &[f64], label: u16, n_trees: u32) {
        let at = age as usize % ROWS;
        if at >= self.labels.len() {
            self.shares.resize(at + 1, Vec::new());
            self.labels.resize(at + 1, 0);
            self.n_trees.resize(at + 1, 0);
        }
        self.shares[at].clear();
        self.shares[at].extend(shares.iter().map(|&s| s as f32));
        self.labels[at] = label;
        self.n_trees[at] = n_trees;
    }

    /// The summed votes for the row of this number, one of the newest, with one of so many leaf weights; for the classes known then.
    pub(super) fn votes(&self, age: u64, leaf_weight: usize, n_leaf_weights: usize) -> &[f32] {
        let row = self.shares.get(age as usize % ROWS).map_or(&[][..], Vec::as_slice);
        let n_classes = row.len() / n_leaf_weights;
        &row[leaf_weight * n_classes..][..n_classes]
    }

    /// Drops the predictions of rows before the one of a number, which are from before a concept drift.
    pub(super) fn forget_before(&mut self, since: u64, seen: u64) {
        for age in seen.saturating_sub(ROWS as u64)..since {
            if let Some(n_trees) = self.n_trees.get_mut(age as usize % ROWS) {
                *n_trees = 0;
            }
        }
    }

    /// The predictions in the form of out-of-bag predictions, one table for each leaf weight, and the labels.
    pub(super) fn predictions(&self, n_ways: usize, n_classes: usize) -> (Vec<OutOfBag>, Vec<ClassId>) {
        let table = |number: usize| {
            let mut shares = Array2::zeros((self.labels.len(), n_classes));
            for (mut to, from) in shares.rows_mut().into_iter().zip(&self.shares) {
                // As many classes as were known then.
                let known = from.len() / n_ways;
                for (to, &from) in to.iter_mut().zip(&from[number * known..]).take(known) {
                    *to = from;
                }
            }
            let mut table = OutOfBag { shares, n_trees: self.n_trees.clone() };
            table.scale();
            table
        };
        let labels = self.labels.iter().map(|&class| ClassId(u32::from(class))).collect();
        ((0..n_ways).map(table).collect(), labels)
    }

    /// Whether all rows have room for so many classes.
    pub(super) fn has_room_for(&self, n_ways: usize, n_classes: usize) -> bool {
        self.shares.iter().all(|row| row.len() == n_ways * n_classes)
    }

    /// The same with room for so many classes in all rows.
    pub(super) fn with_room_for(&self, n_ways: usize, n_classes: usize) -> Self {
        let widened = |from: &Vec<f32>| {
            let known = from.len() / n_ways;
            let mut to = vec![0.0; n_ways * n_classes];
            for (to, from) in to.chunks_mut(n_classes.max(1)).zip(from.chunks(known.max(1))) {
                to[..from.len()].copy_from_slice(from);
            }
            to
        };
        Self { shares: self.shares.iter().map(widened).collect(), ..self.clone() }
    }

    /// Whether it fits so many ways and classes.
    pub(super) fn fits(&self, n_ways: usize, n_classes: usize) -> bool {
        let n = self.labels.len();
        n <= ROWS
            && self.shares.len() == n
            && self.n_trees.len() == n
            && self.has_room_for(n_ways, n_classes)
            && self.labels.iter().all(|&class| usize::from(class) < n_classes)
            && self.shares.iter().flatten().all(|share| share.is_finite() && *share >= 0.0)
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        self.shares.iter().map(|row| size_of::<Vec<f32>>() + row.capacity() * size_of::<f32>()).sum::<usize>()
            + self.labels.len() * 6
    }
}
