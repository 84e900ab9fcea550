//! All labels once a few rows are chosen: a regression of all rows on the active rows of all classes (subset of regressors: Quiñonero-Candela &
//! Rasmussen, 2005, A unifying view of sparse approximate Gaussian process regression).
//!
//! ```text
//! M = K_un K_nu + s² K_uu,   w = M⁻¹ K_un Y,   score(x) = k(x, U) w
//! ```
//!
//! Leave-one-out scores come for free: with `h_i = k_iᵀ M⁻¹ k_i` that of row i is `(f_i − h_i y_i)/(1 − h_i)`. `equations` adds up `M`, `fitter` fits one
//! regression, `folds` scores rows by regressions that have never met them, `search` looks for rows, ridge and length scale.

mod equations;
mod fitter;
mod folds;
mod search;

use hedgerow_core::saved::{array, require};
use hedgerow_core::{Calibration, ClassId, Par, Result};
use ndarray::{Array2, ArrayView1, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use crate::kernel::Kernel;

pub(crate) use fitter::{Fitter, MOST_VALIDATION};
pub(crate) use search::{Freedom, Refitted, RegressionSearch};

/// s² that are tried, for labels 2 apart and a kernel of variance 1: the more noise in the labels, the larger the best.
pub const RIDGES: [f64; 4] = [0.003, 0.03, 0.3, 3.0];
/// Training rows taken in together.
pub(crate) const BLOCK: usize = 2048;

/// Scores of all classes from one set of rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Refit {
    /// w: a column a class.
    #[serde(with = "array")]
    pub weights: Array2<f64>,
    /// s².
    pub ridge: f64,
    /// Length scale of its kernel: all labels together allow a shorter one than the IVMs that chose the rows.
    pub length: f64,
    /// Nearly all training rows have a covariance at least this large with an active row other than themselves.
    pub near: f64,
    /// The share of each class among the training rows.
    #[serde(with = "array")]
    pub shares: Vec<f64>,
}

impl Refit {
    /// Probabilities of all classes for rows with these covariances with the chosen ones. A class that is not known has no score.
    pub fn predict(
        &self,
        covariances: &Array2<f64>,
        calibration: &Calibration,
        n_classes: usize,
        is_known: impl Fn(usize) -> bool,
    ) -> Array2<f64> {
        let known = covariances.dot(&self.weights);
        let mut proba = Array2::from_elem((covariances.nrows(), n_classes), f64::NEG_INFINITY);
        for (class, from) in known.columns().into_iter().enumerate().filter(|(class, _)| is_known(*class)) {
            proba.column_mut(class).assign(&from);
        }
        for (mut row, covariances) in proba.rows_mut().into_iter().zip(covariances.rows()) {
            if let Some(row) = row.as_slice_mut() {
                calibration.apply(row);
                self.doubt(row, covariances);
            }
        }
        proba
    }

    /// Fails unless it is a regression of so many rows and classes.
    pub fn check(&self, n_rows: usize, n_classes: usize) -> Result<()> {
        let is_share = |v: &f64| (0.0..=1.0).contains(v);
        let fits = self.weights.dim() == (n_rows, n_classes)
            && self.weights.iter().all(|w| w.is_finite())
            && [self.ridge, self.length].iter().all(|v| *v > 0.0 && v.is_finite())
            && is_share(&self.near)
            && self.shares.len() == n_classes
            && self.shares.iter().all(is_share);
        require(fits, || {
            format!("expected {n_rows} rows of {n_classes} weights, a ridge, a length and shares")
        })
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        8 * (self.weights.len() + self.shares.len())
    }

    /// Draws the probabilities of a row towards the shares of the classes if it is farther from all active rows than training rows
    /// are: there the prediction of a regression means nothing.
    fn doubt(&self, row: &mut [f64], covariances: ArrayView1<'_, f64>) {
        let nearest = covariances.iter().copied().fold(0.0, f64::max);
        if nearest >= self.near {
            return;
        }
        let trust = nearest / self.near;
        let shares = self.shares.iter().copied().chain(std::iter::repeat(0.0));
        row.iter_mut().zip(shares).for_each(|(p, share)| *p = trust * *p + (1.0 - trust) * share);
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|p| *p /= sum);
    }
}

/// Labels as ±1, a column a class, less their means: a class that is rare would otherwise use up most of a regression, and far from all
/// rows, class frequencies are predicted.
pub fn centered_signs(labels: &[ClassId], n_classes: usize) -> Array2<f64> {
    let sign = |(row, class): (usize, usize)| if labels[row].index() == class { 1.0 } else { -1.0 };
    let mut signs = Array2::from_shape_fn((labels.len(), n_classes), sign);
    for mut column in signs.columns_mut() {
        let mean = column.sum() / labels.len().max(1) as f64;
        column -= mean;
    }
    signs
}

/// The share of each class among the rows, whose labels are above 0 for their own class.
fn shares(y: ArrayView2<'_, f64>) -> Vec<f64> {
    let share = |column: ArrayView1<'_, f64>| {
        let n_own = column.iter().filter(|y| **y > 0.0).count() as f64;
        (n_own + 1.0) / (column.len() + y.ncols()) as f64
    };
    y.columns().into_iter().map(share).collect()
}

/// The covariance with the nearest active row that 99 of 100 of the given rows exceed.
pub fn nearness<T: Copy + Into<f64>>(
    kernel: &Kernel,
    x: ArrayView2<'_, T>,
    rows: ArrayView2<'_, f64>,
    par: &Par,
) -> f64 {
    const MOST: usize = 1000;
    let n = x.nrows();
    let some: Vec<usize> = (0..n).step_by(n.div_ceil(MOST).max(1)).collect();
    let covariances = kernel.cross(x.select(Axis(0), &some).mapv(Into::into).view(), rows, par);
    // A covariance of 1 is that of a row with itself, or of one that is equal.
    let nearest =
        |row: ArrayView1<'_, f64>| row.iter().copied().filter(|v| *v < 1.0 - 1e-9).fold(0.0, f64::max);
    let mut values: Vec<f64> = covariances.rows().into_iter().map(nearest).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 100).copied().unwrap_or(0.0)
}
