//! What a regression needs to know about its rows, added up a block at a time.

use hedgerow_core::{Par, Result};
use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, s};

use super::{Refit, nearness, shares};
use crate::kernel::Kernel;
use crate::linalg::Cholesky;

/// Columns of A Aᵀ that a thread works on at a time.
const STRIPE: usize = 256;

/// Sums over rows, for rows that were chosen.
pub(crate) struct Sums {
    length: f64,
    kernel: Kernel,
    pub(super) wide: Array2<f64>,
    pub(super) lower: Cholesky,
    /// A Aᵀ, the lower half.
    pub(super) gram: Array2<f64>,
    /// A Y.
    pub(super) targets: Array2<f64>,
}

impl Sums {
    /// Nothing is added yet; `rows` are the chosen ones, and the kernel has this length.
    pub(crate) fn new(
        length: f64,
        kernel: Kernel,
        rows: Array2<f32>,
        n_classes: usize,
        par: &Par,
    ) -> Result<Self> {
        let wide = rows.mapv(f64::from);
        let mut own = kernel.matrix(wide.view(), par);
        own.diag_mut().iter_mut().for_each(|v| *v += 1e-6);
        let lower = Cholesky::robust(&own, par)?;
        let n = rows.nrows();
        let (gram, targets) = (Array2::zeros((n, n)), Array2::zeros((n, n_classes)));
        Ok(Self { length, kernel, wide, lower, gram, targets })
    }

    /// Rows of Aᵀ.
    pub(super) fn features(&self, x: ArrayView2<'_, f32>, par: &Par) -> Array2<f64> {
        let mut a = self.kernel.cross(x.mapv(f64::from).view(), self.wide.view(), par);
        self.lower.forward_rows(&mut a, par);
        a
    }

    /// Adds rows and what is to be fitted there.
    pub(crate) fn add(&mut self, x: ArrayView2<'_, f32>, y: ArrayView2<'_, f64>, par: &Par) {
        let a = self.features(x, par);
        add_products(&a, &mut self.gram, par);
        self.targets += &a.t().dot(&y);
    }

    /// (A Aᵀ + s² I), factored, and w, a row a class.
    pub(super) fn solved(&self, ridge: f64, par: &Par) -> Result<(Cholesky, Array2<f64>)> {
        let mut with_ridge = self.gram.clone();
        with_ridge.diag_mut().iter_mut().for_each(|v| *v += ridge);
        let factor = Cholesky::robust(&with_ridge, par)?;
        let mut w = self.targets.t().as_standard_layout().to_owned();
        factor.forward_rows(&mut w, par);
        factor.backward_rows(&mut w, par);
        Ok((factor, w))
    }

    /// The regression with one s². `y` is all that was fitted; `x` are some of the training rows.
    pub(crate) fn solve(
        &self,
        ridge: f64,
        y: ArrayView2<'_, f64>,
        x: ArrayView2<'_, f32>,
        par: &Par,
    ) -> Result<Refit> {
        let (_, mut w) = self.solved(ridge, par)?;
        self.lower.backward_rows(&mut w, par);
        let near = nearness(&self.kernel, x, self.wide.view(), par);
        Ok(Refit { weights: w.t().to_owned(), ridge, length: self.length, near, shares: shares(y) })
    }
}

/// The normal equations of a regression on basis rows, `(K_un K_nu + s² K_uu) w = K_un Y`, added up a block at a time.
pub(super) struct NormalEquations {
    kernel: Kernel,
    basis: Array2<f64>,
    own: Array2<f64>,
    /// `K_un K_nu`, the lower half, and `K_un Y`.
    gram: Array2<f64>,
    targets: Array2<f64>,
}

impl NormalEquations {
    pub(super) fn new(length: f64, basis: &Array2<f32>, n_classes: usize, par: &Par) -> Self {
        let (kernel, basis) = (Kernel::rbf(length), basis.mapv(f64::from));
        let mut own = kernel.matrix(basis.view(), par);
        own.diag_mut().iter_mut().for_each(|v| *v += 1e-6);
        let n = basis.nrows();
        let (gram, targets) = (Array2::zeros((n, n)), Array2::zeros((n, n_classes)));
        Self { kernel, basis, own, gram, targets }
    }

    /// Covariances of rows with the basis rows.
    pub(super) fn covariances(&self, x: ArrayView2<'_, f32>, par: &Par) -> Array2<f64> {
        self.kernel.cross(x.mapv(f64::from).view(), self.basis.view(), par)
    }

    pub(super) fn add(&mut self, x: ArrayView2<'_, f32>, y: ArrayView2<'_, f64>, par: &Par) {
        let a = self.covariances(x, par);
        add_products(&a, &mut self.gram, par);
        self.targets += &a.t().dot(&y);
    }

    /// A weight a class for each basis row.
    pub(super) fn solve(&self, ridge: f64, par: &Par) -> Result<Array2<f64>> {
        let mut matrix = self.gram.clone();
        matrix.scaled_add(ridge, &self.own);
        let factor = Cholesky::robust_in_place(matrix, par)?;
        let mut w = self.targets.t().as_standard_layout().to_owned();
        factor.forward_rows(&mut w, par);
        factor.backward_rows(&mut w, par);
        Ok(w.t().as_standard_layout().to_owned())
    }
}

/// Adds Aᵀ A (rows of `a` being those of Aᵀ, so this is A Aᵀ of the formula), the lower half of it: all that a factor needs.
fn add_products(a: &Array2<f64>, gram: &mut Array2<f64>, par: &Par) {
    let n = gram.ncols();
    let Some(values) = gram.as_slice_mut() else { return };
    par.for_chunks(values, STRIPE * n.max(1), |stripe, values| {
        let first = stripe * STRIPE;
        let n_rows = values.len() / n.max(1);
        let Ok(mut out) = ndarray::ArrayViewMut2::from_shape((n_rows, n), values) else { return };
        let end = first + n_rows;
        let (left, right) = (a.slice(s![.., first..end]), a.slice(s![.., ..end]));
        general_mat_mul(1.0, &left.t(), &right, 1.0, &mut out.slice_mut(s![.., ..end]));
    });
}
