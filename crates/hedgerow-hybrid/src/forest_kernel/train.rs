//! Training with the leaves of a forest, and how it is judged.
//!
//! Trees know the rows they were grown from: two such rows share leaves because their labels are the same, and answers that a row gets without its own label
//! would still be too sure. So noise and calibration are found on rows that neither a forest nor the process over it had seen: a fifth of the
//! rows is left out, a forest grown from the others, and so on until there are enough such rows.

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{
    Budget, ClassId, Classifier as _, Dataset, Error, Folds, Params as _, Result, Silent, Training,
};
use hedgerow_forest::Forest;
use hedgerow_gp::calibration::Calibration;
use ndarray::{Array2, Axis};
use serde::{Deserialize, Serialize};

use super::leaves::Leaves;
use super::params::{ForestKernelParams, KernelLearner};
use super::process;
use super::scores::LeafScores;
use super::sparse::{self, MOST_CANDIDATES, Sums};
use crate::blend::{Blend, Pair};

/// Variances of the noise that are tried, the largest first: each is the first guess for the next.
pub(super) const NOISES: [f64; 3] = [10.0, 1.0, 0.1];
/// Rows are left out in parts of this number, as many of them as give enough rows.
const FOLDS: usize = 5;
const ENOUGH_JUDGES: usize = 1500;
/// Rows of a part that judge, at most.
const MOST_JUDGES: usize = 5000;

/// What rows that nobody had seen have decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Verdict {
    /// Variance of the noise.
    pub(super) noise: f64,
    /// From scores to probabilities.
    pub(super) calibration: Calibration,
    /// How far forest and process are trusted; none if the process answers alone.
    pub(super) blend: Option<Blend>,
}

impl Verdict {
    pub(super) fn is_valid(&self) -> bool {
        self.noise.is_finite()
            && self.noise > 0.0
            && self.calibration.is_valid()
            && self.blend.is_none_or(Blend::is_valid)
    }
}

/// Finds noise and calibration. None if the budget was spent before a part of the rows was through.
pub(super) fn judge(
    data: &Dataset,
    params: &ForestKernelParams,
    training: &Training<'_>,
) -> Result<Option<Verdict>> {
    let noises = if params.noise_variance > 0.0 { vec![params.noise_variance] } else { NOISES.to_vec() };
    let folds = Folds::new(data.n_rows(), FOLDS, Rng::new(params.seed, Purpose::Judge, 1));
    let mut tables: Vec<Vec<Array2<f64>>> = vec![Vec::new(); noises.len()];
    let mut of_forests: Vec<Array2<f64>> = Vec::new();
    let mut labels: Vec<ClassId> = Vec::new();
    for fold in 0..folds.n_with(ENOUGH_JUDGES) {
        if training.budget.spent().is_some() {
            break;
        }
        let [kept, mut left] = folds.cut(fold);
        let kept = data.select(&kept);
        left = left.iter().copied().step_by(left.len().div_ceil(MOST_JUDGES).max(1)).collect();
        if kept.check_trainable().is_err() {
            continue;
        }
        let quiet = Training { observer: &Silent, ..*training };
        let forest = Forest::fit(&kept, &params.forest_params().check()?, &quiet)?.forest;
        if training.budget.spent().is_some() {
            break;
        }
        let scores = learn(&forest, &kept, params, &noises, training)?;
        let x = data.features.select(&left);
        let x = x.to_array(0..left.len());
        for (scores, tables) in scores.iter().zip(&mut tables) {
            tables.push(known(scores.of(&forest, x.view(), training.par)?, &kept.labels));
        }
        of_forests.push(forest.predict_proba(x.view(), training.par)?);
        labels.extend(left.iter().map(|&row| data.labels[row]));
    }
    let mut best: Option<(f64, Array2<f64>, Verdict)> = None;
    for (noise, tables) in noises.into_iter().zip(tables) {
        let views: Vec<_> = tables.iter().map(|table| table.view()).collect();
        let Ok(scores) = ndarray::concatenate(Axis(0), &views) else { return Ok(None) };
        let calibration = Calibration::fit(&scores, &labels, training.par);
        let loss = calibration.loss(&scores, &labels);
        if best.as_ref().is_none_or(|(least, ..)| loss < *least) {
            best = Some((loss, scores, Verdict { noise, calibration, blend: None }));
        }
    }
    Ok(best.map(|(_, mut scores, mut verdict)| {
        scores.rows_mut().into_iter().for_each(|mut row| {
            row.as_slice_mut().into_iter().for_each(|row| verdict.calibration.apply(row));
        });
        verdict.blend = params.blend.then(|| blend(&of_forests, &scores, &labels));
        verdict
    }))
}

/// How far forests, whose answers come one table after the other, and processes are trusted by rows that neither had seen.
pub(super) fn blend(of_forests: &[Array2<f64>], of_processes: &Array2<f64>, labels: &[ClassId]) -> Blend {
    let rows = |table: &Array2<f64>| table.rows().into_iter().map(|row| row.to_vec()).collect::<Vec<_>>();
    let forests: Vec<Vec<f64>> = of_forests.iter().flat_map(rows).collect();
    let processes = rows(of_processes);
    let pairs = forests.iter().zip(&processes).zip(labels);
    let pairs: Vec<Pair<'_>> =
        pairs.map(|((forest, machine), class)| Pair { forest, machine, class: *class }).collect();
    Blend::fit(&pairs)
}

/// Lets a process learn rows by the leaves of a forest, once for each noise.
pub(super) fn learn(
    forest: &Forest,
    data: &Dataset,
    params: &ForestKernelParams,
    noises: &[f64],
    training: &Training<'_>,
) -> Result<Vec<LeafScores>> {
    let par = training.par;
    let leaves = Leaves::new(forest, &data.features, par)?;
    let y = centered_signs(&data.labels, data.schema.n_classes());
    if params.learner == KernelLearner::Ivm {
        let chosen = sparse::choose(&leaves, &data.labels, params.n_active, params.seed, training);
        let chosen = unless_stopped(chosen, training)?;
        let sums = Sums::new(&leaves, &chosen, &y, training)?;
        let each = noises.iter().map(|noise| {
            let weights = unless_stopped(sums.solve(*noise, training), training)?;
            Ok(LeafScores::new(forest, &leaves, &chosen, &weights, par))
        });
        return each.collect();
    }
    let all: Vec<usize> = (0..data.n_rows()).collect();
    let mut found: Vec<LeafScores> = Vec::with_capacity(noises.len());
    let mut alpha = None;
    for noise in noises {
        let next = process::solve(&leaves, &y, *noise, alpha.take(), par, training.budget);
        let next = next.ok_or(Error::Interrupted)?;
        found.push(LeafScores::new(forest, &leaves, &all, &next, par));
        alpha = Some(next);
    }
    Ok(found)
}

/// Half of the time that is left.
pub(super) fn half_of_time(budget: &Budget) -> Budget {
    let now = std::time::Instant::now();
    let half = |end: std::time::Instant| now + end.saturating_duration_since(now) / 2;
    Budget { deadline: budget.deadline.map(half), ..budget.clone() }
}

/// Bytes that a process takes to learn: for each row, and beside that.
pub(super) fn bytes_needed(params: &ForestKernelParams, n_features: usize, n_classes: usize) -> [u64; 2] {
    let n_trees = params.forest.n_trees.max(1);
    // Leaves, five tables of labels, what the leaves say (a leaf for every other row and tree), and a copy of the row.
    let of_leaves = n_trees * (8 + 8 * n_classes) / 2;
    let of_row = Leaves::bytes_a_row(n_trees) + 40 * n_classes + of_leaves + 4 * n_features;
    let of_choice = if params.learner == KernelLearner::Ivm {
        let n_union = (params.n_active * n_classes).min(MOST_CANDIDATES);
        16 * MOST_CANDIDATES * MOST_CANDIDATES + 24 * n_union * n_union
    } else {
        0
    };
    [of_row as u64, of_choice as u64]
}

/// What came of work that was not wanted any more is good for nothing, errors included.
fn unless_stopped<T>(result: Result<T>, training: &Training<'_>) -> Result<T> {
    if training.par.is_stopped() { Err(Error::Interrupted) } else { result }
}

/// Scores of classes that have rows; others have none.
pub(super) fn known(mut scores: Array2<f64>, labels: &[ClassId]) -> Array2<f64> {
    for (class, mut column) in scores.columns_mut().into_iter().enumerate() {
        if !labels.iter().any(|label| label.index() == class) {
            column.fill(f64::NEG_INFINITY);
        }
    }
    scores
}

/// Labels as ±1, a column a class, less their means.
pub(super) fn centered_signs(labels: &[ClassId], n_classes: usize) -> Array2<f64> {
    let sign = |(row, class): (usize, usize)| if labels[row].index() == class { 1.0 } else { -1.0 };
    let mut signs = Array2::from_shape_fn((labels.len(), n_classes), sign);
    for mut column in signs.columns_mut() {
        let mean = column.sum() / labels.len().max(1) as f64;
        column.iter_mut().for_each(|v| *v -= mean);
    }
    signs
}
