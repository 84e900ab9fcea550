//! What a Gaussian process believes before its likelihood: latent values with their variances.

use ndarray::{Array2, ArrayView2};

use crate::error::{Result, check_shapes};
use crate::par::Par;
use crate::traits::Classifier;

/// A Gaussian process's latent values: a row each, a column for each latent function (one for each class with rows against the rest, or one for two
/// classes).
#[derive(Debug, Clone, PartialEq)]
pub struct Latent {
    /// Their means, with what is added to them before the likelihood.
    pub mean: Array2<f64>,
    /// Their variances, without noise.
    pub variance: Array2<f64>,
}

/// A classifier whose predictions come from latent values of a Gaussian process.
pub trait LatentProcess: Classifier {
    /// The latent values of rows of the right width. Implementers may rely on the width.
    fn predict_latent_impl(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Latent>;

    /// The latent values of every row.
    fn predict_latent(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Latent> {
        check_shapes([("feature columns", self.n_features(), x.ncols())])?;
        self.predict_latent_impl(x, par)
    }
}
