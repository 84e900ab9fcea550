//! Committees: classifiers made of members that each predict alone.

use ndarray::{Array2, Array3, ArrayView2};

use crate::error::{Result, check_shapes};
use crate::par::Par;
use crate::traits::Classifier;

/// A classifier made of members that each predict alone, as the trees of a forest do. Where they disagree, more labels would help.
pub trait Committee: Classifier {
    /// How many members there are.
    fn n_members(&self) -> usize;

    /// What each member predicts for rows of the right width: member, row, class. Implementers may rely on the width; each prediction sums to 1.
    fn predict_members_impl(&self, x: ArrayView2<'_, f32>, par: &Par) -> Array3<f64>;

    /// A probability for every class of every row, by each member: member, row, class.
    fn predict_members(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Array3<f64>> {
        check_shapes([("feature columns", self.n_features(), x.ncols())])?;
        Ok(self.predict_members_impl(x, par))
    }

    /// The cell of every row in the partition of each member, as the leaves of trees are: a row each, a column for each member. None where members make no
    /// partition.
    fn cells(&self, _x: ArrayView2<'_, f32>, _par: &Par) -> Result<Option<Array2<u32>>> {
        Ok(None)
    }
}
