//! The forest: trees, and how their votes are combined.

use hedgerow_core::saved::{self, require};
use hedgerow_core::{Classifier, Mixed, Par, Result, Schema};
use ndarray::{Array2, ArrayView2, ArrayViewMut2};
use serde::{Deserialize, Serialize};

use crate::calibration::{Calibration, prior_shift};
use crate::horizons::{self, Horizons};
use crate::leaf_weight::LeafWeight;
use crate::params::{ForestParams, Probabilities};
use crate::parts::{self, Part};
use crate::tree::walk::{LANES, leaves_in};
use crate::tree::{Tree, Value};

/// Rows predicted together. One tree and the rows, as bytes where they fit, should stay in the second-level cache.
const BLOCK: usize = 256;
/// The same for rows of floats.
const FLOAT_BLOCK: usize = 128;

/// A random forest.
///
/// Predicting a row costs one walk a tree, about as many steps as the trees are high; each tree takes about 8 bytes a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Forest {
    pub(crate) params: ForestParams,
    pub(crate) n_features: usize,
    pub(crate) n_classes: usize,
    #[serde(with = "saved::columns")]
    pub(crate) trees: Vec<Tree>,
    /// How much the vote of a leaf counts.
    pub(crate) leaf_weight: LeafWeight,
    pub(crate) calibration: Option<Calibration>,
    /// The prior shift by class weights: a factor for each class, none where there are none.
    #[serde(with = "saved::array")]
    pub(crate) prior_shift: Vec<f64>,
    /// For each column, how much impurity its splits removed, summed over trees.
    #[serde(with = "saved::array")]
    pub(crate) gains: Vec<f64>,
    /// Which trees know which classes; empty where all know all.
    pub(crate) parts: Vec<Part>,
    /// Memories of the newest rows, of a forest that has learnt online.
    pub(crate) horizons: Option<Horizons>,
}

impl Forest {
    /// A forest from its parts.
    pub fn from_parts(
        params: ForestParams,
        n_classes: usize,
        trees: Vec<Tree>,
        calibration: Option<Calibration>,
        gains: Vec<f64>,
    ) -> Self {
        Self {
            params,
            n_features: gains.len(),
            n_classes,
            trees,
            leaf_weight: LeafWeight::new(0.0),
            calibration,
            prior_shift: Vec::new(),
            gains,
            parts: Vec::new(),
            horizons: None,
        }
    }

    /// The same forest with probabilities shifted by a factor for each class.
    #[must_use]
    pub fn with_prior_shift(self, prior_shift: Vec<f64>) -> Self {
        Self { prior_shift, ..self }
    }

    /// The prior shift by class weights: a factor for each class; none where there are none.
    pub fn prior_shift(&self) -> &[f64] {
        &self.prior_shift
    }

    /// The power of the leaf size that is the leaf weight; with 0 all trees count the same.
    pub fn leaf_power(&self) -> f64 {
        self.leaf_weight.power
    }

    /// The parameters it was grown with.
    pub fn params(&self) -> &ForestParams {
        &self.params
    }

    /// The trees.
    pub fn trees(&self) -> &[Tree] {
        &self.trees
    }

    /// How raw shares become probabilities, if calibration helped.
    pub fn calibration(&self) -> Option<&Calibration> {
        self.calibration.as_ref()
    }

    /// For each column, how much impurity its splits removed, summed over trees.
    pub fn gains(&self) -> &[f64] {
        &self.gains
    }

    /// Splits and leaves of all trees.
    pub fn n_nodes(&self) -> usize {
        self.trees.iter().map(Tree::n_nodes).sum()
    }

    /// The weights of the memory of all rows, then of the newest 20, 100, 300 and 1,000, in predictions; empty if it has not learnt online.
    pub fn memory_weights(&self) -> Vec<f64> {
        self.horizons.as_ref().map_or_else(Vec::new, Horizons::weights)
    }

    /// Rows that one of the memories of the newest 20, 100 or 300 rows predicted best.
    pub fn n_best_by_short_memory(&self) -> u64 {
        self.horizons.as_ref().map_or(0, |horizons| horizons.n_short)
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        let recent = self.horizons.as_ref().map_or(&[][..], |horizons| &horizons.trees);
        self.trees.iter().chain(recent).map(Tree::bytes).sum::<usize>() + self.gains.len() * size_of::<f64>()
    }

    /// Fails unless everything in it fits together and the schema. It may be without trees.
    pub fn check(&self, schema: &Schema) -> Result<()> {
        saved::require_sizes(self, schema)?;
        saved::require_rules(&self.params)?;
        let is_positive = |value: f64| value.is_finite() && value > 0.0;
        let calibrates = |c: &Calibration| is_positive(c.pseudo_votes) && is_positive(c.sharpness);
        require(self.calibration.as_ref().is_none_or(calibrates), || "its calibration is not above 0")?;
        let are_gains = self.gains.len() == self.n_features && self.gains.iter().all(|gain| gain.is_finite());
        require(are_gains, || "expected a finite gain for each column")?;
        let is_shift = self.prior_shift.len() <= self.n_classes
            && self.prior_shift.iter().all(|&factor| is_positive(factor));
        require(is_shift, || "expected a prior shift above 0 for each class")?;
        require((-1.0..=1.0).contains(&self.leaf_power()), || "expected a leaf power from -1 to 1")?;
        let fits = parts::is_valid(&self.parts, self.trees.len(), self.n_classes);
        require(fits, || "its parts do not fit its trees and classes")?;
        let is_horizon = |horizons: &Horizons| horizons.is_valid(self.n_features, self.n_classes);
        require(
            self.horizons.as_ref().is_none_or(is_horizon),
            || "its memories of the newest rows do not fit",
        )?;
        self.trees.iter().try_for_each(|tree| tree.check(self.n_features, self.n_classes))
    }

    /// Adds up the votes of all trees for the rows (one after the other in `rows`) in the rows of `out`.
    fn add_all_votes<V: Value>(&self, rows: &[V], out: &mut [f64]) {
        if self.parts.is_empty() {
            return self.add_votes(&self.trees, rows, &self.leaf_weight, out);
        }
        let mut votes = vec![0.0; self.parts.len() * out.len()];
        let mut first = 0;
        for (part, votes) in self.parts.iter().zip(votes.chunks_mut(out.len())) {
            self.add_votes(&self.trees[first..first + part.n_trees], rows, &self.leaf_weight, votes);
            first += part.n_trees;
        }
        let (len, n_classes) = (out.len(), self.n_classes);
        for (i, out) in out.chunks_mut(n_classes).enumerate() {
            parts::combine(&self.parts, |g| &votes[g * len + i * n_classes..][..n_classes], out);
        }
    }

    /// Adds the votes of each tree to the rows of `out`, in the order of the trees.
    fn add_votes<V: Value>(&self, trees: &[Tree], rows: &[V], leaf_weight: &LeafWeight, out: &mut [f64]) {
        let row = |i: usize| &rows[i * self.n_features..(i + 1) * self.n_features];
        let n_rows = rows.len() / self.n_features.max(1);
        let together = n_rows - n_rows % LANES;
        for tree in trees {
            for first in (0..together).step_by(LANES) {
                let leaves = tree.leaves_of(std::array::from_fn(|lane| row(first + lane)));
                let out = &mut out[first * self.n_classes..(first + LANES) * self.n_classes];
                for (leaf, out) in leaves.into_iter().zip(out.chunks_mut(self.n_classes)) {
                    self.add_vote(tree, leaf, leaf_weight, out);
                }
            }
        }
        for i in together..n_rows {
            let out = &mut out[i * self.n_classes..(i + 1) * self.n_classes];
            self.add_row_votes(trees, row(i), leaf_weight, out);
        }
    }

    /// The same for one row, several trees at a time.
    fn add_row_votes<V: Value>(&self, trees: &[Tree], row: &[V], leaf_weight: &LeafWeight, out: &mut [f64]) {
        let mut groups = trees.chunks_exact(LANES);
        for trees in &mut groups {
            let trees: [&Tree; LANES] = std::array::from_fn(|lane| &trees[lane]);
            for (leaf, tree) in leaves_in(trees, row).into_iter().zip(trees) {
                self.add_vote(tree, leaf, leaf_weight, out);
            }
        }
        for tree in groups.remainder() {
            self.add_vote(tree, tree.leaf(row), leaf_weight, out);
        }
    }

    #[inline]
    fn add_vote(&self, tree: &Tree, leaf: crate::tree::Link, leaf_weight: &LeafWeight, out: &mut [f64]) {
        match self.params.probabilities {
            Probabilities::Leaf => tree.add_shares(leaf, leaf_weight, out),
            Probabilities::Votes => tree.add_vote(leaf, leaf_weight, out),
        }
    }

    /// Predicts rows, one after the other in `rows`, without the memories of the newest rows.
    fn predict_alone(&self, rows: &[f32], out: &mut [f64]) {
        out.fill(0.0);
        if let Some(bytes) = narrow(rows).filter(|_| out.len() >= LANES * self.n_classes) {
            self.add_all_votes(&bytes, out);
        } else {
            let parts = rows.chunks(FLOAT_BLOCK * self.n_features);
            for (rows, out) in parts.zip(out.chunks_mut(FLOAT_BLOCK * self.n_classes)) {
                self.add_all_votes(rows, out);
            }
        }
        self.finish(out);
    }

    /// The class shares in the leaves of so many rows, one after the other in `rows`, summed over trees.
    pub(crate) fn summed_shares(&self, rows: &[f32], n_rows: usize) -> Vec<f64> {
        let mut shares = vec![0.0; n_rows * self.n_classes];
        if let Some(bytes) = narrow(rows).filter(|_| n_rows >= LANES) {
            self.add_votes(&self.trees, &bytes, &self.leaf_weight, &mut shares);
        } else {
            self.add_votes(&self.trees, rows, &self.leaf_weight, &mut shares);
        }
        shares
    }

    /// The predictions of rows, with those by the forest alone and by each memory of the newest rows that is at work, and what becomes of them.
    pub(crate) fn predict_mixed(&self, x: ArrayView2<'_, f32>) -> Vec<(Vec<f64>, Mixed)> {
        let x = x.as_standard_layout();
        let (rows, n_classes) = (x.as_slice().unwrap_or_default(), self.n_classes);
        let len = x.nrows() * n_classes;
        if len == 0 {
            return vec![Default::default(); x.nrows()];
        }
        let mut members = vec![vec![0.0; len]];
        self.predict_alone(rows, &mut members[0]);
        let new = Horizons::default();
        let horizons = self.horizons.as_ref().unwrap_or(&new);
        members.extend(self.predict_memories(horizons, rows, len));
        let of_row =
            |row: usize| members.iter().flat_map(move |proba| &proba[row * n_classes..][..n_classes]);
        let mix = |row| {
            let members: Vec<f64> = of_row(row).copied().collect();
            let mixed = horizons.mixture.predict(&members, n_classes);
            // Before anything was learnt online, the forest predicts as it was fitted.
            let chosen = if self.horizons.is_some() {
                horizons.chosen(&mixed, self.params.calibrate)
            } else {
                &members[..n_classes]
            };
            (chosen.to_vec(), mixed)
        };
        (0..x.nrows()).map(mix).collect()
    }

    /// Mixes the predictions of some rows with those of the memories of the newest rows.
    fn mix_horizons(&self, rows: &[f32], out: &mut [f64]) {
        let Some(horizons) = self.horizons.as_ref().filter(|_| self.n_classes > 0) else { return };
        let memories = self.predict_memories(horizons, rows, out.len());
        horizons.mix(&memories, self.n_classes, self.params.calibrate, out);
    }

    /// The predictions of each memory of the newest rows, `len` numbers each.
    fn predict_memories(&self, horizons: &Horizons, rows: &[f32], len: usize) -> Vec<Vec<f64>> {
        let memory = |trees: &[Tree]| {
            let mut votes = vec![0.0; len];
            self.add_votes(trees, rows, &horizons::plain(), &mut votes);
            votes.chunks_mut(self.n_classes).for_each(horizons::normalize);
            votes
        };
        horizons.trees.chunks(horizons::N_TREES).map(memory).collect()
    }

    /// Turns summed votes of all trees into probabilities.
    pub(crate) fn finish(&self, out: &mut [f64]) {
        if self.trees.is_empty() || self.n_classes == 0 {
            out.fill(1.0 / self.n_classes.max(1) as f64);
            return;
        }
        out.chunks_mut(self.n_classes).for_each(|row| self.finish_row(row, self.trees.len() as f64));
    }

    /// Turns the summed votes of so many trees for one row into probabilities.
    pub(crate) fn finish_row(&self, row: &mut [f64], n_trees: f64) {
        if let Some(calibration) = &self.calibration {
            calibration.apply(row, n_trees);
        } else {
            let sum: f64 = row.iter().sum();
            row.iter_mut().for_each(|p| *p /= sum);
        }
        prior_shift::apply(&self.prior_shift, row);
    }
}

/// The values as bytes, if all of them are whole numbers from 0 to 255.
fn narrow(values: &[f32]) -> Option<Vec<u8>> {
    let first = values.get(..values.len().min(64))?;
    let fits = |values: &[f32]| values.iter().fold(true, |fits, &v| fits & (f32::from(v as u8) == v));
    (fits(first) && fits(values)).then(|| values.iter().map(|&v| v as u8).collect())
}

impl Classifier for Forest {
    fn n_features(&self) -> usize {
        self.n_features
    }

    fn n_classes(&self) -> usize {
        self.n_classes
    }

    fn predict_proba_impl(&self, x: ArrayView2<'_, f32>, par: &Par, mut out: ArrayViewMut2<'_, f64>) {
        let x = x.as_standard_layout();
        let Some(rows) = x.as_slice() else { return };
        let predict = |first: usize, out: &mut [f64]| {
            let n_rows = out.len() / self.n_classes.max(1);
            let rows = &rows[first * self.n_features..(first + n_rows) * self.n_features];
            self.predict_alone(rows, out);
            self.mix_horizons(rows, out);
        };
        if let Some(out) = out.as_slice_mut() {
            par.for_chunks(out, BLOCK * self.n_classes.max(1), |block, out| predict(block * BLOCK, out));
        } else {
            let mut dense = Array2::zeros(out.dim());
            self.predict_proba_impl(x.view(), par, dense.view_mut());
            out.assign(&dense);
        }
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::testing::blobs;
    use hedgerow_core::{Budget, Params as _, Silent};

    use super::*;
    use crate::params::LeafPower;
    use hedgerow_core::Training;

    #[test]
    fn predictions_are_sums_of_shares_times_a_power_of_leaf_sizes() {
        let data = blobs(200, 3, 3, 5);
        let params = ForestParams {
            n_trees: 9,
            min_leaf_rows: 3,
            calibrate: false,
            leaf_power: LeafPower::Fixed(-0.3),
            ..ForestParams::default()
        };
        let par = Par::sequential();
        let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
        let forest = Forest::fit(&data, &params.check().unwrap(), &training).unwrap().forest;
        assert_eq!(forest.leaf_power(), -0.3);
        let x = data.features.to_array(0..data.n_rows());
        let proba = forest.predict_proba(x.view(), &par).unwrap();
        for (row, p) in x.rows().into_iter().zip(proba.rows()) {
            let mut naive = [0.0; 3];
            for tree in &forest.trees {
                let mut weights = [0.0; 3];
                tree.visit_leaf(tree.leaf(row.as_slice().unwrap()), |class, w| weights[class] = f64::from(w));
                let size: f64 = weights.iter().sum();
                weights.iter().zip(&mut naive).for_each(|(w, sum)| *sum += w / size * size.powf(-0.3));
            }
            let total: f64 = naive.iter().sum();
            for (p, sum) in p.iter().zip(naive) {
                // Sizes above 63 are rounded down to one part in 32.
                assert!((p - sum / total).abs() < 0.01, "{p} {}", sum / total);
            }
        }
    }
}
