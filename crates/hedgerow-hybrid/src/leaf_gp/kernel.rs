//! The kernel of leaves: `k(x, y) = variance · exp(−|x − y|²/2l²)`.
//!
//! Distances are computed once for a leaf, in single precision, and serve every length scale that is tried.

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

/// Length scale, signal variance and noise variance.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LeafKernel {
    /// The length scale l.
    pub length_scale: f64,
    /// The signal variance.
    pub signal_variance: f64,
    /// The noise variance.
    pub noise_variance: f64,
}

impl LeafKernel {
    /// Stands for a kernel as long as no leaf has a GP: scores do not depend on it.
    pub(super) const START: Self = Self { length_scale: 1.0, signal_variance: 1.0, noise_variance: 0.01 };

    /// Whether all its numbers are possible ones.
    pub(super) fn is_valid(&self) -> bool {
        let numbers = [self.length_scale, self.signal_variance, self.noise_variance];
        numbers.iter().all(|v| v.is_finite() && *v > 0.0)
    }

    /// The covariances for squared distances.
    pub(super) fn covariances(&self, squares: &Array2<f32>) -> Array2<f64> {
        let factor = -0.5 / (self.length_scale * self.length_scale);
        squares.mapv(|square| self.signal_variance * libm::exp(factor * f64::from(square)))
    }
}

/// Squared distances between rows of `a` and rows of `b`; infinite where numbers overflow.
pub(super) fn squares(a: ArrayView2<'_, f32>, b: ArrayView2<'_, f32>) -> Array2<f32> {
    let norms = |x: ArrayView2<'_, f32>| x.map_axis(Axis(1), |row| row.dot(&row));
    let (of_a, of_b) = (norms(a), norms(b));
    let mut out = Array2::zeros((a.nrows(), b.nrows()));
    general_mat_mul(-2.0, &a, &b.t(), 0.0, &mut out);
    for (mut row, own) in out.rows_mut().into_iter().zip(&of_a) {
        for (value, other) in row.iter_mut().zip(&of_b) {
            let square = own + other + *value;
            *value = if square.is_finite() { square.max(0.0) } else { f32::INFINITY };
        }
    }
    out
}

/// The same between all pairs of some rows: 0 for a row and itself.
pub(super) fn squares_within(x: ArrayView2<'_, f32>) -> Array2<f32> {
    let mut out = squares(x, x);
    for i in 0..out.nrows() {
        out[(i, i)] = 0.0;
        // Rounding may differ between the two halves.
        for j in 0..i {
            out[(i, j)] = out[(j, i)];
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn distances_are_those_of_the_definition() {
        let (a, b) = (array![[0.0_f32, 1.0], [2.0, -1.0]], array![[0.0_f32, 0.0], [2.0, -1.0], [3e38, 0.0]]);
        let found = squares(a.view(), b.view());
        assert_eq!(found.row(0).to_vec(), [1.0, 8.0, f32::INFINITY]);
        assert_eq!(found.row(1).to_vec(), [5.0, 0.0, f32::INFINITY]);
        let within = squares_within(b.view());
        assert_eq!(within, within.t());
        assert_eq!(within.diag().to_vec(), [0.0; 3]);
        let kernel = LeafKernel { length_scale: 2.0, signal_variance: 3.0, noise_variance: 0.1 };
        let k = kernel.covariances(&found);
        assert!((k[(0, 1)] - 3.0 * (-1.0_f64).exp()).abs() < 1e-12);
        assert_eq!((k[(0, 2)], k[(1, 1)]), (0.0, 3.0));
    }
}
