//! The normal distribution, exact far out in the tails.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// log φ(u), the logarithm of the standard normal density.
pub fn log_density(u: f64) -> f64 {
    -0.5 * u * u - 0.5 * libm::log(2.0 * PI)
}

/// Φ(u), the standard normal distribution function.
pub fn cdf(u: f64) -> f64 {
    0.5 * libm::erfc(-u * FRAC_1_SQRT_2)
}

/// log Φ(u).
pub fn log_cdf(u: f64) -> f64 {
    if u > 0.0 {
        libm::log1p(-0.5 * libm::erfc(u * FRAC_1_SQRT_2))
    } else if u > -37.0 {
        libm::log(cdf(u))
    } else {
        // Φ(u) = φ(u)/|u| (1 − 1/u² + 3/u⁴ − 15/u⁶ …): here the next term is below 1e-12.
        let v = 1.0 / (u * u);
        log_density(u) - libm::log(-u) + libm::log1p(-v * (1.0 - 3.0 * v * (1.0 - 5.0 * v * (1.0 - 7.0 * v))))
    }
}

/// φ(u)/Φ(u), for any u.
pub fn density_ratio(u: f64) -> f64 {
    libm::exp(log_density(u) - log_cdf(u))
}

/// Φ⁻¹(p) for 0 < p < 1: a rough start, then Newton's steps on the logarithm of the smaller tail.
pub fn quantile(p: f64) -> f64 {
    if p > 0.5 {
        return -quantile(1.0 - p);
    }
    let target = libm::log(p);
    let mut u = -libm::sqrt((-2.0 * (target + libm::log(2.0))).max(0.0));
    for _ in 0..60 {
        let step = (log_cdf(u) - target) / density_ratio(u);
        u -= step;
        if step.abs() < 1e-15 * (1.0 + u.abs()) {
            break;
        }
    }
    u
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_distribution_by_published_values() {
        for (u, log) in
            [(0.0, -std::f64::consts::LN_2), (-1.0, -1.841_021_645_009_264), (-10.0, -53.231_285_150_512_47)]
        {
            assert!((log_cdf(u) - log).abs() < 1e-12 * (1.0 + log.abs()), "{u}: {}", log_cdf(u));
        }
        // Both branches meet.
        let (a, b) = (log_cdf(-36.999_999_9), log_cdf(-37.000_000_1));
        assert!((a - b - 2e-7 * density_ratio(-37.0)).abs() < 1e-9);
        assert!(log_cdf(-1e6).is_finite() && log_cdf(40.0) <= 0.0);
        assert!((density_ratio(-1e4) / 1e4 - 1.0).abs() < 1e-7);
    }

    #[test]
    fn quantiles_are_the_inverse() {
        assert!((quantile(0.1) + 1.281_551_565_544_600_4).abs() < 1e-13);
        for p in [1e-300, 1e-9, 0.01, 0.3, 0.5, 0.77, 0.999] {
            let back = cdf(quantile(p));
            assert!((back / p - 1.0).abs() < 1e-9, "{p} {back}");
        }
    }
}
