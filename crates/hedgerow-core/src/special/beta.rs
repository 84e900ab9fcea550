//! The beta distribution: density, distribution function and quantiles, for parameters from 1e-300 to 1e12.

use std::f64::consts::PI;

use super::gamma::{deviance, stirling_rest};

/// From here on both parameters are large: a fixed number of densities is summed instead of a fraction with more and more terms.
const LARGE: f64 = 3000.0;
/// Deviations over which that sum reaches, and pieces that it is made of.
const REACH: f64 = 12.0;
const PIECES: usize = 16;
/// Terms of the continued fraction, which ends long before; and steps of the search for a quantile.
const MOST_TERMS: usize = 10_000;
const MOST_STEPS: usize = 200;
/// The logarithm below which a number is 0.
const LEAST_LOG: f64 = -745.0;

/// Nodes and weights of Gauss and Legendre's rule with 16 points on [−1, 1], the positive half.
const RULE: [[f64; 2]; 8] = [
    [0.095_012_509_837_637_44, 0.189_450_610_455_068_5],
    [0.281_603_550_779_258_9, 0.182_603_415_044_923_58],
    [0.458_016_777_657_227_4, 0.169_156_519_395_002_54],
    [0.617_876_244_402_643_7, 0.149_595_988_816_576_73],
    [0.755_404_408_355_003, 0.124_628_971_255_533_87],
    [0.865_631_202_387_831_7, 0.095_158_511_682_492_78],
    [0.944_575_023_073_232_6, 0.062_253_523_938_647_89],
    [0.989_400_934_991_649_9, 0.027_152_459_411_754_095],
];

/// ln [x^a y^b / B(a, b)] with y = 1 − x: by deviances from the mean, since differences of logarithms of the gamma function have no digits left
/// where a + b is large.
fn log_power(a: f64, b: f64, x: f64, y: f64) -> f64 {
    let n = a + b;
    let rests = stirling_rest(n) - stirling_rest(a) - stirling_rest(b);
    0.5 * (libm::log(a) + libm::log(b / n) - libm::log(2.0 * PI)) - deviance(a, n * x) - deviance(b, n * y)
        + rests
}

/// The density of Beta(a, b) at x.
pub fn density(a: f64, b: f64, x: f64) -> f64 {
    if !(0.0..=1.0).contains(&x) {
        return 0.0;
    }
    if x == 0.0 || x == 1.0 {
        let own = if x == 0.0 { a } else { b };
        // At the ends: 0, infinite, or the other parameter, as x^0 is 1.
        let at_one = if x == 0.0 { b } else { a };
        return if own > 1.0 {
            0.0
        } else if own < 1.0 {
            f64::INFINITY
        } else {
            at_one
        };
    }
    libm::exp(log_power(a, b, x, 1.0 - x) - libm::log(x) - libm::log1p(-x))
}

/// The distribution function of Beta(a, b) at x: the regularised incomplete beta function Iₓ(a, b).
pub fn cdf(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let y = 1.0 - x;
    if x < (a + 1.0) / (a + b + 2.0) {
        libm::exp(log_lower(a, b, x, y)).min(1.0)
    } else {
        1.0 - libm::exp(log_lower(b, a, y, x)).min(1.0)
    }
}

/// ln Iₓ(a, b) for x up to about the mean.
fn log_lower(a: f64, b: f64, x: f64, y: f64) -> f64 {
    if a.min(b) > LARGE {
        return libm::log(summed(a, b, x));
    }
    log_power(a, b, x, y) - libm::log(a) + libm::log(fraction(a, b, x))
}

/// The continued fraction of the incomplete beta function (Press et al., 2007, Numerical Recipes, 6.4), by Lentz's method.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let guard = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / guard(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for m in 1..MOST_TERMS {
        let m = m as f64;
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for term in [even, odd] {
            d = 1.0 / guard(1.0 + term * d);
            c = guard(1.0 + term / c);
            change = c * d;
            value *= change;
        }
        if (change - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

/// The integral of the density up to x, from where there is nothing left of it.
fn summed(a: f64, b: f64, x: f64) -> f64 {
    let n = a + b;
    let deviation = libm::sqrt(a * b / (n + 1.0)) / n;
    let low = (x - REACH * deviation).max(0.0);
    let half = 0.5 * (x - low) / PIECES as f64;
    let mut sum = 0.0;
    for piece in 0..PIECES {
        let middle = low + half * (2 * piece + 1) as f64;
        for [node, weight] in RULE {
            sum += weight * (density(a, b, middle - half * node) + density(a, b, middle + half * node));
        }
    }
    half * sum
}

/// The quantile of Beta(a, b): the x with Iₓ(a, b) = p, for p from 0 to 1.
pub fn quantile(a: f64, b: f64, p: f64) -> f64 {
    if p <= 0.0 {
        return 0.0;
    }
    if p >= 1.0 {
        return 1.0;
    }
    if cdf(a, b, 0.5) < p {
        return 1.0 - lower_quantile(b, a, 1.0 - p);
    }
    lower_quantile(a, b, p)
}

/// The quantile where it is 1/2 at most: Newton's steps on the logarithms of both sides, which for small x is a straight line, kept between bounds.
fn lower_quantile(a: f64, b: f64, p: f64) -> f64 {
    let target = libm::log(p);
    let (mut low, mut high) = (LEAST_LOG, libm::log(0.5));
    let log_cdf = |x: f64| {
        let is_lower = x < (a + 1.0) / (a + b + 2.0);
        if is_lower { log_lower(a, b, x, 1.0 - x) } else { libm::log(cdf(a, b, x)) }
    };
    if log_cdf(libm::exp(low)) >= target {
        return 0.0;
    }
    let mut at = libm::log(a / (a + b)).clamp(low, high);
    for _ in 0..MOST_STEPS {
        let x = libm::exp(at);
        let above = log_cdf(x);
        if above < target {
            low = at;
        } else {
            high = at;
        }
        let slope = libm::exp(log_power(a, b, x, 1.0 - x) - libm::log1p(-x) - above);
        let mut next = at - (above - target) / slope;
        if !(next > low && next < high) {
            next = 0.5 * (low + high);
        }
        let step = next - at;
        at = next;
        if step.abs() < 1e-15 * at.abs().max(1e-3) || high - low < 1e-16 {
            break;
        }
    }
    libm::exp(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The integral of the density between two points, by a sum of many.
    fn naive(a: f64, b: f64, from: f64, to: f64) -> f64 {
        let n = 200_000;
        let width = (to - from) / f64::from(n);
        (0..n).map(|i| density(a, b, from + width * (f64::from(i) + 0.5))).sum::<f64>() * width
    }

    #[test]
    fn the_rule_integrates_polynomials() {
        for power in [0, 2, 10, 30] {
            let sum: f64 = RULE.iter().map(|[node, weight]| 2.0 * weight * node.powi(power)).sum();
            assert!((sum - 2.0 / f64::from(power + 1)).abs() < 1e-14, "{power}");
        }
    }

    #[test]
    fn distribution_functions_like_sums_of_densities_and_like_statrs() {
        for (a, b) in [(1.5, 1.5), (2.0, 5.0), (30.0, 4.0), (900.0, 1100.0), (4e3, 6e3), (1e8, 1e8)] {
            let (mean, n) = (a / (a + b), a + b);
            let deviation = libm::sqrt(mean * (1.0 - mean) / (n + 1.0));
            for z in [-3.0, -1.0, -0.1, 0.1, 2.0] {
                let x = (mean + z * deviation).clamp(0.01, 0.99);
                let low = (mean - 12.0 * deviation).max(0.0);
                assert!((cdf(a, b, x) - naive(a, b, low, x)).abs() < 2e-7, "{a} {b} {x}");
            }
        }
        for a in [1e-3, 0.5, 1.0, 7.0, 150.0] {
            for b in [1e-3, 0.5, 1.0, 9.0, 300.0] {
                for x in [1e-6, 0.03, 0.4, 0.9, 0.999] {
                    let expected = statrs::function::beta::beta_reg(a, b, x);
                    assert!((cdf(a, b, x) - expected).abs() < 1e-9, "{a} {b} {x}: {expected}");
                }
            }
        }
    }

    #[test]
    fn closed_forms() {
        for x in [1e-12, 0.2, 0.5, 0.99] {
            assert!((cdf(1.0, 1.0, x) - x).abs() < 1e-15);
            assert!((cdf(3.0, 1.0, x) - x.powi(3)).abs() < 1e-14);
            let arcsine = 2.0 / PI * libm::asin(libm::sqrt(x));
            assert!((cdf(0.5, 0.5, x) - arcsine).abs() < 1e-14);
            assert!((density(0.5, 0.5, x) * PI * libm::sqrt(x * (1.0 - x)) - 1.0).abs() < 1e-13);
        }
        assert_eq!(
            [density(1.0, 3.0, 0.0), density(3.0, 1.0, 1.0), density(2.0, 2.0, 0.0), density(2.0, 2.0, 1.5)],
            [3.0, 3.0, 0.0, 0.0]
        );
        assert_eq!(density(0.5, 2.0, 0.0), f64::INFINITY);
        assert_eq!((cdf(2.0, 3.0, -1.0), cdf(2.0, 3.0, 2.0)), (0.0, 1.0));
    }

    #[test]
    fn large_parameters_are_nearly_normal_and_both_ways_agree_where_they_meet() {
        let deviation = libm::sqrt(0.25 / 2e8);
        for (z, expected) in [(-1.959_963_985, 0.025), (0.0, 0.5), (1.644_853_627, 0.95)] {
            assert!((cdf(1e8, 1e8, 0.5 + z * deviation) - expected).abs() < 1e-8);
        }
        for x in [0.48, 0.495, 0.4999] {
            let (sum, fraction) = (summed(3100.0, 3100.0, x), fraction(3100.0, 3100.0, x));
            let fraction = libm::exp(log_power(3100.0, 3100.0, x, 1.0 - x)) / 3100.0 * fraction;
            assert!((sum / fraction - 1.0).abs() < 1e-11, "{sum} {fraction}");
        }
        // Lopsided ones: nearly a gamma distribution, for which P(0.5) up to x is that of an exponential at a = 1.
        assert!((cdf(1.0, 1e8, 1e-8) - (1.0 - libm::exp(-1.0))).abs() < 1e-8);
        assert!((cdf(1e8, 1.0, 1.0 - 1e-8) - libm::exp(-1.0)).abs() < 1e-8);
    }

    #[test]
    fn quantiles_undo_distribution_functions() {
        let parameters = [1e-8, 1e-3, 0.03, 0.5, 1.0, 4.0, 77.0, 2e3, 5e4, 1e8];
        for (a, b) in parameters.iter().flat_map(|a| parameters.map(|b| (*a, b))) {
            for p in [1e-6, 0.05, 0.3, 0.5, 0.7, 0.95, 0.999] {
                let x = quantile(a, b, p);
                assert!((0.0..=1.0).contains(&x), "{a} {b} {p}: {x}");
                // Where a step to the next number jumps over p, x is one of the two.
                let [below, above] = [x * (1.0 - 1e-12) - 1e-300, x + 2e-16 + 1e-12 * x];
                let between = cdf(a, b, below) <= p + 1e-9 && p - 1e-9 <= cdf(a, b, above);
                assert!(between, "{a} {b} {p}: {x} {} {}", cdf(a, b, below), cdf(a, b, above));
            }
        }
        assert_eq!((quantile(2.0, 3.0, 0.0), quantile(2.0, 3.0, 1.0)), (0.0, 1.0));
        assert!((quantile(3.0, 1.0, 0.125) - 0.5).abs() < 1e-14);
    }
}
