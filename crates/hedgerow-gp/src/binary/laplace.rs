//! Laplace's method (Rasmussen & Williams, 2006, section 3.4): the Gaussian at the peak of the posterior, with its curvature.

use hedgerow_core::{Budget, Par, Result};
use ndarray::{Array1, Array2, ArrayView2, Axis};

use super::newton::{Peak, locals};
use super::{BinaryPosterior, check};
use crate::kernel::Kernel;
use crate::likelihood::Likelihood;
use crate::linalg::{Cholesky, mat_mul};
use crate::optimize::climb_kernel;
use crate::regression::{Known, Normal};

/// A classifier of two classes.
#[derive(Debug, Clone, PartialEq)]
pub struct Laplace {
    kernel: Kernel,
    likelihood: Likelihood,
    x: Array2<f64>,
    /// The peak.
    mode: Array1<f64>,
    /// The gradient of log p(y|f) there, which is K⁻¹f.
    gradient: Array1<f64>,
    /// √W, W being the negative second derivatives there.
    root: Array1<f64>,
    /// Of B = I + √W K √W.
    factor: Cholesky,
    log_evidence: f64,
}

impl Laplace {
    /// Learns labels (+1 or −1) of rows.
    pub fn fit(
        kernel: Kernel,
        likelihood: Likelihood,
        x: ArrayView2<'_, f64>,
        y: &[f64],
        par: &Par,
    ) -> Result<Self> {
        check(&kernel, x, y)?;
        let k = kernel.lower(x, par);
        let peak = Peak::find(&k, likelihood, y, par)?;
        Ok(Self::at(kernel, likelihood, x, y, peak))
    }

    /// The same with kernel parameters that make the labels most likely, searched for from those given.
    pub fn fit_parameters(
        kernel: Kernel,
        likelihood: Likelihood,
        x: ArrayView2<'_, f64>,
        y: &[f64],
        par: &Par,
        budget: &Budget,
    ) -> Result<Self> {
        const MOST_EVALUATIONS: usize = 100;
        check(&kernel, x, y)?;
        let best = climb_kernel(&kernel, MOST_EVALUATIONS, budget, |moved| {
            let model = Self::fit(moved.clone(), likelihood, x, y, par).ok()?;
            Some((model.log_evidence, model.evidence_gradient(y, par)))
        });
        Self::fit(best, likelihood, x, y, par)
    }

    /// The same for a kernel whose matrix is known, up to the diagonal.
    pub(crate) fn on_matrix(
        kernel: &Kernel,
        likelihood: Likelihood,
        x: ArrayView2<'_, f64>,
        k: &Array2<f64>,
        y: &[f64],
        par: &Par,
    ) -> Result<Self> {
        Ok(Self::at(kernel.clone(), likelihood, x, y, Peak::find(k, likelihood, y, par)?))
    }

    /// What predictions need.
    pub(crate) fn into_posterior(self) -> BinaryPosterior {
        BinaryPosterior {
            alpha: self.gradient,
            root: self.root,
            factor: self.factor,
            log_evidence: self.log_evidence,
        }
    }

    fn at(kernel: Kernel, likelihood: Likelihood, x: ArrayView2<'_, f64>, y: &[f64], peak: Peak) -> Self {
        let local = locals(likelihood, y, &peak.f);
        let log_p: f64 = local.iter().map(|l| l.log_p).sum();
        let log_evidence = log_p - 0.5 * peak.a.dot(&peak.f) - 0.5 * peak.factor.log_det();
        Self {
            kernel,
            likelihood,
            x: x.to_owned(),
            gradient: local.iter().map(|l| l.gradient).collect(),
            mode: peak.f,
            root: peak.root,
            factor: peak.factor,
            log_evidence,
        }
    }

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// What each row counts: the mean of the latent value at a row is its covariances with them times these.
    pub fn weights(&self) -> &Array1<f64> {
        &self.gradient
    }

    /// How sharply the likelihood is curved at the peak, for each row.
    pub fn curvatures(&self) -> Array1<f64> {
        self.root.mapv(|root| root * root)
    }

    /// The logarithm of the probability of the labels, as far as the Gaussian is right.
    pub fn log_evidence(&self) -> f64 {
        self.log_evidence
    }

    /// Its derivatives with respect to the kernel's parameters. They count that the peak moves with them.
    pub fn evidence_gradient(&self, y: &[f64], par: &Par) -> Vec<f64> {
        let weights = self.evidence_weights(&self.kernel.matrix(self.x.view(), par), y, par);
        self.kernel.gradient(self.x.view(), &weights, par)
    }

    /// Symmetric w with `Σ w_ij ∂K_ij` = the derivative of the log evidence.
    pub(crate) fn evidence_weights(&self, k: &Array2<f64>, y: &[f64], par: &Par) -> Array2<f64> {
        let local = locals(self.likelihood, y, &self.mode);
        // R = √W B⁻¹ √W
        let mut r = self.factor.inverse(par);
        for (i, mut row) in r.rows_mut().into_iter().enumerate() {
            let own = self.root[i];
            row.iter_mut().zip(&self.root).for_each(|(v, root)| *v *= own * root);
        }
        // The variances of the posterior: diag(K − K R K).
        let kr = mat_mul(k.view(), r.view(), par);
        let explained = (&kr * k).sum_axis(Axis(1));
        let variance = &k.diag() - &explained;
        let third: Array1<f64> = local.iter().map(|l| l.third).collect();
        // ½ diag(posterior) ∂³log p: how the determinant changes as the peak moves; then how the peak moves.
        let pull = &variance * &third * 0.5;
        let moved = &pull - &kr.t().dot(&pull);
        let (a, s) = (&self.gradient, &moved);
        for ((i, j), r) in r.indexed_iter_mut() {
            *r = 0.5 * (a[i] * a[j] - *r) + 0.5 * (s[i] * a[j] + a[i] * s[j]);
        }
        r
    }

    /// What is known about the latent values at other rows.
    pub fn latent(&self, x: ArrayView2<'_, f64>, par: &Par) -> Result<Normal> {
        let (alpha, root) = (&self.gradient, Some(&self.root));
        Known { kernel: &self.kernel, x: self.x.view(), alpha, root, factor: &self.factor }.at(x, par)
    }

    /// The probability of +1 for each row.
    pub fn probability(&self, x: ArrayView2<'_, f64>, par: &Par) -> Result<Array1<f64>> {
        let Normal { mean, variance } = self.latent(x, par)?;
        Ok(mean.iter().zip(&variance).map(|(&m, &v)| self.likelihood.probability(m, v)).collect())
    }
}
