//! Metrics of predicted numbers with a variance.

use serde::{Deserialize, Serialize};

use crate::error::{Result, check_shapes};
use crate::traits::Normals;

/// Half the width, in deviations, of the interval that holds 90 % of a normal distribution.
const NINETY: f64 = 1.644_853_626_951_472_2;

/// All metrics of one set of predicted numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ValueReport {
    /// Root of the mean squared error.
    pub rmse: f64,
    /// Mean absolute error.
    pub mae: f64,
    /// Mean of −ln of the density that the prediction gave to the true value.
    pub nlpd: f64,
    /// Share of true values inside the interval that ought to hold 90 % of them.
    pub coverage90: f64,
    /// Mean squared error in units of that of the mean of the true values; none if these do not vary.
    pub nmse: Option<f64>,
}

/// All figures of a [`ValueReport`], kept up to date row by row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct RunningValues {
    n_rows: u64,
    /// Sums over rows.
    squares: f64,
    absolute: f64,
    nlpd: f64,
    n_inside: u64,
    /// The mean of the true values, and their summed squared distances from it.
    mean: f64,
    spread: f64,
}

impl RunningValues {
    /// Adds a prediction, a mean and a variance.
    pub fn add(&mut self, mean: f64, variance: f64, truth: f64) {
        let (error, variance) = (truth - mean, variance.max(1e-300));
        let from_mean = truth - self.mean;
        self.n_rows += 1;
        self.squares += error * error;
        self.absolute += error.abs();
        self.nlpd += 0.5 * (libm::log(2.0 * std::f64::consts::PI * variance) + error * error / variance);
        self.n_inside += u64::from(error.abs() <= NINETY * libm::sqrt(variance));
        self.mean += from_mean / self.n_rows as f64;
        self.spread += from_mean * (truth - self.mean);
    }

    /// Adds all predictions of another.
    pub fn merge(&mut self, other: &Self) {
        let [own, others] = [self.n_rows, other.n_rows].map(|n| n as f64);
        let (all, apart) = ((own + others).max(1.0), other.mean - self.mean);
        self.n_rows += other.n_rows;
        self.squares += other.squares;
        self.absolute += other.absolute;
        self.nlpd += other.nlpd;
        self.n_inside += other.n_inside;
        self.mean += apart * others / all;
        self.spread += other.spread + apart * apart * own * others / all;
    }

    /// How many predictions there have been.
    pub fn n_rows(&self) -> u64 {
        self.n_rows
    }

    /// The figures.
    pub fn report(&self) -> ValueReport {
        let n = self.n_rows.max(1) as f64;
        ValueReport {
            rmse: libm::sqrt(self.squares / n),
            mae: self.absolute / n,
            nlpd: self.nlpd / n,
            coverage90: self.n_inside as f64 / n,
            nmse: (self.spread > 0.0).then_some(self.squares / self.spread),
        }
    }
}

impl ValueReport {
    /// Evaluates predictions by the true values.
    pub fn new(predictions: &Normals, truth: &[f64]) -> Result<Self> {
        let Normals { mean, variance } = predictions;
        check_shapes([("values", mean.len(), truth.len()), ("variances", mean.len(), variance.len())])?;
        let mut running = RunningValues::default();
        for ((mean, variance), truth) in mean.iter().zip(variance).zip(truth) {
            running.add(*mean, *variance, *truth);
        }
        Ok(running.report())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_by_hand() {
        let predictions = Normals { mean: vec![1.0, 2.0, 4.0], variance: vec![1.0, 0.01, 4.0] };
        let report = ValueReport::new(&predictions, &[1.0, 3.0, 2.0]).unwrap();
        assert!((report.rmse - (5.0_f64 / 3.0).sqrt()).abs() < 1e-15 && (report.mae - 1.0).abs() < 1e-15);
        let log = (2.0 * std::f64::consts::PI).ln();
        let expected =
            (0.5 * log + 0.5 * (log + 0.01_f64.ln() + 100.0) + 0.5 * (log + 4.0_f64.ln() + 1.0)) / 3.0;
        assert!((report.nlpd - expected).abs() < 1e-12);
        assert!((report.coverage90 - 2.0 / 3.0).abs() < 1e-15);
        assert!((report.nmse.unwrap() - 2.5).abs() < 1e-12);
        assert!(ValueReport::new(&predictions, &[1.0]).is_err());
    }

    #[test]
    fn parts_are_merged() {
        let rows = [(1.0, 1.0, 1.5), (2.0, 0.1, 3.0), (4.0, 4.0, -2.0), (0.0, 2.0, 7.0), (5.0, 1.0, 5.5)];
        let of = |rows: &[(f64, f64, f64)]| {
            let mut running = RunningValues::default();
            rows.iter().for_each(|&(mean, variance, truth)| running.add(mean, variance, truth));
            running
        };
        for cut in 0..=rows.len() {
            let mut merged = of(&rows[..cut]);
            merged.merge(&of(&rows[cut..]));
            let (merged, whole) = (merged.report(), of(&rows).report());
            let figures = |r: ValueReport| [r.rmse, r.mae, r.nlpd, r.coverage90, r.nmse.unwrap()];
            let pairs = figures(merged).into_iter().zip(figures(whole));
            pairs.for_each(|(a, b)| assert!((a - b).abs() < 1e-12, "{merged:?} {whole:?}"));
        }
    }
}
