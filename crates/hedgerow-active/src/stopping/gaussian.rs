//! How far a Gaussian posterior moved, and what that means for the risk.
//!
//! Ishibashi and Hino, 2020, Stopping criterion for active learning based on deterministic generalization bounds.

use hedgerow_core::error::check_shapes;
use hedgerow_core::{Error, Result};
use ndarray::{Array2, ArrayView1, ArrayView2};
use serde::Serialize;

/// The Kullback-Leibler divergences between two posteriors, in nats.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Divergence {
    /// Of the new one from the old one.
    pub forward: f64,
    /// Of the old one from the new one.
    pub backward: f64,
}

impl Divergence {
    /// Between normal distributions of a mean and a variance each: old, then new.
    ///
    /// A label changes a Gaussian process through its latent value at that row alone, so this is the divergence between whole processes
    /// where old and new are the posterior at the row of one new label, with the same kernel.
    pub fn between_normals(old: [f64; 2], new: [f64; 2]) -> Result<Self> {
        let check = |name: &str, [mean, variance]: [f64; 2]| {
            let holds = mean.is_finite() && variance.is_finite() && variance > 0.0;
            let got = format!("mean {mean}, variance {variance}");
            if holds { Ok(()) } else { Err(Error::param(name, "a finite mean and a variance above 0", got)) }
        };
        check("old posterior", old)?;
        check("new posterior", new)?;
        let one_way = |from: [f64; 2], to: [f64; 2]| {
            let (ratio, shift) = (from[1] / to[1], from[0] - to[0]);
            // ½(r − 1 − ln r) without cancellation near r = 1.
            0.5 * ((ratio - 1.0) - libm::log1p(ratio - 1.0) + shift * shift / to[1]).max(0.0)
        };
        Ok(Self { forward: one_way(new, old), backward: one_way(old, new) })
    }

    /// Between normal distributions of several values, with means and covariances: for several new labels, their rows.
    pub fn between_gaussians(
        (old_mean, old_covariance): (ArrayView1<'_, f64>, ArrayView2<'_, f64>),
        (new_mean, new_covariance): (ArrayView1<'_, f64>, ArrayView2<'_, f64>),
    ) -> Result<Self> {
        let n = old_mean.len();
        check_shapes([
            ("means of the new posterior", n, new_mean.len()),
            ("rows of the old covariance", n, old_covariance.nrows()),
            ("columns of the old covariance", n, old_covariance.ncols()),
            ("rows of the new covariance", n, new_covariance.nrows()),
            ("columns of the new covariance", n, new_covariance.ncols()),
        ])?;
        let (old, new) = (factor(old_covariance)?, factor(new_covariance)?);
        let shift: Vec<f64> = new_mean.iter().zip(old_mean).map(|(new, old)| new - old).collect();
        let one_way = |from: &Array2<f64>, to: &Array2<f64>| {
            // ½[tr(Σ₁⁻¹Σ₀) + dᵀΣ₁⁻¹d − n + ln|Σ₁| − ln|Σ₀|], with Σ = LLᵀ: the trace is ‖L₁⁻¹L₀‖².
            let column = |j: usize| solve(to, &from.column(j).to_vec());
            let trace: f64 = (0..n).map(|j| column(j).iter().map(|v| v * v).sum::<f64>()).sum();
            let moved: f64 = solve(to, &shift).iter().map(|v| v * v).sum();
            let logs: f64 = (0..n).map(|i| libm::log(to[(i, i)] / from[(i, i)])).sum();
            (0.5 * (trace + moved - n as f64) + logs).max(0.0)
        };
        Ok(Self { forward: one_way(&new, &old), backward: one_way(&old, &new) })
    }

    /// The sum with the divergences of an independent posterior, such as that of another class.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { forward: self.forward + other.forward, backward: self.backward + other.backward }
    }

    /// The bound on the change of the risk: both directions together.
    pub fn bound(self) -> f64 {
        risk_bound(self.forward) + risk_bound(self.backward)
    }
}

/// exp(W₀((KL − 1)/e) + 1) − 1: by how much, relative to itself, the risk can change at most when the posterior moves by a divergence.
///
/// ```
/// use hedgerow_active::stopping::risk_bound;
/// assert_eq!(risk_bound(0.0), 0.0);
/// assert!((risk_bound(1.0) - (std::f64::consts::E - 1.0)).abs() < 1e-12);
/// ```
pub fn risk_bound(divergence: f64) -> f64 {
    if divergence <= 0.0 {
        return 0.0;
    }
    // With s = exp(W + 1) − 1: (1 + s) ln(1 + s) − s = KL. Newton's method on that has no cancellation near 0, where s ≈ √(2 KL).
    let mut s = if divergence < 1.0 {
        (2.0 * divergence).sqrt() + divergence / 3.0
    } else {
        libm::exp(lambert_w((divergence - 1.0) / std::f64::consts::E) + 1.0) - 1.0
    };
    for _ in 0..4 {
        let log = libm::log1p(s);
        s -= (excess(s) - divergence) / log;
    }
    s
}

/// (1 + s) ln(1 + s) − s, by its series near 0.
fn excess(s: f64) -> f64 {
    if s > 1e-2 {
        return (1.0 + s) * libm::log1p(s) - s;
    }
    // s²/2 − s³/6 + s⁴/12 − s⁵/20 + …: terms s^k/(k(k − 1)).
    let term = |k: i32| (if k % 2 == 0 { 1.0 } else { -1.0 }) * s.powi(k) / f64::from(k * (k - 1));
    (2..=9).rev().map(term).sum()
}

/// The upper branch W₀ of Lambert's function: the w ≥ −1 with w·exp(w) = x, for x ≥ −1/e; NaN below (Corless et al., 1996).
pub fn lambert_w(x: f64) -> f64 {
    const BRANCH: f64 = -1.0 / std::f64::consts::E;
    if x.is_nan() || x < BRANCH {
        return if x > BRANCH - 1e-15 { -1.0 } else { f64::NAN };
    }
    let near = (2.0 * (std::f64::consts::E * x + 1.0)).max(0.0).sqrt();
    if near < 1e-4 {
        // −1 + p − p²/3 + 11p³/72: Newton's method would divide by nearly nothing.
        return -1.0 + near - near * near / 3.0 + 11.0 / 72.0 * near.powi(3);
    }
    let mut w =
        if x < 1.0 { -1.0 + near - near * near / 3.0 + 11.0 / 72.0 * near.powi(3) } else { libm::log1p(x) };
    if x > 3.0 {
        w = libm::log(x) - libm::log(libm::log(x));
    }
    for _ in 0..50 {
        // Halley's method.
        let e = libm::exp(w);
        let f = w * e - x;
        let step = f / (e * (w + 1.0) - 0.5 * (w + 2.0) * f / (w + 1.0));
        w -= step;
        if step.abs() <= 1e-16 * (1.0 + w.abs()) {
            break;
        }
    }
    w
}

/// The lower factor of a covariance.
fn factor(covariance: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
    let n = covariance.nrows();
    let mut lower = Array2::zeros((n, n));
    for i in 0..n {
        for j in 0..=i {
            let inner: f64 = (0..j).map(|k| lower[(i, k)] * lower[(j, k)]).sum();
            let rest = covariance[(i, j)] - inner;
            if i > j {
                lower[(i, j)] = rest / lower[(j, j)];
            } else if rest > 0.0 && rest.is_finite() {
                lower[(i, i)] = rest.sqrt();
            } else {
                return Err(Error::param(
                    "covariance",
                    "a positive definite matrix",
                    format!("pivot {rest} in row {i}"),
                ));
            }
        }
    }
    Ok(lower)
}

/// L⁻¹b.
fn solve(lower: &Array2<f64>, b: &[f64]) -> Vec<f64> {
    let mut solution: Vec<f64> = Vec::with_capacity(b.len());
    for (i, b) in b.iter().enumerate() {
        let inner: f64 = solution.iter().enumerate().map(|(j, v)| lower[(i, j)] * v).sum();
        solution.push((b - inner) / lower[(i, i)]);
    }
    solution
}
