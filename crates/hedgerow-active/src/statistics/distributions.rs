//! Tails of the normal, chi-square and F distributions.

use std::f64::consts::FRAC_1_SQRT_2;

use hedgerow_core::special::beta;

/// P(Z > z) of a standard normal variable.
pub(super) fn normal_above(z: f64) -> f64 {
    0.5 * libm::erfc(z * FRAC_1_SQRT_2)
}

/// P(X > x) of a chi-square variable: Q(n/2, x/2), by the recurrence from n = 2 or n = 1, whose terms are all positive.
pub(super) fn chi_square_above(x: f64, degrees: usize) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    let half = 0.5 * x;
    // Q(1, h) = exp(−h), Q(½, h) = erfc(√h); Q(a + 1, h) = Q(a, h) + hᵃ exp(−h) / Γ(a + 1).
    let is_even = degrees.is_multiple_of(2);
    let (mut a, mut above) = if is_even { (1.0, libm::exp(-half)) } else { (0.5, libm::erfc(half.sqrt())) };
    let mut log_term = a * libm::log(half) - half - libm::lgamma(a + 1.0);
    while a + 0.75 < 0.5 * degrees as f64 {
        above += libm::exp(log_term);
        a += 1.0;
        log_term += libm::log(half / a);
    }
    above.min(1.0)
}

/// P(F > f) of an F variable with degrees of freedom of numerator and denominator.
pub(super) fn f_above(f: f64, numerator: f64, denominator: f64) -> f64 {
    if f <= 0.0 {
        return 1.0;
    }
    if f == f64::INFINITY {
        return 0.0;
    }
    beta::cdf(0.5 * denominator, 0.5 * numerator, denominator / (denominator + numerator * f))
}
