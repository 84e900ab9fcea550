//! Classification by regression on labels (Rasmussen & Williams, 2006, section 6.5): labels are taken for values with normal noise, and one factor serves all classes.
//!
//! ```text
//! L Lᵀ = K + σ²I,   α = (K + σ²I)⁻¹ (Y − m),   score(x) = m + k(x)ᵀα
//! ```
//!
//! How a row would be scored without itself comes for free: `y − α_i / ((K + σ²I)⁻¹)_ii`.

use hedgerow_core::{DataProblem, Error, Par, Result};
use ndarray::{Array1, Array2, ArrayView2, Axis};

use crate::kernel::Kernel;
use crate::linalg::{Cholesky, mat_mul};
use crate::regression::{check_rows, checked_cross};

/// Scores for any number of classes from one factor.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelRegression {
    kernel: Kernel,
    noise_variance: f64,
    x: Array2<f64>,
    /// What each column of labels is before anything is known.
    offsets: Array1<f64>,
    /// α: a row a training row, a column a class.
    weights: Array2<f64>,
    factor: Cholesky,
    log_evidence: f64,
}

impl LabelRegression {
    /// Learns labels (a column a class, ±1 for example) of rows. The mean of each column is taken off first and put back in predictions; the kernel
    /// is without noise, which comes apart.
    pub fn fit(
        kernel: Kernel,
        noise_variance: f64,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        par: &Par,
    ) -> Result<Self> {
        let offsets = y.mean_axis(Axis(0)).ok_or(DataProblem::Empty)?;
        Self::with_offsets(kernel, noise_variance, x, y, offsets, par)
    }

    /// The same with known means.
    pub(crate) fn with_offsets(
        kernel: Kernel,
        noise_variance: f64,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        offsets: Array1<f64>,
        par: &Par,
    ) -> Result<Self> {
        check_rows(&kernel, x, "rows of labels", y.nrows())?;
        if !(noise_variance.is_finite() && noise_variance >= 0.0) {
            return Err(Error::param("noise_variance", "a number, 0 or above", noise_variance));
        }
        let mut covariance = kernel.matrix(x, par);
        covariance.diag_mut().iter_mut().for_each(|v| *v += noise_variance);
        let factor = Cholesky::robust_in_place(covariance, par)?;
        let rest = (&y - &offsets).t().as_standard_layout().into_owned();
        let mut weights = rest.clone();
        factor.forward_rows(&mut weights, par);
        factor.backward_rows(&mut weights, par);
        let quadratic: f64 = rest.iter().zip(&weights).map(|(r, w)| r * w).sum();
        let each = factor.log_det() + x.nrows() as f64 * libm::log(2.0 * std::f64::consts::PI);
        let log_evidence = -0.5 * (quadratic + y.ncols() as f64 * each);
        let weights = weights.t().as_standard_layout().into_owned();
        Ok(Self { kernel, noise_variance, x: x.to_owned(), offsets, weights, factor, log_evidence })
    }

    /// What each column of labels is before anything is known.
    pub fn offsets(&self) -> &Array1<f64> {
        &self.offsets
    }

    /// α: a row a training row, a column a class.
    pub fn weights(&self) -> &Array2<f64> {
        &self.weights
    }

    /// The logarithm of the density of all labels, summed over classes.
    pub fn log_evidence(&self) -> f64 {
        self.log_evidence
    }

    /// Its derivatives with respect to the kernel's parameters, and last that with respect to the logarithm of the noise.
    pub fn evidence_gradient(&self, par: &Par) -> Vec<f64> {
        let n_classes = self.weights.ncols() as f64;
        let mut w = mat_mul(self.weights.view(), self.weights.t(), par);
        w.zip_mut_with(&self.factor.inverse(par), |w, inverse| *w = 0.5 * (*w - n_classes * inverse));
        let of_noise = w.diag().sum() * self.noise_variance;
        let mut gradient = self.kernel.gradient(self.x.view(), &w, par);
        gradient.push(of_noise);
        gradient
    }

    /// The scores of each training row as they would be without it, given its labels again. The means are those of all rows.
    pub fn without_each(&self, y: ArrayView2<'_, f64>, par: &Par) -> Array2<f64> {
        let diagonal = self.factor.inverse_diagonal(par).insert_axis(Axis(1));
        &y - &(&self.weights / &diagonal)
    }

    /// A score a class for each row.
    pub fn scores(&self, x: ArrayView2<'_, f64>, par: &Par) -> Result<Array2<f64>> {
        let cross = checked_cross(&self.kernel, x, self.x.view(), par)?;
        Ok(mat_mul(cross.view(), self.weights.view(), par) + &self.offsets)
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::rng::{Purpose, Rng};
    use ndarray::array;

    use super::*;
    use crate::kernel::{Metric, Shape};

    /// Reference values.
    #[test]
    fn four_rows_give_the_reference_values() {
        let par = Par::sequential();
        let x = array![[0.0], [1.0], [2.0], [3.0]];
        let y = array![[1.0], [1.0], [-1.0], [-1.0]];
        let model = LabelRegression::fit(Kernel::rbf(1.0), 0.1, x.view(), y.view(), &par).unwrap();
        for (got, expected) in model.weights().iter().zip([0.070_642, 1.959_015, -1.959_015, -0.070_642]) {
            assert!((got - expected).abs() < 1e-6, "{got}");
        }
        let at = array![[0.5]];
        assert!((model.scores(at.view(), &par).unwrap()[(0, 0)] - 1.152_063).abs() < 1e-6);
        assert!((model.log_evidence() + 5.276_796).abs() < 1e-6);
    }

    fn three_classes(n: usize) -> (Array2<f64>, Array2<f64>) {
        let mut rng = Rng::new(3, Purpose::Data, 0);
        let x = Array2::from_shape_fn((n, 2), |_| 4.0 * rng.unit() - 2.0);
        let class = |r: usize| if x[(r, 0)] > 0.7 { 0 } else { 1 + usize::from(x[(r, 1)] > x[(r, 0)]) };
        let y = Array2::from_shape_fn((n, 3), |(r, c)| if class(r) == c { 1.0 } else { -1.0 });
        (x, y)
    }

    #[test]
    fn scores_without_a_row_are_those_of_a_fit_without_it() {
        let par = Par::new(2).unwrap();
        let (x, y) = three_classes(40);
        let model = LabelRegression::fit(Kernel::matern(1.5, 0.8), 0.05, x.view(), y.view(), &par).unwrap();
        let without = model.without_each(y.view(), &par);
        for left in [0, 7, 39] {
            let others: Vec<usize> = (0..40).filter(|r| *r != left).collect();
            let (x_rest, y_rest) = (x.select(Axis(0), &others), y.select(Axis(0), &others));
            let naive = LabelRegression::with_offsets(
                Kernel::matern(1.5, 0.8),
                0.05,
                x_rest.view(),
                y_rest.view(),
                model.offsets().clone(),
                &par,
            )
            .unwrap()
            .scores(x.select(Axis(0), &[left]).view(), &par)
            .unwrap();
            assert!(naive.row(0).iter().zip(without.row(left)).all(|(a, b)| (a - b).abs() < 1e-9));
        }
    }

    #[test]
    fn the_gradient_agrees_with_differences() {
        let par = Par::sequential();
        let (x, y) = three_classes(25);
        let kernel =
            Kernel::Stationary { shape: Shape::Rbf, metric: Metric::Each(vec![0.8, 1.4]) }.scaled(1.3);
        let parameters: Vec<f64> = kernel.parameters().into_iter().chain([0.05_f64.ln()]).collect();
        let at = |parameters: &[f64]| {
            let (noise, own) = parameters.split_last().unwrap();
            let moved = kernel.with_parameters(own);
            LabelRegression::fit(moved, noise.exp(), x.view(), y.view(), &par).unwrap()
        };
        for (i, derivative) in at(&parameters).evidence_gradient(&par).into_iter().enumerate() {
            let moved = |h: f64| {
                let mut parameters = parameters.clone();
                parameters[i] += h;
                at(&parameters).log_evidence()
            };
            let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!(
                (difference - derivative).abs() < 1e-5 * (1.0 + derivative.abs()),
                "{i}: {difference} {derivative}"
            );
        }
    }

    #[test]
    fn wrong_input_is_refused() {
        let par = Par::sequential();
        let (x, y) = three_classes(5);
        let fit = |noise: f64, rows: usize| {
            LabelRegression::fit(Kernel::rbf(1.0), noise, x.view(), y.slice(ndarray::s![..rows, ..]), &par)
        };
        assert!(
            fit(-1.0, 5).is_err() && fit(f64::NAN, 5).is_err() && fit(0.1, 4).is_err() && fit(0.0, 5).is_ok()
        );
        assert!(fit(0.1, 5).unwrap().scores(Array2::zeros((1, 3)).view(), &par).is_err());
    }
}
