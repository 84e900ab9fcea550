//! Expectation propagation with the probit likelihood (Minka, 2001; Rasmussen & Williams, 2006, algorithm 3.5): one site a row, moments matched in turn.

use hedgerow_core::{Error, Par, Result};
use ndarray::{Array1, Array2};

use super::{BinaryPosterior, factor_of_one_and};
use crate::ivm::site::Site;
use crate::linalg::{Cholesky, mat_mul};

/// Sweeps at most.
const MOST_SWEEPS: usize = 100;
/// Largest change of a precision that counts as none.
const TOLERANCE: f64 = 1e-8;

/// The posterior for labels (+1 or −1) of rows with covariances `k`.
pub(crate) fn posterior(k: &Array2<f64>, y: &[f64], par: &Par) -> Result<BinaryPosterior> {
    let Sites { tau, nu, posterior, factor } = Sites::matched(k, y, 0.0, par)?;
    let log_evidence = log_evidence(&posterior, &tau, &nu, y, &factor);
    // (K + T⁻¹)⁻¹ T⁻¹ ν = ν − √T B⁻¹ √T K ν
    let root = tau.mapv(libm::sqrt);
    let alpha = &nu - &(&root * &factor.solve((&root * &k.dot(&nu)).view()));
    Ok(BinaryPosterior { alpha, root, factor, log_evidence })
}

/// Sites that agree with each other.
pub(crate) struct Sites {
    /// Precisions.
    pub(crate) tau: Array1<f64>,
    /// Precisions times means.
    pub(crate) nu: Array1<f64>,
    posterior: Posterior,
    factor: Cholesky,
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
                let (mean, variance) = cavity(&posterior, &tau, &nu, i);
                let Some(site) = Site::new(y[i], mean, variance, bias) else { continue };
                let (new_tau, new_nu) = (site.precision, site.precision * site.mean);
                let step = new_tau - tau[i];
                change = change.max(step.abs());
                posterior.update(i, step, new_nu - nu[i]);
                (tau[i], nu[i]) = (new_tau, new_nu);
            }
            // Rank-one updates gather rounding errors; a factor from scratch does not.
            let factor = factor_of_one_and(k, &tau.mapv(libm::sqrt), par)?;
            posterior = Posterior::new(k, &tau, &nu, &factor, par);
            n_sweeps += 1;
            if change < TOLERANCE || n_sweeps == MOST_SWEEPS {
                return Ok(Self { tau, nu, posterior, factor });
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

/// Mean and variance of the posterior at one row without the row's own site.
fn cavity(posterior: &Posterior, tau: &Array1<f64>, nu: &Array1<f64>, i: usize) -> (f64, f64) {
    let variance = posterior.covariance[(i, i)].max(1e-300);
    let precision = (1.0 / variance - tau[i]).max(1e-12 / variance);
    ((posterior.mean[i] / variance - nu[i]) / precision, 1.0 / precision)
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
        let (m, v) = cavity(posterior, tau, nu, i);
        let z = Site::new(y, m, v, 0.0).map_or(0.0, |site| site.log_z);
        // The scale of each site, with what cancels between sites and cavities already left out.
        sum += z + 0.5 * libm::log1p(tau[i] * v);
        sum += 0.5 * (m * m * tau[i] - 2.0 * m * nu[i] - v * nu[i] * nu[i]) / (1.0 + v * tau[i]);
    }
    sum
}
