//! What the forest says about a row before it learns it.

use hedgerow_core::traits::largest;
use ndarray::ArrayViewMut1;

use super::{OnlineForest, block};
use crate::params::Keep;
use crate::say::Say;

impl OnlineForest {
    /// Whether a row is to be remembered.
    pub(super) fn wants(&self, row: &[f32], class: u16) -> bool {
        let keep = self.forest.params.keep;
        if keep == Keep::All || self.pool.n_rows() == 0 {
            return true;
        }
        let mut sums = self.sums(row);
        let sums = &mut sums[self.way() * self.forest.n_classes..][..self.forest.n_classes];
        self.forest.finish(sums);
        keep.wants(sums, usize::from(class))
    }

    /// Which way to weigh leaves is in use.
    pub(super) fn way(&self) -> usize {
        nearest(&self.says, &self.forest.say)
    }

    /// What all trees together say about a row, for each way to weigh leaves.
    fn sums(&self, row: &[f32]) -> Vec<f64> {
        let mut sums = vec![0.0; self.says.len() * self.forest.n_classes];
        let mut shares = Vec::new();
        for live in &self.live {
            let leaf = live.walk(row).leaf;
            let size = block::add_shares(live, leaf, self.forest.params.probabilities, &mut shares);
            block::add_weighed(&shares, size, &self.says, &mut sums);
            shares.clear();
        }
        sums
    }

    /// Answers a row that is not to be learnt.
    pub(super) fn answer_only(&mut self, row: &[f32], class: u16, age: u64, answer: ArrayViewMut1<'_, f64>) {
        let sums = self.sums(row);
        self.records.iter_mut().for_each(|record| record.clear(age));
        self.note_answer(&sums, class, age, answer);
    }

    /// Notes what the forest said about a row before it learnt it.
    pub(super) fn note_answer(
        &mut self,
        all_sums: &[f64],
        class: u16,
        age: u64,
        mut answer: ArrayViewMut1<'_, f64>,
    ) {
        let sums = &all_sums[self.way() * self.forest.n_classes..][..self.forest.n_classes];
        let knows_something = sums.iter().any(|&s| s > 0.0);
        let mut proba = sums.to_vec();
        if knows_something {
            self.monitor.note(largest(sums) != Some(usize::from(class)), age + 1);
            self.forest.finish(&mut proba);
        } else {
            proba.fill(1.0 / sums.len().max(1) as f64);
        }
        let n_trees = if knows_something { self.live.len() as u32 } else { 0 };
        self.window.note(age, all_sums, class, n_trees);
        for (to, from) in answer.iter_mut().zip(proba) {
            *to = from;
        }
    }
}

/// Which of several ways to weigh leaves is most like another.
pub(super) fn nearest(says: &[Say], to: &Say) -> usize {
    let distance = |at: &usize| (says[*at].power() - to.power()).abs();
    (0..says.len()).min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(0)
}
