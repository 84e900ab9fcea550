//! Distributions whose log odds are normal, one for each class.

use ndarray::{Array2, Axis, Zip};

use super::parts::{Parts, entropy};
use super::samples;
use crate::rng::Rng;
use crate::special::normal;

/// The log odds ln q/(1 − q) of each class's probability are normal with these means and deviations. A deviation of 0 is a probability that is known.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LogitNormal {
    pub(super) location: Array2<f64>,
    pub(super) deviation: Array2<f64>,
    /// Probabilities nearer 0 or 1 than this may be 0 or 1.
    pub(super) resolution: f64,
}

/// Steps of a quarter from −8 to 8: sums over them are integrals against the normal density, to eight digits or more for deviations up to 5.
const REACH: i32 = 32;
const STEP: f64 = 0.25;

/// The expectation of something of a probability whose log odds are normal.
fn expectation(location: f64, deviation: f64, of: impl Fn(f64) -> f64) -> f64 {
    if deviation == 0.0 {
        return of(logistic(location));
    }
    let (mut sum, mut weights) = (0.0, 0.0);
    for i in -REACH..=REACH {
        let z = STEP * f64::from(i);
        let weight = libm::exp(-0.5 * z * z);
        sum += weight * of(logistic(location + deviation * z));
        weights += weight;
    }
    sum / weights
}

/// 1/(1 + e^(−z)).
pub(super) fn logistic(z: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-z))
}

impl LogitNormal {
    pub(super) fn dim(&self) -> (usize, usize) {
        self.location.dim()
    }

    fn map(&self, of: impl Fn(f64, f64) -> f64) -> Array2<f64> {
        Zip::from(&self.location)
            .and(&self.deviation)
            .map_collect(|&location, &deviation| of(location, deviation))
    }

    /// Those of the classes, brought to the sum 1.
    pub(super) fn mean(&self) -> Array2<f64> {
        let means = self.means();
        let sums = means.sum_axis(Axis(1)).insert_axis(Axis(1)).mapv(|sum| f64::max(sum, f64::MIN_POSITIVE));
        means / sums
    }

    fn means(&self) -> Array2<f64> {
        self.map(|location, deviation| expectation(location, deviation, |q| q))
    }

    pub(super) fn variance(&self) -> Array2<f64> {
        self.map(|location, deviation| {
            let mean = expectation(location, deviation, |q| q);
            expectation(location, deviation, |q| (q - mean) * (q - mean))
        })
    }

    pub(super) fn quantile(&self, row: usize, class: usize, level: f64) -> f64 {
        let (location, deviation) = (self.location[(row, class)], self.deviation[(row, class)]);
        let found = match level {
            _ if deviation == 0.0 => return logistic(location),
            0.0 => 0.0,
            1.0 => 1.0,
            _ => logistic(location + deviation * normal::quantile(level)),
        };
        if level < 0.5 && found < self.resolution {
            0.0
        } else if level > 0.5 && found > 1.0 - self.resolution {
            1.0
        } else {
            found
        }
    }

    pub(super) fn density(&self, row: usize, class: usize, points: &[f64]) -> Vec<f64> {
        let (location, deviation) = (self.location[(row, class)], self.deviation[(row, class)]);
        let at = |&q: &f64| {
            if deviation == 0.0 {
                return if (q - logistic(location)).abs() <= 1e-12 { f64::INFINITY } else { 0.0 };
            }
            if q <= 0.0 || q >= 1.0 {
                return 0.0;
            }
            let z = (libm::log(q) - libm::log1p(-q) - location) / deviation;
            libm::exp(normal::log_density(z)) / (deviation * q * (1.0 - q))
        };
        points.iter().map(at).collect()
    }

    /// The expected entropy is a sum of expectations of −q ln q, one of each class.
    pub(super) fn entropies(&self) -> Parts {
        let total: Vec<f64> = self.mean().rows().into_iter().map(entropy).collect();
        let of_class = |q: f64| if q > 0.0 { -q * libm::log(q) } else { 0.0 };
        let expected =
            self.map(|location, deviation| expectation(location, deviation, of_class)).sum_axis(Axis(1));
        let epistemic = total.iter().zip(&expected).map(|(total, expected)| total - expected).collect();
        Parts::new(total, epistemic)
    }

    pub(super) fn counts(&self) -> Array2<f64> {
        samples::counts(self.mean(), &self.variance())
    }

    /// Two classes share one draw; those of more classes are drawn by themselves and brought to the sum 1.
    pub(super) fn draw(&self, row: usize, rng: &mut Rng) -> Vec<f64> {
        let n_classes = self.dim().1;
        let class =
            |class: usize, z: f64| logistic(self.location[(row, class)] + self.deviation[(row, class)] * z);
        if n_classes == 2 {
            let second = class(1, rng.normal());
            return vec![1.0 - second, second];
        }
        let mut draw: Vec<f64> = (0..n_classes).map(|c| class(c, rng.normal())).collect();
        let sum = f64::max(draw.iter().sum(), f64::MIN_POSITIVE);
        draw.iter_mut().for_each(|q| *q /= sum);
        draw
    }
}
