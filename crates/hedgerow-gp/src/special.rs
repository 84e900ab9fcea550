//! Functions of the normal distribution and the like, exact far out in the tails.

pub use hedgerow_core::special::normal::{
    cdf as normal_cdf, density_ratio, log_cdf as log_normal_cdf, log_density, quantile as normal_quantile,
};

/// The modified Bessel function of the second kind of order ν ≥ 0 at x > 0: ∫ exp(−x cosh t) cosh(νt) dt from 0 on, by the
/// trapezoidal rule, which converges faster than any power of its step for such functions.
pub(crate) fn bessel_k(nu: f64, x: f64) -> f64 {
    const STEP: f64 = 0.02;
    // exp(−x) is taken out, so that far tails keep their digits until the end.
    let term = |t: f64| {
        let rise = 2.0 * libm::sinh(0.5 * t).powi(2);
        0.5 * (libm::exp(nu * t - x * rise) + libm::exp(-nu * t - x * rise))
    };
    let mut sum = 0.5 * term(0.0);
    let mut largest = sum;
    for k in 1..4_000 {
        let value = term(f64::from(k) * STEP);
        sum += value;
        largest = f64::max(largest, value);
        if value < 1e-18 * largest {
            break;
        }
    }
    sum * STEP * libm::exp(-x)
}

/// Each value `v` becomes `factor · exp(slope · v)`, where `slope · v` is not above 0. Errors are below 4e-16 of the value. Written so
/// that compilers turn the loop into vector instructions.
pub(crate) fn exp_all(values: &mut [f64], slope: f64, factor: f64) {
    values.iter_mut().for_each(|v| *v = factor * exp_of_negative(*v * slope));
}

/// exp(t) for t ≤ 0: 2^n times a polynomial in the rest.
#[inline]
fn exp_of_negative(t: f64) -> f64 {
    // Below this there are no normal numbers left.
    const LEAST: f64 = -708.0;
    // Adding 1.5 · 2^52 rounds to a whole number, which is then in the last bits.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    // ln 2 in two parts; a whole number times the first is exact.
    const LN_2: (f64, f64) = (6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10);
    // 1/k!
    const TERMS: [f64; 14] = [
        1.0 / 6_227_020_800.0,
        1.0 / 479_001_600.0,
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5_040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ];
    let shifted = t.max(LEAST) * std::f64::consts::LOG2_E + ROUND;
    let whole = shifted - ROUND;
    let rest = (t.max(LEAST) - whole * LN_2.0) - whole * LN_2.1;
    let poly = TERMS.iter().fold(0.0, |sum, term| sum * rest + term);
    let power = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    if t < LEAST { 0.0 } else { poly * power }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;

    #[test]
    fn exponentials_are_those_of_the_library() {
        for i in 0..100_000 {
            let t = -707.0 * (f64::from(i) / 100_000.0).powi(3);
            let mut v = [t * -2.0];
            exp_all(&mut v, -0.5, 3.0);
            assert!((v[0] / (3.0 * libm::exp(t)) - 1.0).abs() < 7e-16, "{t}");
        }
        let mut far = [1e300, f64::INFINITY, 0.0];
        exp_all(&mut far, -1.0, 2.0);
        assert_eq!(far, [0.0, 0.0, 2.0]);
    }

    #[test]
    fn bessel_by_closed_forms_and_published_values() {
        for x in [0.01, 0.5, 2.0, 30.0] {
            let half = libm::sqrt(PI / (2.0 * x)) * libm::exp(-x);
            assert!((bessel_k(0.5, x) / half - 1.0).abs() < 1e-12, "{x}");
            assert!((bessel_k(1.5, x) / (half * (1.0 + 1.0 / x)) - 1.0).abs() < 1e-12, "{x}");
        }
        assert!((bessel_k(0.0, 1.0) - 0.421_024_438_240_708_3).abs() < 1e-14);
        assert!((bessel_k(1.0, 1.0) - 0.601_907_230_197_234_6).abs() < 1e-14);
    }
}
