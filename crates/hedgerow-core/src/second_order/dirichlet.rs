//! Dirichlet distributions in closed form.

use ndarray::{Array2, Axis};

use super::parts::{Parts, entropy};
use crate::rng::Rng;
use crate::special::beta;
use crate::special::gamma::digamma_above_log;

/// A Dirichlet distribution for each row; that of one class's probability is Beta(α, A − α), with A the sum of all concentrations.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Dirichlet {
    pub(super) concentrations: Array2<f64>,
    /// The part of every concentration that does not come from labels.
    pub(super) prior: f64,
}

impl Dirichlet {
    pub(super) fn dim(&self) -> (usize, usize) {
        self.concentrations.dim()
    }

    pub(super) fn mean(&self) -> Array2<f64> {
        let sums = self.concentrations.sum_axis(Axis(1)).insert_axis(Axis(1));
        &self.concentrations / &sums
    }

    /// m(1 − m)/(A + 1), by the concentration of the other classes: 1 − m has no digits left where m is nearly 1.
    pub(super) fn variance(&self) -> Array2<f64> {
        let of = |(row, class)| {
            let [own, others] = self.beta(row, class);
            let all = own + others;
            own / all * (others / all) / (all + 1.0)
        };
        Array2::from_shape_fn(self.dim(), of)
    }

    pub(super) fn quantile(&self, row: usize, class: usize, level: f64) -> f64 {
        let [own, others] = self.beta(row, class);
        if others > 0.0 { beta::quantile(own, others, level) } else { 1.0 }
    }

    pub(super) fn density(&self, row: usize, class: usize, points: &[f64]) -> Vec<f64> {
        let [own, others] = self.beta(row, class);
        let at = |&q: &f64| match others > 0.0 {
            true => beta::density(own, others, q),
            // One class alone is certain.
            false if q == 1.0 => f64::INFINITY,
            false => 0.0,
        };
        points.iter().map(at).collect()
    }

    /// The mutual information is Σ m [ψ(α + 1) − ln α] − [ψ(A + 1) − ln A]: differences that keep their digits for any concentrations.
    pub(super) fn entropies(&self) -> Parts {
        let total = self.mean().rows().into_iter().map(entropy).collect();
        let of_row = |alpha: ndarray::ArrayView1<'_, f64>| {
            let all = alpha.sum();
            alpha.iter().map(|a| a / all * digamma_above_log(*a)).sum::<f64>() - digamma_above_log(all)
        };
        Parts::new(total, self.concentrations.rows().into_iter().map(of_row).collect())
    }

    pub(super) fn counts(&self) -> Array2<f64> {
        &self.concentrations - self.prior
    }

    /// Shares of independent gamma variables, by their logarithms: those of tiny concentrations are too small for numbers.
    pub(super) fn draw(&self, row: usize, rng: &mut Rng) -> Vec<f64> {
        let mut draw: Vec<f64> =
            self.concentrations.row(row).iter().map(|a| log_gamma_variable(*a, rng)).collect();
        let most = draw.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        draw.iter_mut().for_each(|log| *log = libm::exp(*log - most));
        let sum: f64 = draw.iter().sum();
        draw.iter_mut().for_each(|share| *share /= sum);
        draw
    }

    /// The parameters of the beta distribution of a class's probability.
    fn beta(&self, row: usize, class: usize) -> [f64; 2] {
        let alpha = self.concentrations.row(row);
        let others = alpha.iter().enumerate().filter(|(other, _)| *other != class).map(|(_, a)| a).sum();
        [alpha[class], others]
    }
}

/// The logarithm of a gamma variable of this shape (Marsaglia and Tsang, 2000, A simple method for generating gamma variables); shapes below 1 are
/// those above by a power of a uniform variable.
fn log_gamma_variable(shape: f64, rng: &mut Rng) -> f64 {
    if shape < 1.0 {
        let above = log_gamma_variable(shape + 1.0, rng);
        return above + libm::log(1.0 - rng.unit()) / shape;
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / libm::sqrt(9.0 * d);
    loop {
        let normal = rng.normal();
        let root = 1.0 + c * normal;
        if root <= 0.0 {
            continue;
        }
        let cube = root * root * root;
        let bound = 0.5 * normal * normal + d * (1.0 - cube + libm::log(cube));
        if libm::log(1.0 - rng.unit()) < bound {
            return libm::log(d) + libm::log(cube);
        }
    }
}
