//! Outlier scores of a model: how unlike the rows that it has learnt a row is.
//!
//! One piece serves all kinds of model. [`ReferenceRows`], a bounded sample of the rows learnt, are kept with a model; [`OutlierScorer`] follows
//! from them when a score is first asked for. A row is strange if its distance to the nearest reference rows is large beside theirs
//! to each other (Ramaswamy, Rastogi and Shim, 2000, Efficient algorithms for mining outliers), and if the model is uncertain of it beside its
//! out-of-sample predictions for them (Hendrycks and Gimpel, 2017, A baseline for detecting misclassified and out-of-distribution examples). Both are
//! put on one scale by the ranks of the reference rows, and so is their sum: of known rows, a share of 1 − s scores above s.
//! `docs/math/outliers.md` has the formulae.

mod directions;
mod known;
mod reference;
mod scorer;
mod space;

use ndarray::ArrayView2;

pub use reference::ReferenceRows;
pub use scorer::OutlierScorer;

use crate::error::{Result, check_shapes};
use crate::par::Par;

/// What scores rows by how unlike they are to rows that it knows.
pub trait OutlierScore: Send + Sync {
    /// Columns a row must have.
    fn n_features(&self) -> usize;

    /// The scores of rows of the right width. Implementers may rely on that, and return one from 0 to 1 for each row, which does not depend on the other
    /// rows; a larger one is stranger.
    fn outlier_score_impl(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Vec<f64>>;

    /// How unlike the known rows each row is: from 0 to 1, larger is stranger.
    fn outlier_score(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Vec<f64>> {
        check_shapes([("feature columns", self.n_features(), x.ncols())])?;
        self.outlier_score_impl(x, par)
    }
}

#[cfg(test)]
mod tests;
