//! One machine for two classes, for models that put many of them together.

use hedgerow_core::{Budget, Par, Result};
use hedgerow_gp::Kernel;
use ndarray::{Array1, ArrayView2};

use crate::design::Design;
use crate::machine::{Binary, sigmoid};
use crate::params::RvmParams;
use crate::train::train;

/// What a machine makes of rows of two classes.
#[derive(Debug, Clone, PartialEq)]
pub struct Expert {
    /// What each row counts: 0 for those that are not relevant.
    pub weights: Array1<f64>,
    /// What is added.
    pub bias: f64,
    /// Scores that rows would have without their own labels, nearly: the peak without the row's own factor.
    pub without_each: Array1<f64>,
}

/// Trains a machine. The score of a row is the log odds of the second class.
pub fn expert(kernel: &Kernel, x: ArrayView2<'_, f64>, is_one: &[bool], seed: u64) -> Result<Expert> {
    let (par, n) = (Par::sequential(), x.nrows());
    let options = RvmParams { seed, ..RvmParams::default() }.options();
    let design = Design { x, kernel };
    let task = Binary { design, is_one, offsets: None, options: &options };
    let model = train(&task, None, &Budget::open(), &par)?.model;
    let mut weights = Array1::zeros(n + 1);
    model.columns.iter().zip(&model.mean).for_each(|(&column, w)| weights[column] = *w);
    let phi = design.centers(&model.columns).values(kernel, x, &par);
    let spread = phi.dot(&model.covariance);
    let without = |i: usize| {
        let (score, variance) = (model.scores[i], spread.row(i).dot(&phi.row(i)));
        let p = sigmoid(score);
        let wide = variance / (1.0 - p * (1.0 - p) * variance).max(1e-6);
        score - wide * (f64::from(u8::from(is_one[i])) - p)
    };
    let without_each = (0..n).map(without).collect();
    let bias = weights[n];
    Ok(Expert { weights: weights.slice_move(ndarray::s![..n]), bias, without_each })
}
