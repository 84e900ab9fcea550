//! One binary RVM, for models that put many of them together.

use hedgerow_core::{Budget, Par, Result};
use hedgerow_gp::Kernel;
use ndarray::{Array1, Array2};

use crate::design::Design;
use crate::params::RvmParams;
use crate::target::{Binary, Context, sigmoid};
use crate::train::train;

/// A binary RVM over its training rows. The score of a row is the log odds of the second class.
#[derive(Debug, Clone, PartialEq)]
pub struct BinaryRvm {
    /// The weight of the kernel around each row: 0 for those that are not relevant.
    pub weights: Array1<f64>,
    /// The weight of the constant.
    pub bias: f64,
    /// Leave-one-out scores of the rows, nearly: the mode without the row's own likelihood.
    pub leave_one_out: Array1<f64>,
}

impl BinaryRvm {
    /// Fits rows of two classes with a given kernel.
    pub fn fit(kernel: &Kernel, x: &Array2<f64>, is_one: &[bool], seed: u64) -> Result<Self> {
        let (par, n) = (Par::sequential(), x.nrows());
        let params = RvmParams { seed, ..RvmParams::default() };
        let design = Design { x, kernel };
        let context = Context { design, params: &params, budget: &Budget::open(), par: &par };
        let fit = train(&Binary { context, is_one, offsets: None }, None)?.fit;
        let mut weights = Array1::zeros(n + 1);
        fit.columns.iter().zip(&fit.mean).for_each(|(&column, w)| weights[column] = *w);
        let phi = design.centers(&fit.columns).values(kernel, x.view(), &par);
        let spread = phi.dot(&fit.covariance);
        let without = |i: usize| {
            let (score, variance) = (fit.scores[i], spread.row(i).dot(&phi.row(i)));
            let p = sigmoid(score);
            let wide = variance / (1.0 - p * (1.0 - p) * variance).max(1e-6);
            score - wide * (f64::from(u8::from(is_one[i])) - p)
        };
        let leave_one_out = (0..n).map(without).collect();
        let bias = weights[n];
        Ok(Self { weights: weights.slice_move(ndarray::s![..n]), bias, leave_one_out })
    }
}
