//! From leaves to probabilities.

use hedgerow_core::{Classifier, Par};
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis};

use super::LeafGp;
use super::shares;

/// Rows that find their leaves together.
const BLOCK: usize = 256;
/// Rows answered together: what their leaves say is kept until all have been asked.
const MOST_TOGETHER: usize = 4096;
/// What a class has at least before there is anything to calibrate by.
const LEAST_SHARE: f64 = 0.01;

/// What trees say about rows, before it becomes probabilities: a row a row, a column a class.
pub(super) struct Said {
    /// Means over trees of what processes score.
    pub(super) scores: Array2<f64>,
    /// Means over trees of the shares of classes in leaves.
    pub(super) shares: Array2<f64>,
    /// Whether a process had a say.
    pub(super) is_heard: Vec<bool>,
}

impl LeafGp {
    /// Asks all trees about rows. What is said after a switch of `par` was thrown is good for nothing.
    pub(super) fn ask(&self, x: ArrayView2<'_, f32>, par: &Par) -> Said {
        let (n, n_trees) = (x.nrows(), self.stems.n_trees());
        let zeros = || Array2::zeros((n, self.n_classes));
        let mut said = Said { scores: zeros(), shares: zeros(), is_heard: vec![false; n] };
        let Some(kernel) = self.kernel.filter(|_| n_trees > 0) else { return said };
        let raw = x.as_standard_layout();
        let leaves = par.map(n.div_ceil(BLOCK), |block| {
            let rows = ndarray::s![block * BLOCK..((block + 1) * BLOCK).min(n), ..];
            let part = raw.slice(rows);
            let each = |row: ndarray::ArrayView1<'_, f32>| {
                let row = row.to_vec();
                (0..n_trees).map(|tree| self.stems.leaf(tree, &row)).collect::<Vec<_>>()
            };
            let found: Vec<Option<u32>> = part.rows().into_iter().flat_map(each).collect();
            (self.preparation.map_narrow(part), found)
        });
        let views: Vec<_> = leaves.iter().map(|(prepared, _)| prepared.view()).collect();
        let Ok(prepared) = ndarray::concatenate(Axis(0), &views) else { return said };
        let found: Vec<Option<u32>> = leaves.iter().flat_map(|(_, found)| found.iter().copied()).collect();
        // Rows of one leaf together; leaves belong to one tree each, and come in the order of trees.
        let mut visits: Vec<(usize, u32, usize)> = Vec::with_capacity(found.len());
        for (at, leaf) in found.iter().enumerate() {
            if let Some(leaf) = leaf {
                visits.push((at % n_trees, *leaf, at / n_trees));
            }
        }
        visits.sort_unstable();
        let groups: Vec<&[(usize, u32, usize)]> = visits.chunk_by(|a, b| a.1 == b.1).collect();
        let answers = par.map(groups.len(), |group| {
            let rows: Vec<usize> = groups[group].iter().map(|visit| visit.2).collect();
            if par.is_stopped() {
                // Nobody wants to know any more.
                return Array2::zeros((rows.len(), self.n_classes));
            }
            let leaf = &self.leaves[groups[group][0].1 as usize];
            leaf.answer(
                &self.params,
                &kernel,
                prepared.select(Axis(0), &rows).view(),
                self.x.view(),
                self.n_classes,
            )
        });
        let mut n_answers = vec![0_u32; n];
        let mut of_leaf = vec![0.0; self.n_classes];
        for (group, answers) in groups.iter().zip(answers) {
            let leaf = &self.leaves[group[0].1 as usize];
            of_leaf.fill(0.0);
            leaf.add_shares(&mut of_leaf);
            for ((_, _, row), scores) in group.iter().zip(answers.rows()) {
                said.scores.row_mut(*row).zip_mut_with(&scores, |sum, score| *sum += score);
                said.shares.row_mut(*row).iter_mut().zip(&of_leaf).for_each(|(sum, share)| *sum += share);
                said.is_heard[*row] |= leaf.process.is_some();
                n_answers[*row] += 1;
            }
        }
        for (row, n) in n_answers.into_iter().enumerate() {
            let mut scores = said.scores.row_mut(row);
            // A row that came to no known place knows nothing.
            if n == 0 {
                scores.fill(-1.0);
            } else {
                scores /= f64::from(n);
            }
            said.shares.row_mut(row).as_slice_mut().into_iter().for_each(|row| shares::mean(row, n));
        }
        said
    }

    /// Scores of rows, one a class: means over trees.
    #[cfg(test)]
    pub(super) fn scores(&self, x: ArrayView2<'_, f32>, par: &Par) -> Array2<f64> {
        self.ask(x, par).scores
    }

    /// The scores of one row become its probabilities.
    pub(super) fn read(&self, row: &mut [f64]) {
        if let Some(calibration) = &self.calibration {
            calibration.apply(row);
            return;
        }
        row.iter_mut().for_each(|p| *p = ((*p + 1.0) / 2.0).clamp(LEAST_SHARE, 1.0));
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|p| *p /= sum);
    }

    /// What is likely where nothing was learnt: how often each class came.
    fn prior(&self) -> Vec<f64> {
        let shares: Vec<f64> = self.known_counts().into_iter().map(|n| n as f64 + 1.0).collect();
        let sum: f64 = shares.iter().sum();
        shares.iter().map(|share| share / sum).collect()
    }

    /// One answer of a row's scores and shares; the scores become it.
    pub(super) fn combine(&self, row: &mut [f64], shares: &[f64]) {
        self.read(row);
        if let Some(blend) = self.blend {
            let of_processes = row.to_vec();
            blend.apply(shares, &of_processes, row);
        }
    }

    /// Probabilities from what trees say.
    pub(super) fn probabilities(&self, said: &Said, mut out: ArrayViewMut2<'_, f64>) {
        if self.kernel.is_none() {
            let prior = self.prior();
            for mut row in out.rows_mut() {
                row.iter_mut().zip(&prior).for_each(|(to, p)| *to = *p);
            }
            return;
        }
        let both = said.scores.rows().into_iter().zip(said.shares.rows());
        for ((scores, shares), mut out) in both.zip(out.rows_mut()) {
            let mut row = scores.to_vec();
            self.combine(&mut row, &shares.to_vec());
            out.iter_mut().zip(row).for_each(|(to, p)| *to = p);
        }
    }
}

impl Classifier for LeafGp {
    fn n_features(&self) -> usize {
        self.preparation.n_features()
    }

    fn n_classes(&self) -> usize {
        self.n_classes
    }

    fn predict_proba_impl(&self, x: ArrayView2<'_, f32>, par: &Par, mut out: ArrayViewMut2<'_, f64>) {
        for first in (0..x.nrows()).step_by(MOST_TOGETHER) {
            let rows = ndarray::s![first..(first + MOST_TOGETHER).min(x.nrows()), ..];
            let said = self.ask(x.slice(rows), par);
            self.probabilities(&said, out.slice_mut(rows));
        }
    }
}
