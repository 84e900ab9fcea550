//! Classes that are mixtures of normal distributions.

use super::{Draws, Truth, shares};
use crate::data::ClassId;

/// Normal parts, the class of each, and how much of the rows it is.
pub(super) struct Mixture {
    n_classes: usize,
    parts: Vec<Component>,
}

struct Component {
    class: usize,
    weight: f64,
    mean: Vec<f64>,
    deviation: f64,
}

impl Mixture {
    /// Röder (2013, figure 3.1). Columns after the first are normal and say nothing.
    pub(super) fn bumps(n_features: usize) -> Self {
        let at = |mean: f64| first(n_features, &[mean]);
        let part = |class, weight, mean, deviation| Component { class, weight, mean: at(mean), deviation };
        Self {
            n_classes: 2,
            parts: vec![part(0, 0.5, 0.0, 3.0), part(1, 0.25, -3.0, 2.0), part(1, 0.25, 6.0, 2.0)],
        }
    }

    /// Röder (2013, figure 3.3), with a share of rows of the second class.
    pub(super) fn gaussians(n_features: usize, share: f64) -> Self {
        Self::of([(0, 1.0 - share, vec![1.0; n_features]), (1, share, vec![-1.0; n_features])])
    }

    pub(super) fn triangle(n_features: usize) -> Self {
        let corners = [[0.0, 1.5], [-1.3, -0.75], [1.3, -0.75]];
        Self::of([0, 1, 2].map(|class| (class, 1.0 / 3.0, first(n_features, &corners[class]))))
    }

    /// Röder (2013, figure 4.6).
    pub(super) fn xor(n_features: usize) -> Self {
        let corners = [(0, [-3.0, -3.0]), (0, [3.0, 3.0]), (1, [-3.0, 3.0]), (1, [3.0, -3.0])];
        Self::of(corners.map(|(class, corner)| (class, 0.25, first(n_features, &corner))))
    }

    /// Means (a, …, a) and (−a, …, −a) with a = 2/√d.
    pub(super) fn twonorm(n_features: usize) -> Self {
        let a = 2.0 / libm::sqrt(n_features as f64);
        Self::of([(0, 0.5, vec![a; n_features]), (1, 0.5, vec![-a; n_features])])
    }

    /// Half of a class about (a, …, a), half about (−a, …, −a), the other class about (a, −a, a, …), with a = 2/√d.
    pub(super) fn threenorm(n_features: usize) -> Self {
        let a = 2.0 / libm::sqrt(n_features as f64);
        let turns = (0..n_features).map(|column| if column % 2 == 0 { a } else { -a }).collect();
        Self::of([(0, 0.25, vec![a; n_features]), (0, 0.25, vec![-a; n_features]), (1, 0.5, turns)])
    }

    /// A class of covariance 4 I about 0, and one of covariance I about (a, …, a) with a = 1/√d.
    pub(super) fn ringnorm(n_features: usize) -> Self {
        let a = 1.0 / libm::sqrt(n_features as f64);
        let mut mixture = Self::of([(0, 0.5, vec![0.0; n_features]), (1, 0.5, vec![a; n_features])]);
        mixture.parts[0].deviation = 2.0;
        mixture
    }

    fn of<const N: usize>(parts: [(usize, f64, Vec<f64>); N]) -> Self {
        let part = |(class, weight, mean)| Component { class, weight, mean, deviation: 1.0 };
        let parts: Vec<Component> = parts.into_iter().map(part).collect();
        Self { n_classes: parts.iter().map(|part| part.class + 1).max().unwrap_or(0), parts }
    }
}

/// A mean that is 0 after the first columns.
fn first(n_features: usize, values: &[f64]) -> Vec<f64> {
    let mut mean = values.to_vec();
    mean.resize(n_features, 0.0);
    mean
}

impl Component {
    /// The logarithm of its density times its weight, but for a constant.
    fn log_density(&self, row: &[f32]) -> f64 {
        let d = row.len() as f64;
        let square = |(x, m): (&f32, &f64)| (f64::from(*x) - m) * (f64::from(*x) - m);
        let squares: f64 = row.iter().zip(&self.mean).map(square).sum();
        libm::log(self.weight)
            - d * libm::log(self.deviation)
            - 0.5 * squares / (self.deviation * self.deviation)
    }
}

impl Truth for Mixture {
    fn n_classes(&self) -> usize {
        self.n_classes
    }

    fn draw(&self, _n_made: u64, draws: &mut Draws, row: &mut Vec<f32>) -> ClassId {
        let mut left = draws.features.unit();
        let last = self.parts.len() - 1;
        let drawn = self.parts[..last].iter().position(|part| {
            left -= part.weight;
            left < 0.0
        });
        let part = &self.parts[drawn.unwrap_or(last)];
        row.extend(part.mean.iter().map(|mean| (mean + part.deviation * draws.features.normal()) as f32));
        ClassId(part.class as u32)
    }

    fn probabilities(&self, row: &[f32]) -> Vec<f64> {
        let logs: Vec<f64> = self.parts.iter().map(|part| part.log_density(row)).collect();
        let mut all = vec![0.0; self.n_classes];
        self.parts.iter().zip(shares(&logs)).for_each(|(part, share)| all[part.class] += share);
        all
    }
}
