//! Two classes, exactly: every training row takes part.
//!
//! Labels are +1 and −1. The latent function has a Gaussian-process prior; its posterior is not Gaussian, and is replaced by the
//! Gaussian with the same peak and curvature (`laplace`) or with, as nearly as can be, the same moments (`ep`).

pub(crate) mod ep;
pub(crate) mod laplace;
mod newton;

use hedgerow_core::saved::array;
use hedgerow_core::{Error, Par, Result};
use ndarray::{Array1, Array2, ArrayView2, s};
use serde::{Deserialize, Serialize};

pub(crate) use ep::Sites;

use crate::kernel::Kernel;
use crate::likelihood::Likelihood;
use crate::linalg::{Cholesky, on_rows};
use crate::regression::{Known, Normal, check_rows};

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

/// A classifier of two classes.
#[derive(Debug, Clone, PartialEq)]
pub struct BinaryGp {
    kernel: Kernel,
    likelihood: Likelihood,
    x: Array2<f64>,
    posterior: BinaryPosterior,
}

impl BinaryGp {
    /// Learns labels (+1 or −1) of rows by Laplace's method.
    pub fn laplace(
        kernel: Kernel,
        likelihood: Likelihood,
        x: ArrayView2<'_, f64>,
        y: &[f64],
        par: &Par,
    ) -> Result<Self> {
        check(&kernel, x, y)?;
        let (posterior, _) = laplace::posterior(likelihood, &kernel.lower(x, par), y, par)?;
        Ok(Self { kernel, likelihood, x: x.to_owned(), posterior })
    }

    /// The same by expectation propagation, with the probit likelihood.
    pub fn ep(kernel: Kernel, x: ArrayView2<'_, f64>, y: &[f64], par: &Par) -> Result<Self> {
        check(&kernel, x, y)?;
        let posterior = ep::posterior(&kernel.matrix(x, par), y, par)?;
        Ok(Self { kernel, likelihood: Likelihood::Probit, x: x.to_owned(), posterior })
    }

    /// What each row counts: the mean of the latent value at a row is its covariances with them times these.
    pub fn weights(&self) -> &Array1<f64> {
        &self.posterior.alpha
    }

    /// How sharply the likelihood is curved at the peak, or the precision of the site, for each row.
    pub fn curvatures(&self) -> Array1<f64> {
        self.posterior.root.mapv(|root| root * root)
    }

    /// The logarithm of the probability of the labels, as far as the Gaussian is right.
    pub fn log_evidence(&self) -> f64 {
        self.posterior.log_evidence
    }

    /// What is known about the latent values at other rows.
    pub fn latent(&self, x: ArrayView2<'_, f64>, par: &Par) -> Result<Normal> {
        let BinaryPosterior { alpha, root, factor, .. } = &self.posterior;
        Known { kernel: &self.kernel, x: self.x.view(), alpha, root: Some(root), factor }.at(x, par)
    }

    /// The probability of +1 for each row.
    pub fn probability(&self, x: ArrayView2<'_, f64>, par: &Par) -> Result<Array1<f64>> {
        let Normal { mean, variance } = self.latent(x, par)?;
        Ok(mean.iter().zip(&variance).map(|(&m, &v)| self.likelihood.probability(m, v)).collect())
    }
}

fn check(kernel: &Kernel, x: ArrayView2<'_, f64>, y: &[f64]) -> Result<()> {
    check_rows(kernel, x, "labels", y.len())?;
    check_signs(y)
}

/// Fails unless every label is +1 or −1.
pub(crate) fn check_signs<'a>(y: impl IntoIterator<Item = &'a f64>) -> Result<()> {
    let wrong = y.into_iter().find(|y| y.abs() != 1.0);
    wrong.map_or(Ok(()), |y| Err(Error::param("labels", "+1 or -1", y)))
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
