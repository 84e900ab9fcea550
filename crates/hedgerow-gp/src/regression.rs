//! Exact Gaussian-process regression (Rasmussen & Williams, 2006, chapter 2).

use hedgerow_core::saved::array;
use hedgerow_core::{DataProblem, Error, Par, Result};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use crate::kernel::Kernel;
use crate::linalg::Cholesky;

/// The posterior of a Gaussian process given values at some rows. With a known mean this is simple kriging.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GpRegression {
    kernel: Kernel,
    /// The prior mean.
    mean: f64,
    #[serde(with = "array")]
    x: Array2<f64>,
    /// What was observed, less the mean.
    #[serde(with = "array")]
    rest: Array1<f64>,
    #[serde(skip)]
    factor: Cholesky,
    /// (K + noise)⁻¹ rest.
    #[serde(skip)]
    alpha: Array1<f64>,
}

/// What is known about values: a normal distribution for each row.
#[derive(Debug, Clone, PartialEq)]
pub struct Normal {
    /// The means.
    pub mean: Array1<f64>,
    /// The variances of the values themselves, without the noise of an observation.
    pub variance: Array1<f64>,
}

impl GpRegression {
    /// Learns values at rows. Noise is part of the kernel ([`Kernel::white`]).
    pub fn fit(
        kernel: Kernel,
        mean: f64,
        x: ArrayView2<'_, f64>,
        y: ArrayView1<'_, f64>,
        par: &Par,
    ) -> Result<Self> {
        check_rows(&kernel, x, "values", y.len())?;
        let factor = Cholesky::robust(&kernel.matrix(x, par), par)?;
        let rest = y.mapv(|v| v - mean);
        let alpha = factor.solve(rest.view());
        Ok(Self { kernel, mean, x: x.to_owned(), rest, factor, alpha })
    }

    /// The posterior of rows that were read, if they fit the kernel.
    pub(crate) fn complete(&mut self, par: &Par) -> Result<()> {
        let y = self.rest.mapv(|rest| rest + self.mean);
        *self = Self::fit(self.kernel.clone(), self.mean, self.x.view(), y.view(), par)?;
        Ok(())
    }

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The rows that were learnt.
    pub fn rows(&self) -> ArrayView2<'_, f64> {
        self.x.view()
    }

    /// What was observed there, less the prior mean.
    pub fn rest(&self) -> ArrayView1<'_, f64> {
        self.rest.view()
    }

    /// The logarithm of the probability of what was observed.
    pub fn log_evidence(&self) -> f64 {
        self.known().log_density(&self.rest)
    }

    /// Its derivatives with respect to the kernel's parameters: ½ tr((ααᵀ − K⁻¹) ∂K).
    pub fn evidence_gradient(&self, par: &Par) -> Vec<f64> {
        self.known().density_gradient(par)
    }

    /// What is known about the values at other rows.
    pub fn predict(&self, x: ArrayView2<'_, f64>, par: &Par) -> Result<Normal> {
        let Normal { mean, variance } = self.known().at(x, par)?;
        Ok(Normal { mean: mean + self.mean, variance })
    }

    /// What would be predicted of each training row, its noise included, without its own value: with `K⁻¹` of the covariances with noise and `α = K⁻¹ (y − m)`, the
    /// mean `y_i − α_i/(K⁻¹)_ii` and the variance `1/(K⁻¹)_ii` (Rasmussen & Williams, 2006, equations 5.10 to 5.12).
    pub fn without_each(&self, par: &Par) -> Normal {
        let diagonal = self.factor.inverse_diagonal(par);
        let mean = &self.rest - &(&self.alpha / &diagonal) + self.mean;
        Normal { mean, variance: diagonal.mapv(|v| 1.0 / v) }
    }

    fn known(&self) -> Known<'_> {
        let Self { kernel, x, alpha, factor, .. } = self;
        Known { kernel, x: x.view(), alpha, root: None, factor }
    }
}

/// Rows must suit the kernel, and there must be some, with as many of what is to be learnt.
pub(crate) fn check_rows(
    kernel: &Kernel,
    x: ArrayView2<'_, f64>,
    what: &'static str,
    got: usize,
) -> Result<()> {
    kernel.check_rows(x)?;
    if x.nrows() != got {
        return Err(Error::Shape { what, expected: x.nrows(), got });
    }
    if x.nrows() == 0 {
        return Err(DataProblem::Empty.into());
    }
    Ok(())
}

/// The posterior at some rows in the form that every model here has: the mean elsewhere is k*ᵀα, the variance k** − |L⁻¹ R k*|² with
/// R the diagonal matrix of `root`, or the identity.
pub(crate) struct Known<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) x: ArrayView2<'a, f64>,
    pub(crate) alpha: &'a Array1<f64>,
    pub(crate) root: Option<&'a Array1<f64>>,
    pub(crate) factor: &'a Cholesky,
}

impl Known<'_> {
    /// The log density of values with A = L Lᵀ as their covariance and A⁻¹ values = α: −½ log|A| − ½ yᵀα − (n/2) log 2π.
    pub(crate) fn log_density(&self, values: &Array1<f64>) -> f64 {
        let n = values.len() as f64;
        -0.5 * (values.dot(self.alpha) + self.factor.log_det() + n * libm::log(2.0 * std::f64::consts::PI))
    }

    /// Its derivatives with respect to the kernel's parameters: ½ tr((ααᵀ − A⁻¹) ∂K).
    pub(crate) fn density_gradient(&self, par: &Par) -> Vec<f64> {
        let column = self.alpha.view().insert_axis(Axis(1));
        let weights = (column.dot(&column.t()) - self.factor.inverse(par)) * 0.5;
        self.kernel.gradient(self.x, &weights, par)
    }

    /// The posterior at other rows.
    pub(crate) fn at(&self, x: ArrayView2<'_, f64>, par: &Par) -> Result<Normal> {
        let mut cross = checked_cross(self.kernel, x, self.x, par)?;
        let mean = cross.dot(self.alpha);
        if let Some(root) = self.root {
            cross *= root;
        }
        let variance = unexplained(&self.kernel.diagonal(x), self.factor, cross, par);
        Ok(Normal { mean, variance })
    }
}

/// The covariances of rows with training rows, if they have as many columns and suit the kernel.
pub(crate) fn checked_cross(
    kernel: &Kernel,
    x: ArrayView2<'_, f64>,
    rows: ArrayView2<'_, f64>,
    par: &Par,
) -> Result<Array2<f64>> {
    let (expected, got) = (rows.ncols(), x.ncols());
    if got != expected {
        return Err(Error::Shape { what: "feature columns", expected, got });
    }
    kernel.check_rows(x)?;
    Ok(kernel.cross(x, rows, par))
}

/// What is left of the variance of each row, k** − |L⁻¹ k*|², given its covariances k*.
pub(crate) fn unexplained(
    own: &Array1<f64>,
    factor: &Cholesky,
    mut cross: Array2<f64>,
    par: &Par,
) -> Array1<f64> {
    factor.forward_rows(&mut cross, par);
    (own - &cross.map_axis(Axis(1), |row| row.dot(&row))).mapv(|v| v.max(0.0))
}

#[cfg(test)]
pub(crate) mod tests {
    use hedgerow_core::rng::Rng;
    use ndarray::array;

    use super::*;

    /// A function drawn from the prior, at the rows given.
    pub(crate) fn drawn(kernel: &Kernel, x: ArrayView2<'_, f64>, rng: &mut Rng) -> Array1<f64> {
        let factor = Cholesky::robust(&kernel.matrix(x, &Par::sequential()), &Par::sequential()).unwrap();
        let z = Array1::from_shape_fn(x.nrows(), |_| rng.normal());
        factor.lower().dot(&z)
    }

    fn three() -> (Array2<f64>, Array1<f64>) {
        (array![[0.0], [1.0], [3.0]], array![0.5, 1.0, -0.2])
    }

    fn kernel(length: f64, signal: f64, noise: f64) -> Kernel {
        Kernel::rbf(length).scaled(signal) + Kernel::white(noise)
    }

    #[test]
    fn three_points_give_the_reference_values() {
        let ((x, y), par) = (three(), Par::sequential());
        let gp = GpRegression::fit(kernel(1.0, 1.0, 0.01), 0.0, x.view(), y.view(), &par).unwrap();
        for (got, expected) in gp.alpha.iter().zip([-0.193_745, 1.153_405, -0.350_440]) {
            assert!((got - expected).abs() < 1e-6);
        }
        let at = gp.predict(array![[2.0]].view(), &par).unwrap();
        assert!((at.mean[0] - 0.460_803).abs() < 1e-6 && (at.variance[0] - 0.300_228).abs() < 1e-6);
        assert!((gp.log_evidence() + 3.098_498).abs() < 1e-6);
    }

    #[test]
    fn the_gradient_agrees_with_differences() {
        let ((x, y), par) = (three(), Par::sequential());
        let start = kernel(0.8, 1.5, 0.05);
        let gp = GpRegression::fit(start.clone(), 0.1, x.view(), y.view(), &par).unwrap();
        for (i, derivative) in gp.evidence_gradient(&par).into_iter().enumerate() {
            let at = |h: f64| {
                let mut parameters = start.parameters();
                parameters[i] += h;
                let moved = start.with_parameters(&parameters);
                GpRegression::fit(moved, 0.1, x.view(), y.view(), &par).unwrap().log_evidence()
            };
            assert!(((at(1e-5) - at(-1e-5)) / 2e-5 - derivative).abs() < 1e-7);
        }
    }

    #[test]
    fn predictions_without_a_row_are_those_of_a_fit_without_it() {
        let (par, mut rng) = (Par::new(2).unwrap(), Rng::new(4, hedgerow_core::rng::Purpose::Data, 0));
        let x = Array2::from_shape_fn((70, 2), |_| 4.0 * rng.unit());
        let (kernel, noise) = (kernel(0.9, 1.3, 0.05), 0.05);
        let y = drawn(&kernel, x.view(), &mut rng);
        let without =
            GpRegression::fit(kernel.clone(), 0.3, x.view(), y.view(), &par).unwrap().without_each(&par);
        let mut density = 0.0;
        for left in 0..70 {
            let others: Vec<usize> = (0..70).filter(|row| *row != left).collect();
            let (rest, of_rest) = (x.select(Axis(0), &others), y.select(Axis(0), &others));
            let naive = GpRegression::fit(kernel.clone(), 0.3, rest.view(), of_rest.view(), &par).unwrap();
            let at = naive.predict(x.select(Axis(0), &[left]).view(), &par).unwrap();
            let variance = at.variance[0] + noise;
            assert!((at.mean[0] - without.mean[left]).abs() < 1e-9, "{left}");
            assert!((variance - without.variance[left]).abs() < 1e-9, "{left}");
            let rest = y[left] - at.mean[0];
            density -= 0.5 * ((2.0 * std::f64::consts::PI * variance).ln() + rest * rest / variance);
        }
        // The sum of equation 5.11.
        let rests = &y - &without.mean;
        let sum: f64 = rests
            .iter()
            .zip(&without.variance)
            .map(|(r, v)| (2.0 * std::f64::consts::PI * v).ln() + r * r / v)
            .sum();
        assert!((density + 0.5 * sum).abs() < 1e-8);
    }

    #[test]
    fn hard_data_do_not_break_it() {
        let par = Par::sequential();
        let twins = array![[1.0], [1.0], [1.0]];
        let y = array![1.0, 2.0, 3.0];
        for (length, noise) in [(1.0, 1e-12), (1e-6, 1e-3), (1e9, 1e-9)] {
            let gp =
                GpRegression::fit(kernel(length, 1.0, noise), 0.0, twins.view(), y.view(), &par).unwrap();
            let at = gp.predict(array![[1.0], [1e12]].view(), &par).unwrap();
            assert!(at.mean.iter().chain(&at.variance).all(|v| v.is_finite()));
        }
        let empty = GpRegression::fit(
            Kernel::rbf(1.0),
            0.0,
            Array2::zeros((0, 1)).view(),
            Array1::zeros(0).view(),
            &par,
        );
        assert!(empty.is_err());
    }
}
