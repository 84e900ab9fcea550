//! Kernels that depend on how far two rows are apart.

use serde::{Deserialize, Serialize};

use crate::special::{bessel_k, exp_all};

/// How similarity falls with the distance `r`, in units of the length scale. All are 1 at distance 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// exp(−r²/2).
    Rbf,
    /// The Matérn family; ν = 1/2 is exp(−r), and the larger ν > 0, the smoother: at infinity it is `Rbf`.
    Matern {
        /// ν.
        nu: f64,
    },
    /// (1 + r²/2α)^−α, a mixture of `Rbf` of many lengths; α is a parameter that can be learnt.
    RationalQuadratic {
        /// α, above 0.
        alpha: f64,
    },
    /// exp(−r).
    Exponential,
    /// 1/√(1 + r²).
    InverseMultiquadric,
    /// (1 − r)^p up to distance 1, nothing beyond. Positive definite in D dimensions for p ≥ (D + 1)/2; as a
    /// factor it makes any kernel vanish far away.
    Compact {
        /// p.
        power: f64,
    },
}

impl Shape {
    /// The value at a squared distance.
    pub(crate) fn value(self, r2: f64) -> f64 {
        match self {
            Self::Rbf => libm::exp(-0.5 * r2),
            Self::InverseMultiquadric => 1.0 / libm::sqrt(1.0 + r2),
            Self::RationalQuadratic { alpha } => libm::pow(1.0 + r2 / (2.0 * alpha), -alpha),
            Self::Compact { power } => libm::pow((1.0 - libm::sqrt(r2)).max(0.0), power),
            Self::Exponential | Self::Matern { nu: 0.5 } => libm::exp(-libm::sqrt(r2)),
            Self::Matern { nu: 1.5 } => {
                let a = libm::sqrt(3.0 * r2);
                (1.0 + a) * libm::exp(-a)
            }
            Self::Matern { nu: 2.5 } => {
                let a = libm::sqrt(5.0 * r2);
                (1.0 + a + a * a / 3.0) * libm::exp(-a)
            }
            Self::Matern { nu } => matern(nu, libm::sqrt(2.0 * nu * r2)),
        }
    }

    /// Puts `factor` times the value in the place of each squared distance.
    pub(super) fn value_all(self, r2: &mut [f64], factor: f64) {
        match self {
            Self::Rbf => exp_all(r2, -0.5, factor),
            _ => r2.iter_mut().for_each(|v| *v = factor * self.value(*v)),
        }
    }

    /// The derivative with respect to the squared distance, times the squared distance: finite everywhere, and what the
    /// derivative with respect to the logarithm of a length needs.
    pub(super) fn slope(self, r2: f64) -> f64 {
        match self {
            Self::Rbf => -0.5 * r2 * libm::exp(-0.5 * r2),
            Self::Exponential | Self::Matern { nu: 0.5 } => {
                let r = libm::sqrt(r2);
                -0.5 * r * libm::exp(-r)
            }
            Self::Compact { power } => {
                let r = libm::sqrt(r2);
                if r < 1.0 { -0.5 * r * power * libm::pow(1.0 - r, power - 1.0) } else { 0.0 }
            }
            Self::InverseMultiquadric => -0.5 * r2 * libm::pow(1.0 + r2, -1.5),
            Self::RationalQuadratic { alpha } => {
                -0.5 * r2 * libm::pow(1.0 + r2 / (2.0 * alpha), -alpha - 1.0)
            }
            Self::Matern { nu: 1.5 } => {
                let a = libm::sqrt(3.0 * r2);
                -0.5 * a * a * libm::exp(-a)
            }
            Self::Matern { nu: 2.5 } => {
                let a = libm::sqrt(5.0 * r2);
                -a * a * (1.0 + a) / 6.0 * libm::exp(-a)
            }
            Self::Matern { nu } => {
                // d/da a^ν K_ν(a) = −a^ν K_{ν−1}(a), and r² d/dr² = (a/2) d/da.
                let a = libm::sqrt(2.0 * nu * r2);
                if a == 0.0 {
                    return 0.0;
                }
                let scale = (1.0 - nu) * std::f64::consts::LN_2 - libm::lgamma(nu) + nu * libm::log(a);
                -0.5 * a * libm::exp(scale) * bessel_k((nu - 1.0).abs(), a)
            }
        }
    }

    /// The derivative with respect to the logarithm of the shape's own parameter, where it has one that is learnt.
    pub(super) fn own_slope(self, r2: f64) -> Option<f64> {
        let Self::RationalQuadratic { alpha } = self else { return None };
        let base = 1.0 + r2 / (2.0 * alpha);
        let log_slope = -libm::log(base) + r2 / (2.0 * alpha) / base;
        Some(alpha * log_slope * libm::pow(base, -alpha))
    }

    /// The parameter that is learnt, with its name.
    pub(super) fn named(&mut self) -> Option<(String, &mut f64)> {
        let Self::RationalQuadratic { alpha } = self else { return None };
        Some(("alpha".into(), alpha))
    }

    pub(super) fn is_valid(self) -> bool {
        let fits = |value: f64| value.is_finite() && value > 0.0;
        match self {
            Self::Matern { nu } => fits(nu) && nu <= 100.0,
            Self::RationalQuadratic { alpha } => fits(alpha),
            Self::Compact { power } => fits(power) && power >= 1.0,
            _ => true,
        }
    }
}

/// 2^(1−ν)/Γ(ν) a^ν `K_ν`(a).
fn matern(nu: f64, a: f64) -> f64 {
    if a < 1e-10 {
        return 1.0;
    }
    let scale = (1.0 - nu) * std::f64::consts::LN_2 - libm::lgamma(nu) + nu * libm::log(a);
    libm::exp(scale) * bessel_k(nu, a)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPES: [Shape; 9] = [
        Shape::Rbf,
        Shape::Exponential,
        Shape::InverseMultiquadric,
        Shape::RationalQuadratic { alpha: 0.7 },
        Shape::Matern { nu: 0.5 },
        Shape::Matern { nu: 1.5 },
        Shape::Matern { nu: 2.5 },
        Shape::Matern { nu: 0.8 },
        Shape::Compact { power: 2.5 },
    ];

    #[test]
    fn slopes_agree_with_differences() {
        for shape in SHAPES {
            for r2 in [0.01, 0.3, 0.9, 4.0, 30.0] {
                let h = 1e-5 * r2;
                let difference = (shape.value(r2 + h) - shape.value(r2 - h)) / (2.0 * h) * r2;
                assert!((difference - shape.slope(r2)).abs() < 1e-8, "{shape:?} {r2}");
            }
            assert!((shape.value(0.0) - 1.0).abs() < 1e-12 && shape.slope(0.0) == 0.0, "{shape:?}");
        }
        let at = |log_alpha| Shape::RationalQuadratic { alpha: libm::exp(log_alpha) };
        let difference = (at(0.3 + 1e-5).value(2.0) - at(0.3 - 1e-5).value(2.0)) / 2e-5;
        assert!((difference - at(0.3).own_slope(2.0).unwrap()).abs() < 1e-9);
    }

    #[test]
    fn the_general_matern_meets_its_closed_forms() {
        for (nu, near) in [(0.5, 0.5 + 1e-9), (1.5, 1.5 + 1e-9), (2.5, 2.5 - 1e-9)] {
            for r2 in [1e-6, 0.1, 1.0, 9.0, 100.0] {
                let (exact, general) = (Shape::Matern { nu }.value(r2), Shape::Matern { nu: near }.value(r2));
                assert!((exact - general).abs() < 1e-7, "{nu} {r2}: {exact} {general}");
            }
        }
        // Ever smoother, it nears the Gaussian; the value is from an independent implementation.
        let smooth = Shape::Matern { nu: 100.0 }.value(1.0);
        assert!(
            (smooth - 0.604_255_568_637_45).abs() < 1e-11 && (smooth - Shape::Rbf.value(1.0)).abs() < 3e-3
        );
    }
}
