//! One run: a strategy and a model on the rows of a seed.

use std::sync::Arc;

use hedgerow_core::metrics::auc;
use hedgerow_core::traits::most_probable;
use hedgerow_core::{Checked, ClassId, Par, Result};
use ndarray::Array2;

use super::SimulationParams;
use super::split::Split;
use crate::model::{QueryModel, Trainer};
use crate::params::QueryParams;
use crate::pool::Pool;
use crate::querier::Querier;
use crate::strategy::Strategy;

/// What a run came to.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Run {
    /// After so many labels.
    pub(super) labels: Vec<usize>,
    /// Accuracy on the test rows.
    pub(super) accuracy: Vec<f64>,
    /// Area under the ROC curve; a half where a model cannot rank.
    pub(super) auc: Vec<f64>,
    /// Rows of the table in the order in which they were labelled.
    pub(super) order: Vec<usize>,
}

impl Run {
    /// Runs to the end of the labels, or of the pool.
    pub(super) fn new(
        split: &Split,
        strategy: Box<dyn Strategy>,
        trainer: &Arc<dyn Trainer>,
        params: &SimulationParams,
        query: Checked<QueryParams>,
        par: &Par,
    ) -> Result<Self> {
        let truth = split.pool.labels();
        let features = split.pool.features.clone();
        let mut pool = Pool::new(split.pool.schema.clone(), features, vec![None; truth.len()])?;
        for &row in &split.start {
            pool.set_label(row, truth[row])?;
        }
        let mut querier = Querier::with_strategy(query, strategy);
        let mut run = Self::default();
        loop {
            par.check()?;
            let n_labels = pool.labelled().len();
            let model = train(&pool, trainer, split.seed, par)?;
            if n_labels > 0 {
                let (accuracy, auc) = measure(split, &pool, model.as_deref(), par)?;
                run.labels.push(n_labels);
                run.accuracy.push(accuracy);
                run.auc.push(auc);
            }
            let wanted = params.batch.min(params.labels.saturating_sub(n_labels));
            let queried = querier.query(&pool, model.as_deref(), wanted, par)?;
            if queried.is_empty() {
                break;
            }
            for row in queried {
                pool.set_label(row.row, truth[row.row])?;
            }
        }
        run.order = pool.labelled().iter().map(|&row| split.rows[row]).collect();
        Ok(run)
    }
}

/// A model of the labels there are, if they are of two classes. Its seed depends on the seed of the run and on how many labels there are.
fn train(
    pool: &Pool,
    trainer: &Arc<dyn Trainer>,
    seed: u64,
    par: &Par,
) -> Result<Option<Box<dyn QueryModel>>> {
    if !pool.has_two_classes() {
        return Ok(None);
    }
    let seed = seed.wrapping_mul(1 << 20).wrapping_add(pool.labelled().len() as u64);
    trainer.train(&pool.training_rows()?, seed, par).map(Some)
}

/// Accuracy on the test rows, and the area under the ROC curve. Where all labels are of one class, that class is predicted.
fn measure(split: &Split, pool: &Pool, model: Option<&dyn QueryModel>, par: &Par) -> Result<(f64, f64)> {
    let truth = split.test.labels();
    let Some(model) = model else {
        let counts = pool.class_counts();
        let known = ClassId(counts.iter().position(|count| *count > 0).unwrap_or(0) as u32);
        return Ok((share(truth.iter().map(|class| *class == known)), 0.5));
    };
    let x = split.test.features.to_array(0..truth.len());
    let proba = model.predict_proba(x.view(), par)?;
    let proba = widened(proba, split.test.schema.n_classes());
    let right = most_probable(proba.view()).into_iter().zip(truth).map(|(a, b)| a == *b);
    Ok((share(right), auc(proba.view(), truth).unwrap_or(0.5)))
}

/// Accuracy of a model of all labels of the pool.
pub(super) fn full_accuracy(split: &Split, trainer: &Arc<dyn Trainer>, par: &Par) -> Result<f64> {
    let labels = split.pool.labels().iter().copied().map(Some).collect();
    let pool = Pool::new(split.pool.schema.clone(), split.pool.features.clone(), labels)?;
    let model = train(&pool, trainer, split.seed, par)?;
    Ok(measure(split, &pool, model.as_deref(), par)?.0)
}

/// The same with a column for every class of the table.
fn widened(proba: Array2<f64>, n_classes: usize) -> Array2<f64> {
    if proba.ncols() >= n_classes {
        return proba;
    }
    let known = proba.ncols();
    Array2::from_shape_fn(
        (proba.nrows(), n_classes),
        |(row, class)| {
            if class < known { proba[(row, class)] } else { 0.0 }
        },
    )
}

/// The share that holds.
fn share(holds: impl ExactSizeIterator<Item = bool>) -> f64 {
    let n = holds.len().max(1) as f64;
    holds.filter(|holds| *holds).count() as f64 / n
}
