//! Log odds that are a sum of weighted numbers, with what is known of the weights: Laplace's method.
//!
//! ```text
//! ln p/(1 − p) = fᵀ w,   w ~ N(0, P⁻¹)
//! w* = argmax Σ r_i [y_i ln p_i + (1 − y_i) ln(1 − p_i)] − ½ wᵀ P w        r: row weights
//! H = Fᵀ R F + P,  R = diag(r p (1 − p)),   w ∼ N(w*, H⁻¹)
//! ln p(y) ≈ what is largest at w* + ½ ln|P| − ½ ln|H|                      (MacKay, 1992, The evidence framework applied to classification networks)
//! ```

use hedgerow_core::saved::{array, require};
use hedgerow_core::{Par, Result};
use hedgerow_gp::linalg::Cholesky;
use ndarray::linalg::general_mat_mul;
use ndarray::{Array1, Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

const MOST_STEPS: usize = 60;
/// The smallest part of a step that is tried.
const LEAST_STEP: f64 = 1e-4;

/// Rows that a curve is fitted to.
pub(super) struct Task<'a> {
    /// Their numbers.
    pub(super) features: &'a Array2<f64>,
    /// Which of them are of the class, and what each counts.
    pub(super) is_own: &'a [bool],
    pub(super) weights: &'a [f64],
    /// The precision of the weight of each number.
    pub(super) precisions: &'a [f64],
}

/// The posterior of the weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Curve {
    #[serde(with = "array")]
    pub(super) weights: Vec<f64>,
    /// H, of which the factor is made.
    #[serde(with = "array")]
    precision: Array2<f64>,
    #[serde(skip)]
    factor: Cholesky,
}

impl Task<'_> {
    /// Minus the logarithm of what is largest at the peak.
    fn loss(&self, log_odds: &Array1<f64>, weights: &Array1<f64>) -> f64 {
        let of_row = |((z, is_own), weight): ((&f64, &bool), &f64)| {
            // ln(1 + e^z) − y z without overflow.
            let target = if *is_own { *z } else { 0.0 };
            weight * (z.max(0.0) + libm::log1p(libm::exp(-z.abs())) - target)
        };
        let of_rows: f64 = log_odds.iter().zip(self.is_own).zip(self.weights).map(of_row).sum();
        let of_weights: f64 = weights.iter().zip(self.precisions).map(|(w, p)| p * w * w).sum();
        of_rows + 0.5 * of_weights
    }

    /// The gradient, and H.
    fn derivatives(&self, log_odds: &Array1<f64>, weights: &Array1<f64>) -> (Array1<f64>, Array2<f64>) {
        let p = log_odds.mapv(|z| 1.0 / (1.0 + libm::exp(-z)));
        let error = Array1::from_shape_fn(p.len(), |i| {
            self.weights[i] * (p[i] - f64::from(u8::from(self.is_own[i])))
        });
        let mut gradient = self.features.t().dot(&error);
        gradient.iter_mut().zip(weights.iter().zip(self.precisions)).for_each(|(g, (w, p))| *g += p * w);
        let mut scaled = self.features.clone();
        for ((mut row, p), weight) in scaled.rows_mut().into_iter().zip(&p).zip(self.weights) {
            let factor = weight * p * (1.0 - p);
            row.iter_mut().for_each(|v| *v *= factor);
        }
        let width = weights.len();
        let mut precision = Array2::zeros((width, width));
        general_mat_mul(1.0, &self.features.t(), &scaled, 0.0, &mut precision);
        precision.diag_mut().iter_mut().zip(self.precisions).for_each(|(v, p)| *v += p);
        (gradient, precision)
    }

    /// The posterior and the log evidence, by Newton's method from these weights until a step gains less than `tolerance`.
    pub(super) fn fit(&self, start: Option<&[f64]>, tolerance: f64) -> Result<(Curve, f64)> {
        let par = Par::sequential();
        let mut weights =
            start.map_or_else(|| Array1::zeros(self.features.ncols()), |w| Array1::from(w.to_vec()));
        let mut log_odds = self.features.dot(&weights);
        let mut loss = self.loss(&log_odds, &weights);
        for _ in 0..MOST_STEPS {
            let (gradient, precision) = self.derivatives(&log_odds, &weights);
            let step = Cholesky::robust(&precision, &par)?.solve(gradient.view());
            let along = self.features.dot(&step);
            let (mut size, mut next) = (1.0, loss);
            while size > LEAST_STEP {
                let (moved, odds) = (&weights - &(&step * size), &log_odds - &(&along * size));
                next = self.loss(&odds, &moved);
                if next < loss {
                    (weights, log_odds) = (moved, odds);
                    break;
                }
                size /= 2.0;
            }
            let gained = loss - next;
            loss = f64::min(next, loss);
            if gained.is_nan() || gained <= tolerance {
                break;
            }
        }
        let (_, precision) = self.derivatives(&log_odds, &weights);
        let factor = Cholesky::robust(&precision, &par)?;
        let log_prior: f64 = self.precisions.iter().map(|p| libm::log(*p)).sum();
        let evidence = 0.5 * (log_prior - factor.log_det()) - loss;
        Ok((Curve { weights: weights.to_vec(), precision, factor }, evidence))
    }
}

impl Curve {
    /// Mean and variance of the log odds of rows with these numbers.
    pub(super) fn log_odds(&self, features: ArrayView2<'_, f64>) -> [Vec<f64>; 2] {
        let sum = |row: ndarray::ArrayView1<'_, f64>| row.iter().zip(&self.weights).map(|(f, w)| f * w).sum();
        let means = features.rows().into_iter().map(sum).collect();
        let mut spread = features.to_owned();
        self.factor.forward_rows(&mut spread, &Par::sequential());
        let square = |row: ndarray::ArrayView1<'_, f64>| row.iter().map(|v| v * v).sum();
        [means, spread.map_axis(Axis(1), square).to_vec()]
    }

    /// Fails unless it is of so many numbers; makes what was not written.
    pub(super) fn complete(&mut self, width: usize) -> Result<()> {
        let fits = self.weights.len() == width
            && self.precision.dim() == (width, width)
            && self.weights.iter().chain(&self.precision).all(|v| v.is_finite());
        require(fits, || format!("expected a curve of {width} weights"))?;
        self.factor = Cholesky::robust(&self.precision, &Par::sequential())?;
        Ok(())
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        8 * (self.weights.len() + 2 * self.precision.len())
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::rng::{Purpose, Rng};

    use super::*;

    #[test]
    fn a_constant_alone_is_the_log_odds_of_the_share_with_its_variance() {
        let n = 400;
        let features = Array2::ones((n, 1));
        let is_own: Vec<bool> = (0..n).map(|i| i % 4 == 0).collect();
        let task = Task { features: &features, is_own: &is_own, weights: &vec![1.0; n], precisions: &[1e-9] };
        let (curve, _) = task.fit(None, 1e-12).unwrap();
        let [mean, variance] = curve.log_odds(features.view());
        assert!((mean[0] - (1.0_f64 / 3.0).ln()).abs() < 1e-6);
        // 1/(n p (1 − p)).
        assert!((variance[0] - 1.0 / (400.0 * 0.25 * 0.75)).abs() < 1e-6);
    }

    /// The evidence as a sum over a grid of the one weight.
    #[test]
    fn the_evidence_is_nearly_the_integral() {
        let mut rng = Rng::new(1, Purpose::Data, 0);
        let features = Array2::from_shape_fn((60, 1), |_| rng.normal());
        let is_own: Vec<bool> = features.iter().map(|f| rng.unit() < 1.0 / (1.0 + f64::exp(-f))).collect();
        let weights: Vec<f64> = (0..60).map(|i| 0.5 + f64::from(i % 3)).collect();
        let task = Task { features: &features, is_own: &is_own, weights: &weights, precisions: &[0.5] };
        let (curve, evidence) = task.fit(Some(&[3.0]), 1e-12).unwrap();
        let log_likelihood = |w: f64| {
            let each = features.iter().zip(&is_own).zip(&weights);
            each.map(|((f, own), weight)| {
                let p = 1.0 / (1.0 + f64::exp(-f * w));
                weight * if *own { p.ln() } else { (1.0 - p).ln() }
            })
            .sum::<f64>()
        };
        let step = 1e-3;
        let density =
            |w: f64| log_likelihood(w).exp() * (0.5 / std::f64::consts::TAU).sqrt() * (-0.25 * w * w).exp();
        let grid: Vec<f64> = (-6000..6000).map(|i| step * f64::from(i)).collect();
        let integral = grid.iter().map(|w| step * density(*w)).sum::<f64>();
        assert!((evidence - integral.ln()).abs() < 0.02, "{evidence} {}", integral.ln());
        let mean = grid.iter().map(|w| step * w * density(*w)).sum::<f64>() / integral;
        let variance = grid.iter().map(|w| step * (w - mean).powi(2) * density(*w)).sum::<f64>() / integral;
        let [found, spread] = curve.log_odds(Array2::ones((1, 1)).view());
        assert!((found[0] - mean).abs() < 0.05 && (spread[0] / variance - 1.0).abs() < 0.1);
    }

    #[test]
    fn what_was_read_must_fit() {
        let features = Array2::from_shape_fn((20, 2), |(i, j)| (i * (j + 1)) as f64 / 20.0);
        let is_own: Vec<bool> = (0..20).map(|i| i > 8).collect();
        let task =
            Task { features: &features, is_own: &is_own, weights: &[1.0; 20], precisions: &[1.0, 1.0] };
        let (curve, _) = task.fit(None, 1e-9).unwrap();
        let mut read = Curve { factor: Cholesky::default(), ..curve.clone() };
        assert!(read.complete(3).is_err());
        read.complete(2).unwrap();
        assert_eq!(read, curve);
        read.precision[(0, 0)] = f64::NAN;
        assert!(read.complete(2).is_err());
    }
}
