//! The normal equations of a regression on basis rows, `(K_un K_nu + s² K_uu) w = K_un Y`, added up a block of rows at a time.

use hedgerow_core::{Par, Result};
use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, Axis, s};

use crate::kernel::Kernel;
use crate::linalg::{Cholesky, lower_part, mat_mul, on_rows};

/// What is added to the diagonal of `K_uu`: basis rows may be alike.
const JITTER: f64 = 1e-6;
/// Columns of `K_un K_nu` that a thread works on at a time.
const STRIPE: usize = 256;

/// The sums of the equations, for any ridge s².
pub(super) struct NormalEquations {
    kernel: Kernel,
    basis: Array2<f64>,
    /// `K_uu`.
    own: Array2<f64>,
    /// `K_un K_nu`, the lower half.
    gram: Array2<f64>,
    /// `K_un Y`.
    targets: Array2<f64>,
}

impl NormalEquations {
    /// Nothing is added yet; the kernel has this length scale.
    pub(super) fn new(length: f64, basis: &Array2<f32>, n_classes: usize, par: &Par) -> Self {
        let (kernel, basis) = (Kernel::rbf(length), basis.mapv(f64::from));
        let mut own = kernel.matrix(basis.view(), par);
        own.diag_mut().iter_mut().for_each(|v| *v += JITTER);
        let n = basis.nrows();
        let (gram, targets) = (Array2::zeros((n, n)), Array2::zeros((n, n_classes)));
        Self { kernel, basis, own, gram, targets }
    }

    /// Covariances of rows with the basis rows.
    pub(super) fn covariances(&self, x: ArrayView2<'_, f32>, par: &Par) -> Array2<f64> {
        self.kernel.cross(x.mapv(f64::from).view(), self.basis.view(), par)
    }

    /// Adds rows, by their covariances, and what is to be fitted there; with a sign of −1 they are taken away again.
    pub(super) fn add(&mut self, sign: f64, covariances: &Array2<f64>, y: ArrayView2<'_, f64>, par: &Par) {
        on_rows(&mut self.gram, STRIPE, par, |first, mut rows| {
            let end = first + rows.nrows();
            let (left, right) = (covariances.slice(s![.., first..end]), covariances.slice(s![.., ..end]));
            general_mat_mul(sign, &left.t(), &right, 1.0, &mut rows.slice_mut(s![.., ..end]));
        });
        self.targets.scaled_add(sign, &mat_mul(covariances.t(), y, par));
    }

    /// The same equations of fewer basis rows, by their places, which rise.
    pub(super) fn part(&self, places: &[usize], par: &Par) -> Self {
        Self {
            kernel: self.kernel.clone(),
            basis: self.basis.select(Axis(0), places),
            own: lower_part(&self.own, places, par),
            gram: lower_part(&self.gram, places, par),
            targets: self.targets.select(Axis(0), places),
        }
    }

    /// The factor of `K_un K_nu + s² K_uu`, and a weight a class for each basis row.
    pub(super) fn solve(&self, ridge: f64, par: &Par) -> Result<(Cholesky, Array2<f64>)> {
        let factor = Cholesky::robust_lower(self.gram.nrows(), par, |matrix| {
            on_rows(matrix, STRIPE, par, |first, mut rows| {
                for (i, mut row) in rows.rows_mut().into_iter().enumerate() {
                    let lower = s![first + i, ..=first + i];
                    let mut row = row.slice_mut(s![..=first + i]);
                    row.assign(&self.gram.slice(lower));
                    row.scaled_add(ridge, &self.own.slice(lower));
                }
            });
        })?;
        let mut w = self.targets.t().as_standard_layout().to_owned();
        factor.forward_rows(&mut w, par);
        factor.backward_rows(&mut w, par);
        Ok((factor, w.t().as_standard_layout().to_owned()))
    }
}
