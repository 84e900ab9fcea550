//! From leaves to probabilities.

use hedgerow_core::blend::Pair;
use hedgerow_core::online::predict_frequencies;
use hedgerow_core::{ClassId, Classifier, Par, TargetSlice};
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis};

use super::LeafGp;
use super::frequencies;
use super::kernel::LeafKernel;
use super::leaf::spread;

/// Rows that find their leaves together.
const BLOCK: usize = 256;
/// Rows predicted together: the scores of their leaves are kept until all leaves are done.
const MOST_TOGETHER: usize = 4096;
/// Least probability of a class before there is anything to calibrate by.
const LEAST_SHARE: f64 = 0.01;

/// What trees predict for rows, before it becomes probabilities: a row for each, a column for each class.
#[derive(Debug, Clone)]
pub(super) struct Predictions {
    /// Means over trees of the scores of leaves.
    pub(super) scores: Array2<f64>,
    /// Means over trees of the class frequencies in leaves.
    pub(super) frequencies: Array2<f64>,
    /// Whether a leaf GP was among the leaves of the row.
    pub(super) has_gp: Vec<bool>,
}

impl Predictions {
    /// For each row of these classes: class frequencies and scores, and whether a leaf GP was among its leaves.
    pub(super) fn pairs(&self, labels: &[ClassId]) -> impl Iterator<Item = (Pair, bool)> {
        let pair = |row: usize| Pair {
            forest: self.frequencies.row(row).to_vec(),
            gp: self.scores.row(row).to_vec(),
            class: labels[row],
        };
        (0..labels.len()).map(move |row| (pair(row), self.has_gp[row]))
    }
}

impl LeafGp {
    /// What trees predict for rows. It is useless once a switch of `par` was thrown.
    pub(super) fn predictions(&self, x: ArrayView2<'_, f32>, par: &Par) -> Predictions {
        let (n, n_trees) = (x.nrows(), self.trees.n_trees());
        let zeros = || Array2::zeros((n, self.n_classes));
        let mut out = Predictions { scores: zeros(), frequencies: zeros(), has_gp: vec![false; n] };
        if n_trees == 0 {
            return out;
        }
        let kernel = self.kernel.unwrap_or(LeafKernel::START);
        let raw = x.as_standard_layout();
        let blocks = par.map(n.div_ceil(BLOCK), |block| {
            let rows = ndarray::s![block * BLOCK..((block + 1) * BLOCK).min(n), ..];
            let part = raw.slice(rows);
            let each = |row: ndarray::ArrayView1<'_, f32>| {
                let row = row.to_vec();
                (0..n_trees).map(|tree| self.trees.leaf(tree, &row)).collect::<Vec<_>>()
            };
            let found: Vec<Option<u32>> = part.rows().into_iter().flat_map(each).collect();
            (self.preparation.map_narrow(part), found)
        });
        let views: Vec<_> = blocks.iter().map(|(prepared, _)| prepared.view()).collect();
        let Ok(prepared) = ndarray::concatenate(Axis(0), &views) else { return out };
        // Rows of one leaf together; leaves belong to one tree each, and come in the order of trees.
        let found = blocks.iter().flat_map(|(_, found)| found.iter().copied()).enumerate();
        let mut visits: Vec<(usize, u32, usize)> =
            found.filter_map(|(at, leaf)| leaf.map(|leaf| (at % n_trees, leaf, at / n_trees))).collect();
        visits.sort_unstable();
        let groups: Vec<&[(usize, u32, usize)]> = visits.chunk_by(|a, b| a.1 == b.1).collect();
        let of_groups = par.map(groups.len(), |group| {
            let rows: Vec<usize> = groups[group].iter().map(|visit| visit.2).collect();
            if par.is_stopped() {
                return Array2::zeros((rows.len(), 0));
            }
            let leaf = &self.leaves[groups[group][0].1 as usize];
            leaf.scores(&self.params, &kernel, prepared.select(Axis(0), &rows).view(), self.x.view())
        });
        let mut n_leaves = vec![0_u32; n];
        let (mut frequencies, mut all_classes) = (vec![0.0; self.n_classes], vec![0.0; self.n_classes]);
        for (group, scores) in groups.iter().zip(of_groups) {
            let leaf = &self.leaves[group[0].1 as usize];
            let columns = leaf.columns();
            frequencies.fill(0.0);
            leaf.add_frequencies(&mut frequencies);
            for ((_, _, row), scores) in group.iter().zip(scores.rows()) {
                spread(&columns, scores, &mut all_classes);
                out.scores.row_mut(*row).iter_mut().zip(&all_classes).for_each(|(sum, score)| *sum += score);
                out.frequencies.row_mut(*row).iter_mut().zip(&frequencies).for_each(|(sum, f)| *sum += f);
                out.has_gp[*row] |= leaf.gp.is_some();
                n_leaves[*row] += 1;
            }
        }
        for (row, n) in n_leaves.into_iter().enumerate() {
            let mut scores = out.scores.row_mut(row);
            // A row that no tree has a leaf for has no score.
            if n == 0 {
                scores.fill(-1.0);
            } else {
                scores /= f64::from(n);
            }
            let own = out.frequencies.row_mut(row);
            own.into_slice().into_iter().for_each(|own| frequencies::mean(own, n));
        }
        out
    }

    /// The probabilities of a row with such scores and class frequencies; the scores become them.
    pub(super) fn combine(&self, row: &mut [f64], frequencies: &[f64]) {
        if let Some(calibration) = &self.calibration {
            calibration.apply(row);
        } else {
            row.iter_mut().for_each(|p| *p = ((*p + 1.0) / 2.0).clamp(LEAST_SHARE, 1.0));
            let sum: f64 = row.iter().sum();
            row.iter_mut().for_each(|p| *p /= sum);
        }
        if let Some(blend) = self.blend {
            let of_gps = row.to_vec();
            blend.apply(frequencies, &of_gps, row);
        }
    }

    /// Probabilities of what trees predict.
    pub(super) fn probabilities(&self, predictions: &Predictions, mut out: ArrayViewMut2<'_, f64>) {
        if self.trees.n_trees() == 0 {
            let n_known = self.online.as_ref().map_or(0, |online| online.n_known);
            return predict_frequencies(&TargetSlice::from(&self.labels[..n_known]).class_counts(), out);
        }
        let both = predictions.scores.rows().into_iter().zip(predictions.frequencies.rows());
        for ((scores, frequencies), mut out) in both.zip(out.rows_mut()) {
            let mut row = scores.to_vec();
            self.combine(&mut row, &frequencies.to_vec());
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
            let predictions = self.predictions(x.slice(rows), par);
            self.probabilities(&predictions, out.slice_mut(rows));
        }
    }
}
