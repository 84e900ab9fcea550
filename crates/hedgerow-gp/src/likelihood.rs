//! From a latent value to the probability of a class.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::special::{density_ratio, log_normal_cdf, normal_cdf};

/// p(y = +1 | f) = s(f).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Likelihood {
    /// s(f) = 1/(1 + e^−f).
    Logistic,
    /// s(f) = Φ(f).
    Probit,
}

/// log p(y | f) and what its derivatives with respect to f need.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Local {
    pub(crate) log_p: f64,
    pub(crate) gradient: f64,
    /// The negative second derivative.
    pub(crate) curvature: f64,
    /// The third derivative.
    pub(crate) third: f64,
}

impl Likelihood {
    /// At a latent value, for y = ±1.
    pub(crate) fn at(self, y: f64, f: f64) -> Local {
        match self {
            Self::Logistic => {
                let z = y * f;
                let p = 1.0 / (1.0 + libm::exp(-f));
                // log(1 + e^−z) without overflow.
                let log_p = -(libm::log1p(libm::exp(-z.abs())) + (-z).max(0.0));
                let curvature = p * (1.0 - p);
                Local { log_p, gradient: (y + 1.0) / 2.0 - p, curvature, third: curvature * (2.0 * p - 1.0) }
            }
            Self::Probit => {
                let z = y * f;
                let ratio = density_ratio(z);
                let curvature = ratio * (ratio + z);
                let third = y * ratio * ((z + 2.0 * ratio) * (z + ratio) - 1.0);
                Local { log_p: log_normal_cdf(z), gradient: y * ratio, curvature, third }
            }
        }
    }

    /// The probability of +1 where the latent value is normal with a mean and a variance.
    pub fn probability(self, mean: f64, variance: f64) -> f64 {
        match self {
            Self::Probit => normal_cdf(mean / libm::sqrt(1.0 + variance.max(0.0))),
            Self::Logistic => {
                // The trapezoidal rule: for a smooth function times a normal density it is exact to many digits.
                const STEP: f64 = 0.25;
                let deviation = libm::sqrt(variance.max(0.0));
                let (mut sum, mut total) = (0.0, 0.0);
                for k in -32..=32_i32 {
                    let z = STEP * f64::from(k);
                    let weight = libm::exp(-0.5 * z * z);
                    total += weight;
                    sum += weight / (1.0 + libm::exp(-(mean + deviation * z)));
                }
                sum / total
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivatives_agree_with_differences() {
        for likelihood in [Likelihood::Logistic, Likelihood::Probit] {
            for y in [-1.0, 1.0] {
                for f in [-6.0, -0.7, 0.0, 1.3, 5.0] {
                    let h = 1e-4;
                    let (below, at, above) =
                        (likelihood.at(y, f - h), likelihood.at(y, f), likelihood.at(y, f + h));
                    let slope = |of: fn(Local) -> f64| (of(above) - of(below)) / (2.0 * h);
                    assert!((slope(|l| l.log_p) - at.gradient).abs() < 1e-6);
                    assert!((slope(|l| l.gradient) + at.curvature).abs() < 1e-6);
                    assert!((slope(|l| -l.curvature) - at.third).abs() < 1e-5, "{likelihood:?} {y} {f}");
                }
            }
            assert!(likelihood.at(1.0, -1e3).log_p.is_finite() && likelihood.at(1.0, 1e3).curvature >= 0.0);
        }
    }

    #[test]
    fn probabilities_are_means_over_the_latent_value() {
        for (likelihood, p) in [
            (Likelihood::Probit, normal_cdf as fn(f64) -> f64),
            (Likelihood::Logistic, |f| 1.0 / (1.0 + (-f).exp())),
        ] {
            for (mean, variance) in [(0.0, 1.0), (1.0, 3.0), (-2.0, 0.5), (3.0, 20.0)] {
                let mut sum = 0.0;
                let n = 200_000;
                for i in 0..n {
                    let z = -10.0 + 20.0 * (f64::from(i) + 0.5) / f64::from(n);
                    sum += p(mean + f64::sqrt(variance) * z) * (-0.5 * z * z).exp() * 20.0 / f64::from(n);
                }
                let expected = sum / (2.0 * std::f64::consts::PI).sqrt();
                let got = likelihood.probability(mean, variance);
                assert!((got - expected).abs() < 1e-6, "{likelihood:?} {mean} {variance}: {got} {expected}");
            }
        }
        assert!((Likelihood::Probit.probability(1.0, 3.0) - 0.691_462_461_274_013).abs() < 1e-12);
    }
}
