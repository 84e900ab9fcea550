//! Two classes, exactly: every training row takes part.
//!
//! Labels are +1 and −1. The latent function has a Gaussian-process prior; its posterior is not Gaussian, and is replaced by the
//! Gaussian with the same peak and curvature ([`Laplace`]) or with, as nearly as can be, the same moments ([`Ep`]).

mod ep;
mod laplace;

use hedgerow_core::{Error, Par, Result};
use ndarray::{Array1, Array2, ArrayView2};

pub use ep::Ep;
pub(crate) use ep::Sites;
pub use laplace::Laplace;

use crate::kernel::Kernel;
use crate::linalg::Cholesky;

fn check(kernel: &Kernel, x: ArrayView2<'_, f64>, y: &[f64]) -> Result<()> {
    kernel.check(x.ncols())?;
    if x.nrows() != y.len() {
        return Err(Error::Shape { what: "labels", expected: x.nrows(), got: y.len() });
    }
    if x.nrows() == 0 {
        return Err(Error::NoRows);
    }
    match y.iter().find(|y| y.abs() != 1.0) {
        Some(y) => Err(Error::param("labels", "+1 or -1", y)),
        None => Ok(()),
    }
}

/// The factor of I + R K R, R being the diagonal matrix of `root`: no eigenvalue is below 1.
fn factor_of_one_and(k: &Array2<f64>, root: &Array1<f64>, par: &Par) -> Result<Cholesky> {
    let mut b = k * root;
    for (i, mut row) in b.rows_mut().into_iter().enumerate() {
        row *= root[i];
        row[i] += 1.0;
    }
    Cholesky::robust(&b, par)
}

#[cfg(test)]
mod tests;
