//! Expectation propagation with the probit likelihood (Minka, 2001; Rasmussen & Williams, 2006, algorithm 3.5): one site a row, moments matched in turn.

use hedgerow_core::{Error, Par, Result};
use ndarray::{Array1, Array2, ArrayView2};

use super::{BinaryPosterior, check, factor_of_one_and};
use crate::ivm::site::Site;
use crate::kernel::Kernel;
use crate::likelihood::Likelihood;
use crate::linalg::{Cholesky, mat_mul};
use crate::regression::{Known, Normal};

/// Sweeps at most.
const MOST_SWEEPS: usize = 100;
/// Largest change of a precision that counts as none.
const TOLERANCE: f64 = 1e-8;

/// A classifier of two classes.
#[derive(Debug, Clone, PartialEq)]
pub struct Ep {
    kernel: Kernel,
    x: Array2<f64>,
    /// Precisions of the sites.
    tau: Array1<f64>,
    /// Precisions times means of the sites.
    nu: Array1<f64>,
    /// (K + T⁻¹)⁻¹ times the site means.
    alpha: Array1<f64>,
    factor: Cholesky,
    log_evidence: f64,
    n_sweeps: usize,
}

impl Ep {
    /// Learns labels (+1 or −1) of rows.
    pub fn fit(kernel: Kernel, x: ArrayView2<'_, f64>, y: &[f64], par: &Par) -> Result<Self> {
        check(&kernel, x, y)?;
        Self::on_matrix(&kernel, x, &kernel.matrix(x, par), y, par)
    }

    /// The same for a kernel whose matrix is known.
    pub(crate) fn on_matrix(
        kernel: &Kernel,
        x: ArrayView2<'_, f64>,
        k: &Array2<f64>,
        y: &[f64],
        par: &Par,
    ) -> Result<Self> {
        let Sites { tau, nu, posterior, factor, n_sweeps } = Sites::matched(k, y, 0.0, par)?;
        let log_evidence = log_evidence(&posterior, &tau, &nu, y, &factor);
        // (K + T⁻¹)⁻¹ T⁻¹ ν = ν − √T B⁻¹ √T K ν
        let root = tau.mapv(libm::sqrt);
        let alpha = &nu - &(&root * &factor.solve((&root * &k.dot(&nu)).view()));
        let (kernel, x) = (kernel.clone(), x.to_owned());
        Ok(Self { kernel, x, tau, nu, alpha, factor, log_evidence, n_sweeps })
    }

    /// What predictions need.
    pub(crate) fn into_posterior(self) -> BinaryPosterior {
        let root = self.tau.mapv(libm::sqrt);
        BinaryPosterior { alpha: self.alpha, root, factor: self.factor, log_evidence: self.log_evidence }
    }

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The precisions of the sites.
    pub fn precisions(&self) -> &Array1<f64> {
        &self.tau
    }

    /// The logarithm of the probability of the labels.
    pub fn log_evidence(&self) -> f64 {
        self.log_evidence
    }

    /// How often all sites were gone through.
    pub fn n_sweeps(&self) -> usize {
        self.n_sweeps
    }

    /// What is known about the latent values at other rows.
    pub fn latent(&self, x: ArrayView2<'_, f64>, par: &Par) -> Result<Normal> {
        let (alpha, root) = (&self.alpha, self.tau.mapv(libm::sqrt));
        Known { kernel: &self.kernel, x: self.x.view(), alpha, root: Some(&root), factor: &self.factor }
            .at(x, par)
    }

    /// The probability of +1 for each row.
    pub fn probability(&self, x: ArrayView2<'_, f64>, par: &Par) -> Result<Array1<f64>> {
        let Normal { mean, variance } = self.latent(x, par)?;
        Ok(mean.iter().zip(&variance).map(|(&m, &v)| Likelihood::Probit.probability(m, v)).collect())
    }
}

/// Sites that agree with each other.
pub(crate) struct Sites {
    /// Precisions.
    pub(crate) tau: Array1<f64>,
    /// Precisions times means.
    pub(crate) nu: Array1<f64>,
    posterior: Posterior,
    factor: Cholesky,
    n_sweeps: usize,
}

impl Sites {
    /// Sites for labels of rows with covariances `k`, and a bias beside the latent value.
    pub(crate) fn matched(k: &Array2<f64>, y: &[f64], bias: f64, par: &Par) -> Result<Self> {
        let n = y.len();
        let (mut tau, mut nu) = (Array1::<f64>::zeros(n), Array1::<f64>::zeros(n));
        let mut posterior = Posterior { covariance: k.clone(), mean: Array1::zeros(n) };
        let mut n_sweeps = 0;
        loop {
            let mut change: f64 = 0.0;
            for i in 0..n {
                if par.is_stopped() {
                    return Err(Error::Interrupted);
                }
                let site = Cavity::of(&posterior, &tau, &nu, i).site(y[i], bias);
                let Some((new_tau, new_nu)) = site else { continue };
                let step = new_tau - tau[i];
                change = change.max(step.abs());
                posterior.update(i, step, new_nu - nu[i]);
                (tau[i], nu[i]) = (new_tau, new_nu);
            }
            n_sweeps += 1;
            // Rank-one updates gather rounding errors; a factor from scratch does not.
            let factor = factor_of_one_and(k, &tau.mapv(libm::sqrt), par)?;
            posterior = Posterior::new(k, &tau, &nu, &factor, par);
            if change < TOLERANCE || n_sweeps == MOST_SWEEPS {
                return Ok(Self { tau, nu, posterior, factor, n_sweeps });
            }
        }
    }
}

/// The Gaussian that stands for the posterior at the training rows.
struct Posterior {
    covariance: Array2<f64>,
    mean: Array1<f64>,
}

impl Posterior {
    fn new(k: &Array2<f64>, tau: &Array1<f64>, nu: &Array1<f64>, factor: &Cholesky, par: &Par) -> Self {
        let mut v = k * &tau.mapv(libm::sqrt);
        factor.forward_rows(&mut v, par);
        let covariance = k - &mat_mul(v.view(), v.t(), par);
        let mean = covariance.dot(nu);
        Self { covariance, mean }
    }

    /// Follows the change of one site's precision and weighted mean.
    fn update(&mut self, i: usize, tau_step: f64, nu_step: f64) {
        let column = self.covariance.column(i).to_owned();
        let shrink = tau_step / (1.0 + tau_step * column[i]);
        // mean' = Σ'(ν + Δν e_i), with Σ' = Σ − shrink s sᵀ.
        let along = nu_step - shrink * (self.mean[i] + nu_step * column[i]);
        self.mean.scaled_add(along, &column);
        for (row, &s) in self.covariance.rows_mut().into_iter().zip(&column) {
            let mut row = row;
            row.scaled_add(-shrink * s, &column);
        }
    }
}

/// The posterior at one row without the row's own site.
struct Cavity {
    mean: f64,
    variance: f64,
}

impl Cavity {
    fn of(posterior: &Posterior, tau: &Array1<f64>, nu: &Array1<f64>, i: usize) -> Self {
        let variance = posterior.covariance[(i, i)].max(1e-300);
        let precision = (1.0 / variance - tau[i]).max(1e-12 / variance);
        Self { mean: (posterior.mean[i] / variance - nu[i]) / precision, variance: 1.0 / precision }
    }

    /// Precision and weighted mean of the site that gives the true moments.
    fn site(&self, y: f64, bias: f64) -> Option<(f64, f64)> {
        let site = Site::new(y, self.mean, self.variance, bias)?;
        Some((site.precision, site.precision * site.mean))
    }
}

fn log_evidence(
    posterior: &Posterior,
    tau: &Array1<f64>,
    nu: &Array1<f64>,
    y: &[f64],
    factor: &Cholesky,
) -> f64 {
    let mut sum = -0.5 * factor.log_det() + 0.5 * nu.dot(&posterior.mean);
    for (i, &y) in y.iter().enumerate() {
        let cavity = Cavity::of(posterior, tau, nu, i);
        let z = Site::new(y, cavity.mean, cavity.variance, 0.0).map_or(0.0, |site| site.log_z);
        let (m, v) = (cavity.mean, cavity.variance);
        // The scale of each site, with what cancels between sites and cavities already left out.
        sum += z + 0.5 * libm::log1p(tau[i] * v);
        sum += 0.5 * (m * m * tau[i] - 2.0 * m * nu[i] - v * nu[i] * nu[i]) / (1.0 + v * tau[i]);
    }
    sum
}
