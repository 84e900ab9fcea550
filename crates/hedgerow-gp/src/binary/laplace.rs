//! Laplace's method (Rasmussen & Williams, 2006, section 3.4): the Gaussian at the peak of the posterior, with its curvature.

use hedgerow_core::{Par, Result};
use ndarray::{Array1, Array2, Axis};

use super::BinaryPosterior;
use super::newton::{Peak, locals};
use crate::likelihood::Likelihood;
use crate::linalg::mat_mul;

/// The posterior for labels (+1 or −1) of rows with covariances `k`, of which only the lower half is read, and its peak. α is the gradient of log p(y|f) there,
/// which is K⁻¹f; the root is √W, W being the negative second derivatives; the factor is that of B = I + √W K √W.
pub(crate) fn posterior(
    likelihood: Likelihood,
    k: &Array2<f64>,
    y: &[f64],
    par: &Par,
) -> Result<(BinaryPosterior, Array1<f64>)> {
    let Peak { f, a, root, factor } = Peak::find(k, likelihood, y, par)?;
    let local = locals(likelihood, y, &f);
    let log_p: f64 = local.iter().map(|l| l.log_p).sum();
    let log_evidence = log_p - 0.5 * a.dot(&f) - 0.5 * factor.log_det();
    let alpha = local.iter().map(|l| l.gradient).collect();
    Ok((BinaryPosterior { alpha, root, factor, log_evidence }, f))
}

/// Symmetric w with `Σ w_ij ∂K_ij` = the derivative of the log evidence. It counts that the peak moves with the kernel.
pub(crate) fn evidence_weights(
    (posterior, peak): &(BinaryPosterior, Array1<f64>),
    likelihood: Likelihood,
    k: &Array2<f64>,
    y: &[f64],
    par: &Par,
) -> Array2<f64> {
    let BinaryPosterior { alpha: a, root, factor, .. } = posterior;
    // R = √W B⁻¹ √W
    let mut r = factor.inverse(par);
    for (i, mut row) in r.rows_mut().into_iter().enumerate() {
        let own = root[i];
        row.iter_mut().zip(root).for_each(|(v, root)| *v *= own * root);
    }
    // The variances of the posterior: diag(K − K R K).
    let kr = mat_mul(k.view(), r.view(), par);
    let explained = (&kr * k).sum_axis(Axis(1));
    let variance = &k.diag() - &explained;
    let third: Array1<f64> = locals(likelihood, y, peak).iter().map(|l| l.third).collect();
    // ½ diag(posterior) ∂³log p: how the determinant changes as the peak moves; then how the peak moves.
    let pull = &variance * &third * 0.5;
    let s = &pull - &kr.t().dot(&pull);
    for ((i, j), r) in r.indexed_iter_mut() {
        *r = 0.5 * (a[i] * a[j] - *r) + 0.5 * (s[i] * a[j] + a[i] * s[j]);
    }
    r
}
