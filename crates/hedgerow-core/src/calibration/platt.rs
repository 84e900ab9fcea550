//! From scores to probabilities by a curve fitted to rows the scores were not made from (Platt 1999, with the corrections of Lin, Lin
//! and Weng 2007).

use serde::{Deserialize, Serialize};

use super::newton::{Slopes, minimize};

/// p = 1/(1 + exp(−(slope · score + offset))).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Platt {
    /// The slope.
    pub slope: f64,
    /// The offset.
    pub offset: f64,
}

impl Platt {
    /// The curve that makes the labels of rows most likely. A row too many of either class is imagined, so that rows which can
    /// be told apart perfectly do not make the curve a step.
    pub(crate) fn fit(scores: &[f64], is_positive: &[bool]) -> Self {
        let n_positive = is_positive.iter().filter(|p| **p).count() as f64;
        let n_negative = scores.len() as f64 - n_positive;
        let targets = [1.0 / (n_negative + 2.0), (n_positive + 1.0) / (n_positive + 2.0)];
        let rows = || scores.iter().zip(is_positive.iter().map(|is| targets[usize::from(*is)]));
        let curve = |[slope, offset]: [f64; 2]| Self { slope, offset };
        let loss = |at: [f64; 2]| {
            let mut sum = Slopes { curvature: [1e-12, 0.0, 1e-12], ..Slopes::default() };
            for (&score, target) in rows() {
                let z = curve(at).log_odds(score);
                let p = curve(at).probability(score);
                let (error, weight) = (p - target, p * (1.0 - p));
                let row = Slopes {
                    // log(1 + e^z) − t z, without overflow.
                    value: z.max(0.0) + libm::log1p(libm::exp(-z.abs())) - target * z,
                    gradient: [error * score, error],
                    curvature: [weight * score * score, weight * score, weight],
                };
                sum = sum.plus(&row, 1.0);
            }
            sum
        };
        let start = [0.0, libm::log((n_positive + 1.0) / (n_negative + 1.0))];
        curve(minimize(start, 1e-10, loss))
    }

    /// The probability for a score.
    pub fn probability(self, score: f64) -> f64 {
        1.0 / (1.0 + libm::exp(-self.log_odds(score)))
    }

    /// The logarithm of the odds for a score.
    pub fn log_odds(self, score: f64) -> f64 {
        self.slope * score + self.offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Rng};

    #[test]
    fn a_known_curve_is_found_again() {
        let mut rng = Rng::new(1, Purpose::Data, 0);
        let truth = Platt { slope: 2.0, offset: -0.7 };
        let scores: Vec<f64> = (0..20_000).map(|_| rng.normal()).collect();
        let labels: Vec<bool> = scores.iter().map(|&s| rng.unit() < truth.probability(s)).collect();
        let found = Platt::fit(&scores, &labels);
        assert!((found.slope - 2.0).abs() < 0.1 && (found.offset + 0.7).abs() < 0.06, "{found:?}");
    }

    #[test]
    fn extremes_give_probabilities_all_the_same() {
        for (scores, labels) in [
            (vec![-1.0, 1.0], vec![false, true]),
            (vec![1.0, 1.0, 1.0], vec![true, true, true]),
            (vec![-1e6, 1e6, 1e6], vec![false, true, true]),
            (vec![], vec![]),
        ] {
            let p = Platt::fit(&scores, &labels).probability(0.3);
            assert!(p > 0.0 && p < 1.0, "{scores:?} {p}");
        }
    }
}
