//! The gamma function and its relatives, without the loss of digits that differences of large logarithms bring.

use std::f64::consts::PI;

/// From here on asymptotic series are exact to the last digits.
const LARGE: f64 = 10.0;

/// ln Γ(x) without Stirling's formula, ln Γ(x) − [(x − ½) ln x − x + ½ ln 2π], for x > 0.
pub fn stirling_rest(x: f64) -> f64 {
    if x < LARGE {
        return libm::lgamma(x) - (x - 0.5) * libm::log(x) + x - 0.5 * libm::log(2.0 * PI);
    }
    // Σ Bₖ/(k(k−1) x^(k−1)) over even k, with the Bernoulli numbers B.
    let terms = [
        1.0 / 156.0,
        -691.0 / 360_360.0,
        1.0 / 1188.0,
        -1.0 / 1680.0,
        1.0 / 1260.0,
        -1.0 / 360.0,
        1.0 / 12.0,
    ];
    let v = 1.0 / (x * x);
    terms.iter().fold(0.0, |sum, term| sum * v + term) / x
}

/// ψ(x), the derivative of ln Γ(x), for x > 0.
pub fn digamma(mut x: f64) -> f64 {
    let mut below = 0.0;
    while x < LARGE {
        below += 1.0 / x;
        x += 1.0;
    }
    libm::log(x) - 0.5 / x - digamma_series(x) - below
}

/// ψ(x + 1) − ln x for x > 0: what the expected entropy of a Dirichlet distribution is made of. It falls like 1/2x, to the last digits.
pub fn digamma_above_log(x: f64) -> f64 {
    if x < LARGE { digamma(x + 1.0) - libm::log(x) } else { 0.5 / x - digamma_series(x) }
}

/// Σ Bₖ/(k x^k) over even k, the end of the asymptotic series of ln x − 1/2x − ψ(x).
fn digamma_series(x: f64) -> f64 {
    let terms =
        [1.0 / 12.0, -691.0 / 32_760.0, 1.0 / 132.0, -1.0 / 240.0, 1.0 / 252.0, -1.0 / 120.0, 1.0 / 12.0];
    let v = 1.0 / (x * x);
    terms.iter().fold(0.0, |sum, term| sum * v + term) * v
}

/// x ln(x/mean) + mean − x, without loss of digits where the two are nearly equal (Loader, 2000, Fast and accurate computation of binomial
/// probabilities).
pub fn deviance(x: f64, mean: f64) -> f64 {
    let difference = x - mean;
    if difference.abs() >= 0.1 * (x + mean) {
        return if x > 0.0 { x * libm::log(x / mean) - difference } else { mean };
    }
    let v = difference / (x + mean);
    let (mut sum, mut power) = (difference * v, 2.0 * x * v);
    for k in 1..1000 {
        power *= v * v;
        let next = sum + power / f64::from(2 * k + 1);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

/// Terms of a series or a fraction of the incomplete gamma function, which ends long before.
const MOST_TERMS: usize = 100_000;

/// The distribution function of a gamma variable of this shape and scale 1: the share P(shape, x) of the gamma function (Press et al., 2007, Numerical Recipes,
/// 6.2).
pub fn cdf(shape: f64, x: f64) -> f64 {
    if x <= 0.0 || x.is_infinite() {
        return f64::from(u8::from(x > 0.0));
    }
    // ln of x^a e^(−x)/Γ(a + 1), by deviances.
    let log_power = -0.5 * libm::log(2.0 * PI * shape) - deviance(shape, x) - stirling_rest(shape);
    if x < shape + 1.0 {
        let (mut sum, mut term, mut n) = (1.0, 1.0, shape);
        for _ in 0..MOST_TERMS {
            n += 1.0;
            term *= x / n;
            sum += term;
            if term < 1e-17 * sum {
                break;
            }
        }
        return (libm::exp(log_power) * sum).min(1.0);
    }
    let mut b = x + 1.0 - shape;
    let (mut c, mut d) = (1e300, 1.0 / b);
    let mut fraction = d;
    for i in 1..MOST_TERMS {
        let i = i as f64;
        let a = -i * (i - shape);
        b += 2.0;
        let guard = |v: f64| if v.abs() < 1e-300 { 1e-300 } else { v };
        d = 1.0 / guard(a * d + b);
        c = guard(b + a / c);
        let change = d * c;
        fraction *= change;
        if (change - 1.0).abs() < 1e-16 {
            break;
        }
    }
    (1.0 - shape * libm::exp(log_power) * fraction).clamp(0.0, 1.0)
}

/// The distribution function of the Poisson distribution, P(N ≤ n), for a mean of 0 or more: the share Q(n + 1, mean) of the gamma function.
pub fn poisson_cdf(n: usize, mean: f64) -> f64 {
    if mean <= 0.0 || mean.is_infinite() {
        return if mean <= 0.0 { 1.0 } else { 0.0 };
    }
    // The largest term first, by its logarithm, then its neighbours down and up: none can overflow.
    let top = (mean as usize).min(n);
    let at = top as f64;
    let log_factorial = libm::lgamma(at + 1.0);
    let largest = libm::exp(at * libm::log(mean) - mean - log_factorial);
    let (mut sum, mut term) = (largest, largest);
    for i in (1..=top).rev() {
        term *= i as f64 / mean;
        sum += term;
        if term < 1e-17 * sum {
            break;
        }
    }
    term = largest;
    for i in top + 1..=n {
        term *= mean / i as f64;
        sum += term;
        if term < 1e-17 * sum {
            break;
        }
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64, tolerance: f64) {
        let error = (found - expected).abs();
        assert!(error <= tolerance * expected.abs().max(1e-300), "{found}, not {expected}");
    }

    #[test]
    fn shares_of_the_gamma_function() {
        // SciPy's gammainc.
        near(cdf(0.5, 0.3), 0.561_421_973_919_000_3, 1e-13);
        near(cdf(0.04, 1e-6), 0.588_120_859_004_862, 1e-10);
        near(cdf(3.0, 7.5), 0.979_743_284_943_335_6, 1e-12);
        near(cdf(1000.0, 1010.0), 0.627_678_944_736_994_7, 1e-10);
        for (n, mean) in [(0, 0.7), (4, 2.0), (30, 45.0), (900, 850.0)] {
            near(1.0 - cdf(n as f64 + 1.0, mean), poisson_cdf(n, mean), 1e-8);
        }
        assert_eq!((cdf(2.0, 0.0), cdf(2.0, f64::INFINITY)), (0.0, 1.0));
    }

    #[test]
    fn stirlings_formula_and_its_rest_are_the_logarithm_of_the_gamma_function() {
        for x in [1e-300, 1e-8, 0.5, 1.0, 3.7, 9.999, 10.0, 123.4, 1e8, 1e15] {
            let formula = (x - 0.5) * libm::log(x) - x + 0.5 * libm::log(2.0 * PI);
            let tolerance = 1e-14 * libm::lgamma(x).abs().max(1.0);
            assert!((formula + stirling_rest(x) - libm::lgamma(x)).abs() < tolerance, "{x}");
        }
        // Both forms meet.
        near(stirling_rest(9.999_999_999), stirling_rest(10.000_000_001), 1e-9);
    }

    #[test]
    fn digamma_like_statrs_and_by_its_recurrence() {
        for x in [1e-8, 1e-3, 0.5, 1.0, 2.5, 9.5, 10.5, 1e3, 1e8] {
            near(digamma(x), statrs::function::gamma::digamma(x), 1e-11);
            near(digamma(x + 1.0) - digamma(x), 1.0 / x, 1e-7_f64.max(1e-14 * x * x));
        }
        near(digamma(1.0), -0.577_215_664_901_532_9, 1e-14);
        for x in [1e-5, 0.3, 5.0, 9.99, 10.01, 1e4] {
            let plain = digamma(x + 1.0) - libm::log(x);
            assert!((digamma_above_log(x) - plain).abs() < 1e-14 * libm::log(x).abs().max(1.0), "{x}");
        }
        near(digamma_above_log(1e8), 0.5e-8 - 1.0 / 12.0 * 1e-16, 1e-13);
    }

    #[test]
    fn deviances_keep_their_digits() {
        for (x, mean) in [(1.0, 3.0), (100.0, 90.0), (5.0, 5.5)] {
            near(deviance(x, mean), x * libm::log(x / mean) + mean - x, 1e-12);
        }
        // (x − m)²/2m + …: where the plain formula has no digit left.
        near(deviance(1e8 + 1.0, 1e8), 0.5e-8 - 1e-16 / 6.0, 1e-10);
        assert_eq!((deviance(0.0, 2.0), deviance(4.0, 4.0)), (2.0, 0.0));
    }

    #[test]
    fn poisson_sums_by_hand() {
        // The published vectors: A(k, j, λ) = P(N ≤ k − j).
        for (n, mean, expected) in [
            (4, 1.0, 0.996_340_15),
            (2, 2.0, 0.676_676_42),
            (0, 2.0, 0.135_335_28),
            (0, 0.5, 0.606_530_66),
            (6, 6.0, 0.606_302_78),
        ] {
            near(poisson_cdf(n, mean), expected, 1e-7);
        }
        for (n, mean) in [(0, 1e-9), (3, 0.7), (40, 25.0), (400, 380.0), (900, 1000.0)] {
            near(poisson_cdf(n, mean), statrs::function::gamma::gamma_ur(n as f64 + 1.0, mean), 1e-10);
        }
        assert_eq!(
            (poisson_cdf(3, 0.0), poisson_cdf(3, 1e6), poisson_cdf(3, f64::INFINITY)),
            (1.0, 0.0, 0.0)
        );
    }
}
