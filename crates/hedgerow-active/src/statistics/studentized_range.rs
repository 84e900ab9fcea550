//! The studentized range: how far apart the largest and the smallest of some standard normal variables lie (Tukey, 1949).
//!
//! With infinitely many degrees of freedom, which is what ranks need.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use hedgerow_core::params::within;
use hedgerow_core::{Error, Result};

/// Standard deviations beyond which a normal density is nothing.
const REACH: f64 = 9.0;
/// Distance of the points of the trapezoidal rule, which converges like exp(−2π²/(k·step²)) here.
const STEP: f64 = 0.05;
/// The most variables for which the step is fine enough.
const MOST: usize = 100;

/// P(range > q) of `k` standard normal variables, 2 to 100: k ∫ φ(z) [Φ(z)ᵏ⁻¹ − (Φ(z) − Φ(z − q))ᵏ⁻¹] dz.
pub fn studentized_range_above(q: f64, k: usize) -> Result<f64> {
    within("variables of a range", k, 2..=MOST)?;
    Ok(above(q, k))
}

fn above(q: f64, k: usize) -> f64 {
    if q <= 0.0 {
        return 1.0;
    }
    let below = |z: f64| 0.5 * libm::erfc(-z * FRAC_1_SQRT_2);
    // The largest of far-off variables lies about q/2.
    let n_steps = ((2.0 * REACH + 0.5 * q) / STEP).ceil() as usize;
    let power = (k - 1) as f64;
    let at = |i: usize| {
        let z = i as f64 * STEP - REACH;
        let all = below(z);
        // aᵐ − (a − b)ᵐ without cancellation.
        let outside = -libm::expm1(power * libm::log1p(-(below(z - q) / all).min(1.0)));
        libm::exp(-0.5 * z * z) * libm::pow(all, power) * outside
    };
    let sum: f64 = (0..=n_steps).map(at).sum();
    (k as f64 * STEP * sum / (2.0 * PI).sqrt()).min(1.0)
}

/// The q that the range of `k` standard normal variables, 2 to 100, exceeds with probability `alpha`.
pub fn studentized_range_quantile(alpha: f64, k: usize) -> Result<f64> {
    within("variables of a range", k, 2..=MOST)?;
    if !(alpha > 0.0 && alpha < 1.0) {
        return Err(Error::param("alpha", "a number between 0 and 1", alpha));
    }
    let [mut low, mut high] = [0.0, 2.0 * REACH];
    // Until the two are neighbors: 18/2⁶⁰ lies below their last digit.
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if above(middle, k) > alpha { low = middle } else { high = middle }
    }
    Ok(0.5 * (low + high))
}
