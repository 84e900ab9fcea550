//! Two classes, the probability of the second a formula of the columns.

use std::f64::consts::PI;

use super::{Draws, Truth};
use crate::data::ClassId;
use crate::synth::draw::chance;

/// Columns from one distribution, and the probability of the second class.
pub(super) struct Formula {
    n_features: usize,
    column: Column,
    probability: fn(&[f64]) -> f64,
}

enum Column {
    Normal,
    /// From a number up to another.
    Uniform(f64, f64),
}

impl Formula {
    /// The logit is 1.5/√d times the alternating sum of d standard normal columns: its deviation is 1.5 for any number of columns.
    pub(super) fn logistic(n_features: usize) -> Self {
        let probability = |x: &[f64]| {
            let signed = |(j, x): (usize, &f64)| if j % 2 == 0 { *x } else { -x };
            let sum: f64 = x.iter().enumerate().map(signed).sum();
            logistic(1.5 * sum / libm::sqrt(x.len() as f64))
        };
        Self { n_features, column: Column::Normal, probability }
    }

    /// The logit is 3 sin π(a + b) of the first columns, which are uniform from −1 to 1.
    pub(super) fn wave(n_features: usize) -> Self {
        let probability = |x: &[f64]| logistic(3.0 * libm::sin(PI * (x[0] + x[1])));
        Self { n_features, column: Column::Uniform(-1.0, 1.0), probability }
    }

    /// The logit is 2 sin 2a + b² − 1 + |c| − 0.8 of the first columns, which are standard normal.
    pub(super) fn additive(n_features: usize) -> Self {
        let probability =
            |x: &[f64]| logistic(2.0 * libm::sin(2.0 * x[0]) + x[1] * x[1] - 1.0 + x[2].abs() - 0.8);
        Self { n_features, column: Column::Normal, probability }
    }

    /// The logit is (10 sin πab + 20 (c − 0.5)² + 10 d + 5 e − 14.4)/2.5 of the first columns, which are uniform from 0 to 1 (Friedman, 1991,
    /// Multivariate adaptive regression splines).
    pub(super) fn friedman(n_features: usize) -> Self {
        let probability = |x: &[f64]| {
            let bend = 20.0 * (x[2] - 0.5) * (x[2] - 0.5);
            let value = 10.0 * libm::sin(PI * x[0] * x[1]) + bend + 10.0 * x[3] + 5.0 * x[4];
            logistic((value - 14.4) / 2.5)
        };
        Self { n_features, column: Column::Uniform(0.0, 1.0), probability }
    }

    /// The logit is 3 cos 2r with r the length of (a, b), the first columns, which are uniform from −3 to 3.
    pub(super) fn rings(n_features: usize) -> Self {
        let probability = |x: &[f64]| logistic(3.0 * libm::cos(2.0 * libm::hypot(x[0], x[1])));
        Self { n_features, column: Column::Uniform(-3.0, 3.0), probability }
    }

    /// 0.1 where a < 0.3, elsewhere 0.9 where b > 0.6 and 0.4 where not; columns are uniform from 0 to 1.
    pub(super) fn stairs(n_features: usize) -> Self {
        let probability = |x: &[f64]| match (x[0] < 0.3, x[1] > 0.6) {
            (true, _) => 0.1,
            (false, true) => 0.9,
            (false, false) => 0.4,
        };
        Self { n_features, column: Column::Uniform(0.0, 1.0), probability }
    }

    /// 0.3 everywhere; columns are standard normal.
    pub(super) fn unrelated(n_features: usize) -> Self {
        Self { n_features, column: Column::Normal, probability: |_| 0.3 }
    }

    fn of(&self, row: &[f32]) -> f64 {
        let wide: Vec<f64> = row.iter().map(|x| f64::from(*x)).collect();
        (self.probability)(&wide)
    }
}

fn logistic(logit: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-logit))
}

impl Truth for Formula {
    fn n_classes(&self) -> usize {
        2
    }

    fn draw(&self, _n_made: u64, draws: &mut Draws, row: &mut Vec<f32>) -> ClassId {
        for _ in 0..self.n_features {
            row.push(match self.column {
                Column::Normal => draws.features.normal(),
                Column::Uniform(low, high) => low + (high - low) * draws.features.unit(),
            } as f32);
        }
        ClassId(u32::from(chance(&mut draws.errors, self.of(row))))
    }

    fn probabilities(&self, row: &[f32]) -> Vec<f64> {
        let second = self.of(row);
        vec![1.0 - second, second]
    }
}
