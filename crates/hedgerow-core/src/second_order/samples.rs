//! Distributions given by samples of probability vectors.

use ndarray::{Array2, Array3, Axis};

use super::parts::{Parts, entropy};
use crate::rng::Rng;

/// Sample, row, class.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Samples(pub(super) Array3<f64>);

impl Samples {
    pub(super) fn dim(&self) -> (usize, usize) {
        (self.0.dim().1, self.0.dim().2)
    }

    pub(super) fn mean(&self) -> Array2<f64> {
        self.0.sum_axis(Axis(0)) / self.0.dim().0 as f64
    }

    /// With the number of samples below: the part that is epistemic and the one that is not then sum to m(1 − m).
    pub(super) fn variance(&self) -> Array2<f64> {
        let mean = self.mean();
        let mut sum = Array2::zeros(self.dim());
        self.0
            .outer_iter()
            .for_each(|sample| sum += &(&sample - &mean).mapv(|difference| difference * difference));
        sum / self.0.dim().0 as f64
    }

    /// Between two samples the quantile rises in a straight line.
    pub(super) fn quantile(&self, row: usize, class: usize, level: f64) -> f64 {
        let sorted = self.sorted(row, class);
        let place = level * (sorted.len() - 1) as f64;
        let (below, part) = (place as usize, place - libm::floor(place));
        let above = (below + 1).min(sorted.len() - 1);
        sorted[below] + part * (sorted[above] - sorted[below])
    }

    pub(super) fn density(&self, row: usize, class: usize, points: &[f64]) -> Vec<f64> {
        let values = self.sorted(row, class);
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let deviation = libm::sqrt(values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n);
        // (4/3n)^(1/5): the normal-reference rule (Scott, 1992, Multivariate density estimation).
        let width = deviation * libm::pow(4.0 / (3.0 * n), 0.2);
        if width <= 1e-12 {
            let at = |q: &f64| if (q - mean).abs() <= 1e-12 { f64::INFINITY } else { 0.0 };
            return points.iter().map(at).collect();
        }
        let kernel = |z: f64| libm::exp(-0.5 * z * z) / (width * libm::sqrt(2.0 * std::f64::consts::PI));
        let at = |&q: &f64| {
            if !(0.0..=1.0).contains(&q) {
                return 0.0;
            }
            let with_mirrors =
                |v: &f64| [q - v, q + v, q + v - 2.0].map(|d| kernel(d / width)).iter().sum::<f64>();
            values.iter().map(with_mirrors).sum::<f64>() / n
        };
        points.iter().map(at).collect()
    }

    pub(super) fn entropies(&self) -> Parts {
        let total: Vec<f64> = self.mean().rows().into_iter().map(entropy).collect();
        let n = self.0.dim().0 as f64;
        let expected =
            |row: usize| self.0.index_axis(Axis(1), row).rows().into_iter().map(entropy).sum::<f64>() / n;
        let epistemic = total.iter().enumerate().map(|(row, total)| total - expected(row)).collect();
        Parts::new(total, epistemic)
    }

    pub(super) fn counts(&self) -> Array2<f64> {
        counts(self.mean(), &self.variance())
    }

    pub(super) fn draw(&self, row: usize, rng: &mut Rng) -> Vec<f64> {
        let sample = rng.index(self.0.dim().0);
        self.0.index_axis(Axis(0), sample).row(row).to_vec()
    }

    fn sorted(&self, row: usize, class: usize) -> Vec<f64> {
        let mut values: Vec<f64> = self.0.outer_iter().map(|sample| sample[(row, class)]).collect();
        values.sort_by(f64::total_cmp);
        values
    }
}

/// The counts of the Dirichlet distributions that have these means and, summed over classes, these variances: one of sum A has Σ m(1 − m)/(A + 1).
pub(super) fn counts(mut mean: Array2<f64>, variance: &Array2<f64>) -> Array2<f64> {
    /// Of distributions without spread: more evidence than anything can tell from certainty.
    const MOST: f64 = 1e12;
    for (mut m, v) in mean.rows_mut().into_iter().zip(variance.rows()) {
        let total: f64 = m.iter().map(|m| m * (1.0 - m)).sum();
        let sum = (total / v.sum().max(f64::MIN_POSITIVE) - 1.0).clamp(0.0, MOST);
        m *= sum;
    }
    mean
}
