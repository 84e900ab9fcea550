//! Two classes, exactly: every training row takes part.
//!
//! Labels are +1 and −1. The latent function has a Gaussian-process prior; its posterior is not Gaussian, and is replaced by the
//! Gaussian with the same peak and curvature ([`Laplace`]) or with, as nearly as can be, the same moments ([`Ep`]).

mod ep;
mod laplace;
mod newton;

use hedgerow_core::saved::array;
use hedgerow_core::{Error, Par, Result};
use ndarray::{Array1, Array2, ArrayView2, s};
use serde::{Deserialize, Serialize};

pub use ep::Ep;
pub(crate) use ep::Sites;
pub use laplace::Laplace;

use crate::kernel::Kernel;
use crate::linalg::{Cholesky, on_rows};
use crate::regression::check_rows;

/// Rows that a thread fills at a time.
const ROWS: usize = 64;

/// What either method knows at the training rows: the mean elsewhere is kᵀα, the variance k** − |L⁻¹ R k|² with R = diag(root).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct BinaryPosterior {
    #[serde(with = "array")]
    pub(crate) alpha: Array1<f64>,
    #[serde(with = "array")]
    pub(crate) root: Array1<f64>,
    #[serde(skip)]
    pub(crate) factor: Cholesky,
    #[serde(skip)]
    pub(crate) log_evidence: f64,
}

fn check(kernel: &Kernel, x: ArrayView2<'_, f64>, y: &[f64]) -> Result<()> {
    check_rows(kernel, x, "labels", y.len())?;
    match y.iter().find(|y| y.abs() != 1.0) {
        Some(y) => Err(Error::param("labels", "+1 or -1", y)),
        None => Ok(()),
    }
}

/// The factor of I + R K R, R being the diagonal matrix of `root`: no eigenvalue is below 1. Only the lower half of K is read.
pub(crate) fn factor_of_one_and(k: &Array2<f64>, root: &Array1<f64>, par: &Par) -> Result<Cholesky> {
    let root = root.to_vec();
    Cholesky::robust_lower(root.len(), par, |b| {
        on_rows(b, ROWS, par, |first, mut rows| {
            for (i, mut to) in rows.rows_mut().into_iter().enumerate() {
                let row = first + i;
                let own = root[row];
                let from = k.slice(s![row, ..=row]);
                to.iter_mut().zip(from.iter().zip(&root)).for_each(|(b, (k, r))| *b = own * k * r);
                to[row] += 1.0;
            }
        });
    })
}

#[cfg(test)]
mod tests;
