//! Looking one label ahead: what would the predictions for all rows be, whichever label a row gets?
//!
//! Predictions after a label come from models trained anew, where a trainer is given; otherwise from the labels nearby by the kernel on ranks, which costs no
//! training and needs no classes to start with.

use std::sync::Arc;

use hedgerow_core::{ClassId, Result};
use ndarray::{Array2, ArrayView1};

use super::Strategy;
use crate::kernel::RankKernel;
use crate::model::Trainer;
use crate::situation::Situation;

/// Rows predicted after each label, and candidates, where models are trained anew.
const MOST_TARGETS: usize = 500;
const MOST_TRAINED: usize = 30;
/// What each class counts, before any label does.
const PRIOR: f64 = 0.1;
/// Labels less probable than this are not looked at.
const LEAST_PROBABLE: f64 = 1e-3;

/// Rows whose label is expected to leave the least error: `Σ_y p(y|x)` of the mean probability of the most probable class of all rows (Roy and McCallum, 2001, Toward
/// optimal active learning through sampling estimation of error reduction).
#[derive(Clone, Default)]
pub struct ErrorReduction {
    trainer: Option<Arc<dyn Trainer>>,
}

/// Rows whose label is expected to change predictions most: `Σ_y p(y|x)` of the mean share of probability that moves from one class to another (Freytag, Rodner and
/// Denzler, 2014, Selecting influential examples: active learning with expected model output changes).
#[derive(Clone, Default)]
pub struct ExpectedChange {
    trainer: Option<Arc<dyn Trainer>>,
}

impl ErrorReduction {
    /// By models that are trained with each label that each candidate may get: slow.
    pub fn by_training(trainer: Arc<dyn Trainer>) -> Self {
        Self { trainer: Some(trainer) }
    }
}

impl ExpectedChange {
    /// By models that are trained with each label that each candidate may get: slow.
    pub fn by_training(trainer: Arc<dyn Trainer>) -> Self {
        Self { trainer: Some(trainer) }
    }
}

impl Strategy for ErrorReduction {
    fn utilities(&mut self, situation: &Situation<'_>) -> Result<Vec<f64>> {
        expected(situation, self.trainer.as_deref(), |_, after| {
            let most = |proba: ArrayView1<'_, f64>| proba.iter().copied().fold(0.0, f64::max);
            after.rows().into_iter().map(most).sum::<f64>() / after.nrows().max(1) as f64
        })
    }

    fn n_candidates(&self) -> usize {
        if self.trainer.is_some() { MOST_TRAINED } else { 200 }
    }

    fn reason(&self, _situation: &Situation<'_>, _place: usize) -> String {
        "its label is expected to leave the fewest errors".into()
    }
}

impl Strategy for ExpectedChange {
    fn utilities(&mut self, situation: &Situation<'_>) -> Result<Vec<f64>> {
        expected(situation, self.trainer.as_deref(), |before, after| {
            let moved: f64 = before.iter().zip(after).map(|(a, b)| (a - b).abs()).sum();
            0.5 * moved / after.nrows().max(1) as f64
        })
    }

    fn n_candidates(&self) -> usize {
        if self.trainer.is_some() { MOST_TRAINED } else { 200 }
    }

    fn reason(&self, _situation: &Situation<'_>, _place: usize) -> String {
        "its label is expected to change predictions most".into()
    }
}

/// The expectation over the labels of each candidate of something of the predictions before and after.
fn expected(
    situation: &Situation<'_>,
    trainer: Option<&dyn Trainer>,
    of: impl Fn(&Array2<f64>, &Array2<f64>) -> f64 + Send + Sync,
) -> Result<Vec<f64>> {
    match trainer.filter(|_| situation.model().is_some()) {
        Some(trainer) => by_training(situation, trainer, of),
        None => Ok(by_kernel(situation, of)),
    }
}

/// By models trained on the labels there are and one more.
fn by_training(
    situation: &Situation<'_>,
    trainer: &dyn Trainer,
    of: impl Fn(&Array2<f64>, &Array2<f64>) -> f64 + Send + Sync,
) -> Result<Vec<f64>> {
    let Some(proba) = situation.proba() else { return Ok(vec![1.0; situation.candidates().len()]) };
    let pool = situation.pool();
    let step = situation.targets().len().div_ceil(MOST_TARGETS).max(1);
    let targets: Vec<usize> = situation.targets().iter().step_by(step).copied().collect();
    let x = pool.rows(&targets);
    let (alone, seed) = (situation.par().alone(), situation.seed());
    let rows = pool.training_rows()?;
    let before = trainer.train(&rows, seed, situation.par())?.predict_proba(x.view(), situation.par())?;
    let values = situation.par().map(situation.candidates().len(), |place| {
        let mut sum = 0.0;
        for (class, &p) in proba.row(place).iter().enumerate().filter(|(_, p)| **p > LEAST_PROBABLE) {
            let mut rows = rows.clone();
            let row = pool.features().select(&[situation.candidates()[place]]);
            let label = vec![ClassId(class as u32)];
            rows.append(&hedgerow_core::Dataset::new(pool.schema().clone(), row, label, None)?)?;
            let after = trainer.train(&rows, seed, &alone)?.predict_proba(x.view(), &alone)?;
            sum += p * of(&before, &after);
        }
        Ok(sum)
    });
    values.into_iter().collect()
}

/// By weighted counts of labels nearby: a label adds its kernel to the count of its class.
fn by_kernel(
    situation: &Situation<'_>,
    of: impl Fn(&Array2<f64>, &Array2<f64>) -> f64 + Send + Sync,
) -> Vec<f64> {
    let pool = situation.pool();
    let (candidates, targets) = (situation.placed_candidates(), situation.placed_targets());
    let weights = vec![1.0; pool.space().n_features()];
    let kernel = RankKernel::of_neighbors(targets, &weights);
    // Before two classes are known, another one may come.
    let n_classes = pool.schema().n_classes().max(2);
    let like = |from: &[f32], rows: &crate::space::Targets| -> Vec<f64> {
        let squares = rows.squared_distances(from, &weights);
        squares.into_iter().map(|square| f64::from(kernel.at(square))).collect()
    };
    let count = |rows: &crate::space::Targets| {
        let mut counts = Array2::from_elem((rows.len(), n_classes), PRIOR);
        let labelled = situation.placed_labelled();
        for (place, &row) in pool.labelled().iter().enumerate() {
            if let Some(class) = pool.label(row) {
                let mut own = counts.column_mut(class.index());
                own.iter_mut().zip(like(&labelled.row(place), rows)).for_each(|(own, k)| *own += k);
            }
        }
        counts
    };
    let shares = |counts: &Array2<f64>| {
        let mut shares = counts.clone();
        shares.rows_mut().into_iter().for_each(|mut row| {
            let sum = row.sum();
            row.mapv_inplace(|v| v / sum);
        });
        shares
    };
    let counts = count(targets);
    let before = shares(&counts);
    let own = match situation.proba().filter(|proba| proba.ncols() == n_classes) {
        Some(proba) => proba.to_owned(),
        None => shares(&count(candidates)),
    };
    situation.par().map(candidates.len(), |place| {
        let near = like(&candidates.row(place), targets);
        let probable = own.row(place).to_vec().into_iter().enumerate().filter(|(_, p)| *p > LEAST_PROBABLE);
        let value = |(class, p): (usize, f64)| {
            let mut counts = counts.clone();
            counts.column_mut(class).iter_mut().zip(&near).for_each(|(count, k)| *count += k);
            p * of(&before, &shares(&counts))
        };
        probable.map(value).sum()
    })
}
