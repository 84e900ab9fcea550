//! The making of a model from the trees and leaf GPs of a run.

use std::sync::Arc;

use hedgerow_core::{BlendReport, Candidate, OutOfSample, Source, Training};
use ndarray::{Array2, ArrayView1};

use super::super::LeafGp;
use super::super::kernel::LeafKernel;
use super::super::leaf::{Trained, spread};
use super::super::online::OnlineState;
use super::super::placement::PlacedTree;
use super::super::trees::Trees;
use super::super::validation::ValidationRow;
use super::rows::TrainingRows;

/// Rows that calibrate, at most.
const MOST_ROWS: usize = 20_000;

/// All that a model is made of.
pub(in super::super) struct Assembly {
    pub(super) rows: Arc<TrainingRows>,
    pub(super) kernel: Option<LeafKernel>,
    /// Trees, and the trained GP of each of their leaves.
    pub(super) trees: Vec<(Arc<PlacedTree>, Vec<Option<Trained>>)>,
    /// Out-of-fold scores; none before all folds are done.
    pub(super) folds: Vec<Arc<Vec<ValidationRow>>>,
}

impl Assembly {
    /// The model, calibrated by leave-one-out scores and blended by out-of-fold scores.
    pub(super) fn candidate(self, training: &Training<'_>) -> Candidate<LeafGp> {
        let mut loo = self.leave_one_out();
        let rows = Arc::clone(&self.rows);
        let folds: Vec<ValidationRow> = self.folds.iter().flat_map(|fold| fold.iter().cloned()).collect();
        let mut model = self.uncalibrated();
        if loo.has_two_classes() {
            model.calibration = Some(loo.calibration(training.par));
        }
        let mut validation = if folds.is_empty() {
            loo.map_rows(|row| {
                let mut proba = row.to_vec();
                model.combine(&mut proba, &[]);
                row.assign(&ArrayView1::from(&proba));
            });
            loo
        } else {
            model.fit_blend(folds.iter().map(|one| one.pair.clone()).collect());
            model.account_for(&folds)
        };
        validation.renumber(|row| rows.origin(row));
        Candidate::new(model, Some(validation))
    }

    /// Leave-one-out scores of some rows, spread over all: means over trees.
    fn leave_one_out(&self) -> OutOfSample {
        let (labels, n_classes) = (self.rows.data.labels(), self.rows.n_classes());
        let step = labels.len().div_ceil(MOST_ROWS).max(1);
        let rows: Vec<usize> = (0..labels.len()).step_by(step).collect();
        let mut values = Array2::<f64>::zeros((rows.len(), n_classes));
        let mut all_classes = vec![0.0; n_classes];
        for (placed, trained) in &self.trees {
            for (leaf, trained) in placed.leaves.iter().zip(trained) {
                let by_frequency = || Arc::new(leaf.loo_frequencies(self.rows.params.fusion, labels));
                let scores = trained.as_ref().map_or_else(by_frequency, |own| Arc::clone(&own.loo));
                let columns = leaf.columns();
                let own = leaf.rows.iter().map(|&row| row as usize).zip(scores.rows());
                for (row, scores) in own.filter(|(row, _)| row % step == 0) {
                    spread(&columns, scores, &mut all_classes);
                    values.row_mut(row / step).iter_mut().zip(&all_classes).for_each(|(sum, v)| *sum += v);
                }
            }
        }
        values /= self.trees.len().max(1) as f64;
        OutOfSample::of_rows(Source::LeaveOneOut, rows, values, labels)
    }

    /// The model before it is calibrated.
    pub(in super::super) fn uncalibrated(self) -> LeafGp {
        let (mut trees, mut leaves) = (Trees::default(), Vec::new());
        for (placed, trained) in self.trees {
            let first = leaves.len();
            // What no run has any more is moved, otherwise it is copied.
            trees.add_tree(Arc::unwrap_or_clone(placed), &mut leaves);
            let gps = trained.into_iter().map(|trained| trained.map(|own| own.gp));
            leaves[first..].iter_mut().zip(gps).for_each(|(leaf, gp)| leaf.gp = gp);
        }
        let rows = &self.rows;
        let online = OnlineState::new(rows.n_seen, rows.data.n_rows());
        LeafGp {
            params: rows.params.clone(),
            n_classes: rows.n_classes(),
            preparation: rows.preparation.clone(),
            kernel: self.kernel,
            features: rows.data.features.clone(),
            labels: rows.data.labels().to_vec(),
            x: rows.x.clone(),
            trees,
            leaves,
            calibration: None,
            blend: None,
            report: BlendReport::default(),
            online: Some(online),
        }
    }
}
