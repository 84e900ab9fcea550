//! Memories of the newest rows beside the forest, and the mixture of all.
//!
//! No single memory length serves every stream: after a concept drift the newest rows are all that is right, while nothing changes the forest, which
//! remembers all rows, is best. So small forests of the newest 20, 100, 300 and 1,000 rows predict beside it, and a
//! [`Mixture`] weighs them by how well each has predicted. Where they gain nothing they rest, and only the calibration of the mixture is left.

use hedgerow_core::{Mixed, Mixture, saved};
use serde::{Deserialize, Serialize};

use crate::leaf_weight::LeafWeight;
use crate::params::ForestParams;
use crate::tree::Tree;

/// Rows that each of the short memories holds.
pub(crate) const MEMORIES: [u64; 4] = [20, 100, 300, 1000];
/// How much the weight of the forest counts one row later in its mean.
const WEIGHT_DISCOUNT: f64 = 0.995;
/// A forest hardly counts from the first of these mean weights down, and counts again from the second up.
const IDLE_WEIGHTS: [f64; 2] = [0.05, 0.15];
/// Trees of each.
pub(crate) const N_TREES: usize = 25;

/// The trees of the short memories, and how their predictions are mixed with those of the forest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Horizons {
    /// The trees of each memory, one memory after the other; none while the short memories rest.
    #[serde(with = "saved::columns")]
    pub(crate) trees: Vec<Tree>,
    pub(crate) mixture: Mixture,
    /// Whether predictions are those of the mixture of all; otherwise they are those of the forest, calibrated.
    pub(crate) is_trusted: bool,
    /// The mean weight of the forest over the newest rows, and whether it hardly counts.
    forest_weight: f64,
    pub(crate) is_forest_idle: bool,
    /// Rows that one of the short memories but the longest predicted best.
    pub(crate) n_short: u64,
}

impl Default for Horizons {
    fn default() -> Self {
        Self {
            trees: Vec::new(),
            mixture: Mixture::new(1 + MEMORIES.len()),
            is_trusted: false,
            forest_weight: 1.0,
            is_forest_idle: false,
            n_short: 0,
        }
    }
}

impl Horizons {
    /// Whether what was read fits a table of so many columns and classes.
    pub(crate) fn is_valid(&self, n_features: usize, n_classes: usize) -> bool {
        self.trees.len().is_multiple_of(N_TREES)
            && self.trees.len() <= MEMORIES.len() * N_TREES
            && self.mixture.is_valid(1 + MEMORIES.len())
            && (0.0..=1.0).contains(&self.forest_weight)
            && self.trees.iter().all(|tree| tree.check(n_features, n_classes).is_ok())
    }

    /// The weight of the forest and of each memory in the pool; those that rest have none.
    pub(crate) fn weights(&self) -> Vec<f64> {
        let n_short = if self.is_trusted { self.trees.len() / N_TREES } else { 0 };
        let mut weights = self.mixture.weights(1 + n_short);
        weights.resize(1 + MEMORIES.len(), 0.0);
        weights
    }

    /// Follows the weight of the forest: `weight` is that of a row.
    pub(crate) fn note_weight(&mut self, weight: f64) {
        let weight = if self.is_trusted { weight } else { 1.0 };
        self.forest_weight += (1.0 - WEIGHT_DISCOUNT) * (weight - self.forest_weight);
        let [idle, again] = IDLE_WEIGHTS;
        self.is_forest_idle = self.forest_weight < if self.is_forest_idle { again } else { idle };
    }

    /// Notes that a row was predicted.
    pub(crate) fn note_leader(&mut self, n_members: usize) {
        let leader = self.mixture.leader(n_members);
        self.n_short += u64::from(self.is_trusted && (1..MEMORIES.len()).contains(&leader));
    }

    /// What is predicted of what was mixed.
    pub(crate) fn chosen<'a>(&self, mixed: &'a Mixed, calibrates: bool) -> &'a [f64] {
        match (self.is_trusted, calibrates) {
            (true, true) => &mixed.proba,
            (true, false) => &mixed.pool,
            (false, true) => &mixed.first,
            (false, false) => &mixed.raw,
        }
    }

    /// Mixes the prediction of a row by the forest, in `out`, with those of the memories.
    pub(crate) fn mix_row(&self, row: &[f32], params: &ForestParams, out: &mut [f64]) {
        let memory = |trees: &[Tree]| {
            let mut votes = vec![0.0; out.len()];
            trees.iter().for_each(|tree| tree.add_shares(tree.leaf(row), &plain(), &mut votes));
            normalize(&mut votes);
            votes
        };
        let memories: Vec<Vec<f64>> = self.trees.chunks(N_TREES).map(memory).collect();
        self.mix(&memories, out.len(), params.calibrate, out);
    }

    /// Mixes the predictions of some rows by the forest, in `out`, with those of each memory for the same rows.
    pub(crate) fn mix(&self, memories: &[Vec<f64>], n_classes: usize, calibrates: bool, out: &mut [f64]) {
        let mut members = Vec::with_capacity((1 + memories.len()) * n_classes);
        for (row, out) in out.chunks_mut(n_classes).enumerate() {
            members.clear();
            members.extend_from_slice(out);
            memories.iter().for_each(|proba| members.extend(&proba[row * n_classes..(row + 1) * n_classes]));
            let mixed = self.mixture.predict(&members, n_classes);
            out.copy_from_slice(self.chosen(&mixed, calibrates));
        }
    }
}

/// How much the vote of a leaf counts in a short memory: all the same.
pub(crate) fn plain() -> LeafWeight {
    LeafWeight::new(0.0)
}

/// Turns summed votes into probabilities; no votes know nothing.
pub(crate) fn normalize(votes: &mut [f64]) {
    let sum: f64 = votes.iter().sum();
    let n = votes.len() as f64;
    votes.iter_mut().for_each(|p| *p = if sum > 0.0 { *p / sum } else { 1.0 / n });
}
