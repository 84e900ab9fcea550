//! Metrics of predicted numbers with a variance.

use serde::Serialize;

use crate::error::{Result, check_shapes};
use crate::traits::Normals;

/// Half the width, in deviations, of the interval that holds 90 % of a normal distribution.
const NINETY: f64 = 1.644_853_626_951_472_2;

/// All metrics of one set of predicted numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
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

impl ValueReport {
    /// Evaluates predictions by the true values.
    pub fn new(predictions: &Normals, truth: &[f64]) -> Result<Self> {
        check_shapes([("values", predictions.mean.len(), truth.len())])?;
        let n = truth.len().max(1) as f64;
        let mean_of = |of: &dyn Fn(usize) -> f64| (0..truth.len()).map(of).sum::<f64>() / n;
        let error = |i: usize| truth[i] - predictions.mean[i];
        let variance = |i: usize| predictions.variance[i].max(1e-300);
        let mse = mean_of(&|i| error(i) * error(i));
        let mean = mean_of(&|i| truth[i]);
        let spread = mean_of(&|i| (truth[i] - mean) * (truth[i] - mean));
        Ok(Self {
            rmse: libm::sqrt(mse),
            mae: mean_of(&|i| error(i).abs()),
            nlpd: mean_of(&|i| {
                let log = libm::log(2.0 * std::f64::consts::PI * variance(i));
                0.5 * (log + error(i) * error(i) / variance(i))
            }),
            coverage90: mean_of(&|i| f64::from(u8::from(error(i).abs() <= NINETY * libm::sqrt(variance(i))))),
            nmse: (spread > 0.0).then_some(mse / spread),
        })
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
}
