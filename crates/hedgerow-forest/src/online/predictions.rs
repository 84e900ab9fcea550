//! Prequential predictions: those of a row before it is learnt.

use hedgerow_core::traits::largest;
use ndarray::ArrayViewMut1;

use super::{OnlineForest, block};
use crate::leaf_weight::LeafWeight;
use crate::params::Keep;

impl OnlineForest {
    /// Whether a row is to be retained.
    pub(super) fn wants(&self, row: &[f32], class: u16) -> bool {
        let keep = self.forest.params.keep;
        if keep == Keep::All || self.pool.n_rows == 0 {
            return true;
        }
        let mut sums = self.sums(row);
        let sums = &mut sums[self.chosen_leaf_weight() * self.forest.n_classes..][..self.forest.n_classes];
        self.forest.finish(sums);
        keep.wants(sums, usize::from(class))
    }

    /// The index of the leaf weight in use.
    pub(super) fn chosen_leaf_weight(&self) -> usize {
        nearest(&self.leaf_weights, &self.forest.leaf_weight)
    }

    /// The summed votes of all trees for a row, for each leaf weight.
    fn sums(&self, row: &[f32]) -> Vec<f64> {
        let mut sums = vec![0.0; self.leaf_weights.len() * self.forest.n_classes];
        let mut shares = Vec::new();
        for live in &self.live {
            let leaf = live.walk(row).leaf;
            let size = block::add_shares(live, leaf, self.forest.params.probabilities, &mut shares);
            block::add_weighed(&shares, size, &self.leaf_weights, &mut sums);
            shares.clear();
        }
        sums
    }

    /// Predicts a row that is not to be learnt.
    pub(super) fn predict_only(
        &mut self,
        row: &[f32],
        class: u16,
        age: u64,
        prediction: ArrayViewMut1<'_, f64>,
    ) {
        let sums = self.sums(row);
        self.records.iter_mut().for_each(|record| record.clear(age));
        self.note_prediction(&sums, class, age, prediction);
    }

    /// Records the prequential prediction of a row.
    pub(super) fn note_prediction(
        &mut self,
        all_sums: &[f64],
        class: u16,
        age: u64,
        mut prediction: ArrayViewMut1<'_, f64>,
    ) {
        let sums = &all_sums[self.chosen_leaf_weight() * self.forest.n_classes..][..self.forest.n_classes];
        let knows_something = sums.iter().any(|&s| s > 0.0);
        let mut proba = sums.to_vec();
        if knows_something {
            self.detector.note(largest(sums) != Some(usize::from(class)), age + 1);
            self.forest.finish(&mut proba);
        } else {
            proba.fill(1.0 / sums.len().max(1) as f64);
        }
        let n_trees = if knows_something { self.live.len() as u32 } else { 0 };
        self.window.note(age, all_sums, class, n_trees);
        prediction.iter_mut().zip(proba).for_each(|(to, from)| *to = from);
    }
}

/// The index of the leaf weight nearest to another.
pub(super) fn nearest(leaf_weights: &[LeafWeight], to: &LeafWeight) -> usize {
    let distance = |at: &usize| (leaf_weights[*at].power - to.power).abs();
    (0..leaf_weights.len()).min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(0)
}
