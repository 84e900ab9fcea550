//! A trained IVM for two classes.

use hedgerow_core::{Par, Result};
use ndarray::{Array1, Array2, ArrayView2};

use super::learnt::Sites;
use crate::kernel::Kernel;
use crate::linalg::Cholesky;
use crate::regression::{Known, Normal};
use crate::special::normal_cdf;

/// A binary classifier made of its active set only.
#[derive(Debug, Clone, PartialEq)]
pub struct Ivm {
    pub(super) kernel: Kernel,
    /// Added to the latent value: the prior of the two classes.
    pub(super) bias: f64,
    /// The active rows, in the order in which they joined.
    pub(super) x: Array2<f64>,
    /// Means and precisions of their sites.
    pub(super) means: Array1<f64>,
    pub(super) precisions: Array1<f64>,
    /// Of K + diag(1/precision).
    pub(super) factor: Cholesky,
    /// (K + diag(1/precision))⁻¹ means.
    pub(super) alpha: Array1<f64>,
}

impl Ivm {
    /// An IVM from active rows and their sites.
    pub(super) fn new(kernel: Kernel, sites: &Sites, x: Array2<f64>, par: &Par) -> Result<Self> {
        let (means, precisions) = (Array1::from(sites.means.clone()), Array1::from(sites.precisions.clone()));
        let mut covariance = kernel.matrix(x.view(), par);
        covariance.diag_mut().iter_mut().zip(&precisions).for_each(|(v, precision)| *v += 1.0 / precision);
        let factor = Cholesky::robust(&covariance, par)?;
        let alpha = factor.solve(means.view());
        Ok(Self { kernel, bias: sites.bias, x, means, precisions, factor, alpha })
    }

    /// The bias.
    pub fn bias(&self) -> f64 {
        self.bias
    }

    /// Means and precisions of the sites of the active rows.
    pub fn sites(&self) -> (&Array1<f64>, &Array1<f64>) {
        (&self.means, &self.precisions)
    }

    /// What each active row counts: the mean of the latent value at a row is its covariances with them times these.
    pub fn weights(&self) -> &Array1<f64> {
        &self.alpha
    }

    /// The log marginal likelihood of the active rows under the sites that ADF gave them: −½ log|A| − ½ mᵀA⁻¹m − (d/2) log 2π, with site means m and
    /// A = K + diag(1/precision).
    pub fn log_evidence(&self) -> f64 {
        self.known().log_density(&self.means)
    }

    /// Its derivatives with respect to the kernel's parameters, sites and active rows held: ½ tr((ααᵀ − A⁻¹) ∂K), α = A⁻¹m.
    pub fn evidence_gradient(&self, par: &Par) -> Vec<f64> {
        self.known().density_gradient(par)
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        8 * (self.x.len() + self.x.nrows() * (self.x.nrows() + 3))
    }

    /// The posterior of the latent values at rows, without the bias.
    pub fn latent(&self, x: ArrayView2<'_, f64>, par: &Par) -> Result<Normal> {
        self.known().at(x, par)
    }

    fn known(&self) -> Known<'_> {
        let Self { kernel, x, alpha, factor, .. } = self;
        Known { kernel, x: x.view(), alpha, root: None, factor }
    }

    /// (mean + bias)/√(1 + variance) of each row.
    pub(super) fn scores(&self, x: ArrayView2<'_, f64>, par: &Par) -> Result<Array1<f64>> {
        let Normal { mean, variance } = self.latent(x, par)?;
        Ok(mean.iter().zip(&variance).map(|(m, v)| (m + self.bias) / libm::sqrt(1.0 + v)).collect())
    }

    /// The probability of +1 for each row, by the posterior. It is under-confident; see the calibration of several classes.
    pub fn probability(&self, x: ArrayView2<'_, f64>, par: &Par) -> Result<Array1<f64>> {
        self.scores(x, par).map(|scores| scores.mapv(normal_cdf))
    }
}
