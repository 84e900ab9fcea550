//! Out-of-fold predictions: models with the same kernel are trained on most of the rows and predict the others.
//!
//! Trees are grown so that rows of one class come together, so each row is among rows that its label has helped to bring there. Leave-one-out scores of its leaf
//! GPs, and class frequencies without it, are then too sure: little where classes are clear, much where labels are noisy and leaves small. The blend
//! is therefore fitted on rows that neither trees nor leaf GPs were trained on.

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{ClassId, Dataset, Folds, Result, Silent, Task, Training, drive};

use super::kernel::LeafKernel;
use super::params::LeafGpParams;
use super::run::LeafGpRun;
use super::validation::ValidationRow;

/// Rows are cut into folds of this number, and as many folds are done as give enough rows.
const FOLDS: usize = 5;
const ENOUGH_ROWS: usize = 1000;
/// Validation rows of a fold, at most.
const MOST_ROWS: usize = 3000;

/// The folds of some rows.
pub(super) struct ValidationFolds(Folds);

impl ValidationFolds {
    pub(super) fn new(n_rows: usize, seed: u64) -> Self {
        Self(Folds::new(n_rows, FOLDS, Rng::new(seed, Purpose::Validation, 2)))
    }

    /// How many folds are worth doing.
    pub(super) fn len(&self) -> usize {
        self.0.n_with(ENOUGH_ROWS)
    }

    /// The scores of a fold's rows by a model of the others; none if these have one class, or if the budget is spent before the end.
    pub(super) fn validate(
        &self,
        fold: usize,
        data: &Dataset,
        params: &LeafGpParams,
        kernel: LeafKernel,
        training: &Training<'_>,
    ) -> Result<Option<Vec<ValidationRow>>> {
        let [kept, left] = self.0.cut(fold);
        let kept = data.select(&kept);
        let left: Vec<usize> = left.iter().copied().step_by(left.len().div_ceil(MOST_ROWS).max(1)).collect();
        let is_spent = || training.budget.spent().is_some();
        if kept.check_trainable(Task::Classification).is_err() || left.is_empty() || is_spent() {
            return Ok(None);
        }
        let quiet = Training { observer: &Silent, ..*training };
        let lanes = training.par.threads();
        let mut run = LeafGpRun::without_folds(&kept, params.clone(), lanes, &quiet)?.with_kernel(kernel);
        drive(&mut run, &quiet)?;
        // Leaves that were not trained would count against leaf GPs.
        if is_spent() {
            return Ok(None);
        }
        let x = data.features.select(&left).to_array(0..left.len());
        let par = training.par.until(&training.budget.stop);
        let predictions = run.assembly().uncalibrated().predictions(x.view(), &par);
        let labels: Vec<ClassId> = left.iter().map(|&row| data.labels()[row]).collect();
        let rows = left.into_iter().zip(predictions.pairs(&labels));
        let rows = rows.map(|(row, (pair, has_gp))| ValidationRow { row, pair, has_gp }).collect();
        Ok((!is_spent()).then_some(rows))
    }
}
