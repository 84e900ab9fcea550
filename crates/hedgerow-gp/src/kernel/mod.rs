//! Kernels: how alike two rows are, as an expression of simple ones.
//!
//! [`Kernel`] is a tree: leaves are similarities ([`Shape`] over a [`Metric`], or functions of the inner product), inner nodes
//! add, multiply and scale. Parameters are one flat list of logarithms, so that any optimizer can move them freely; derivatives come as
//! contractions with a weight matrix, never as one matrix a parameter.

mod given;
mod matches;
mod metric;
mod pairs;
mod shape;

use std::ops::{Add, Mul};

use hedgerow_core::{Error, Par, Result};
use ndarray::{Array1, Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

pub use given::Given;
pub use matches::matching_shares;
pub use metric::Metric;
use metric::square_distances;
use pairs::{Pairs, Same};
pub use shape::Shape;

/// A kernel.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kernel {
    /// A function of the distance.
    Stationary {
        /// How similarity falls.
        shape: Shape,
        /// What distance is.
        metric: Metric,
    },
    /// (xᵀy + c)^degree; with degree 1 the linear kernel.
    Polynomial {
        /// The degree, 1 or more.
        degree: u16,
        /// c, above 0.
        offset: f64,
    },
    /// tanh(a xᵀy + c). Not positive definite for all values.
    Sigmoid {
        /// a, above 0.
        slope: f64,
        /// c, above 0.
        offset: f64,
    },
    /// 1 for every pair.
    #[default]
    Constant,
    /// 1 for a training row and itself (the same row, not an equal one), 0 otherwise: noise.
    White,
    /// The share of columns in which two rows are equal. With a node number for each tree as columns, this is the kernel of a
    /// random forest.
    Matches,
    /// A kernel given as a matrix; rows have one column, their number in it. It is not saved.
    #[serde(skip)]
    Given(Given),
    /// A kernel times a variance.
    Scaled {
        /// The variance, above 0.
        variance: f64,
        /// The kernel.
        kernel: Box<Kernel>,
    },
    /// The sum of kernels.
    Sum(Vec<Kernel>),
    /// The product of kernels.
    Product(Vec<Kernel>),
}

impl Kernel {
    /// The variance of a kernel that is noise and nothing else.
    pub(crate) fn as_noise(&self) -> Option<f64> {
        match self {
            Self::White => Some(1.0),
            Self::Scaled { variance, kernel } => kernel.as_noise().map(|inner| variance * inner),
            _ => None,
        }
    }

    /// exp(−r²/2l²), one length for all columns.
    pub fn rbf(length: f64) -> Self {
        Self::Stationary { shape: Shape::Rbf, metric: Metric::One(length) }
    }

    /// A Matérn kernel.
    pub fn matern(nu: f64, length: f64) -> Self {
        Self::Stationary { shape: Shape::Matern { nu }, metric: Metric::One(length) }
    }

    /// xᵀy + c.
    pub fn linear(offset: f64) -> Self {
        Self::Polynomial { degree: 1, offset }
    }

    /// Noise of a variance.
    pub fn white(variance: f64) -> Self {
        Self::White.scaled(variance)
    }

    /// The kernel times a variance.
    #[must_use]
    pub fn scaled(self, variance: f64) -> Self {
        Self::Scaled { variance, kernel: Box::new(self) }
    }

    /// Fails unless all numbers are possible ones and the kernel can see rows of so many columns.
    pub fn check(&self, n_columns: usize) -> Result<()> {
        let positive = |name: &str, value: f64| {
            if value.is_finite() && value > 0.0 {
                Ok(())
            } else {
                Err(Error::param(name, "a number above 0", value))
            }
        };
        match self {
            Self::Stationary { shape, metric } => {
                if !shape.is_valid() {
                    let expected = "nu from above 0 to 100, alpha above 0, power of 1 or more";
                    return Err(Error::param("kernel", expected, format!("{shape:?}")));
                }
                if !metric.fits(n_columns) {
                    let expected =
                        format!("lengths above 0, one for all or one for each of {n_columns} columns");
                    return Err(Error::param("length_scale", expected, format!("{metric:?}")));
                }
                Ok(())
            }
            Self::Polynomial { degree: 0, .. } => Err(Error::param("degree", "1 or more", 0)),
            Self::Polynomial { offset, .. } => positive("offset", *offset),
            Self::Sigmoid { slope, offset } => {
                positive("slope", *slope)?;
                positive("offset", *offset)
            }
            Self::Constant | Self::White | Self::Matches => Ok(()),
            Self::Given(_) if n_columns == 1 => Ok(()),
            Self::Given(_) => Err(Error::Shape {
                what: "columns for a kernel given as a matrix",
                expected: 1,
                got: n_columns,
            }),
            Self::Scaled { variance, kernel } => {
                positive("variance", *variance)?;
                kernel.check(n_columns)
            }
            Self::Sum(kernels) | Self::Product(kernels) => {
                if kernels.is_empty() {
                    return Err(Error::param("kernel", "one kernel or more to add or multiply", "none"));
                }
                kernels.iter().try_for_each(|kernel| kernel.check(n_columns))
            }
        }
    }

    /// Fails unless the kernel can see these rows.
    pub fn check_rows(&self, x: ArrayView2<'_, f64>) -> Result<()> {
        self.check(x.ncols())?;
        self.check_values(x)
    }

    fn check_values(&self, x: ArrayView2<'_, f64>) -> Result<()> {
        match self {
            Self::Given(given) => given.check_rows(x),
            Self::Scaled { kernel, .. } => kernel.check_values(x),
            Self::Sum(kernels) | Self::Product(kernels) => {
                kernels.iter().try_for_each(|kernel| kernel.check_values(x))
            }
            _ => Ok(()),
        }
    }

    /// The covariances of training rows with each other, noise on the diagonal.
    pub fn matrix(&self, x: ArrayView2<'_, f64>, par: &Par) -> Array2<f64> {
        Pairs { a: x, b: x, same: Same::Whole, par }.of(self, 1.0)
    }

    /// The same up to the diagonal; what is above it means nothing.
    pub(crate) fn lower(&self, x: ArrayView2<'_, f64>, par: &Par) -> Array2<f64> {
        Pairs { a: x, b: x, same: Same::Lower, par }.of(self, 1.0)
    }

    /// The covariances of rows of `a` with rows of `b`, without noise.
    pub fn cross(&self, a: ArrayView2<'_, f64>, b: ArrayView2<'_, f64>, par: &Par) -> Array2<f64> {
        Pairs { a, b, same: Same::No, par }.of(self, 1.0)
    }

    /// The variance of each row, without noise.
    pub fn diagonal(&self, x: ArrayView2<'_, f64>) -> Array1<f64> {
        let inner = |of: &dyn Fn(f64) -> f64| x.map_axis(Axis(1), |row| of(row.dot(&row)));
        match self {
            Self::Stationary { .. } | Self::Constant | Self::Matches => Array1::ones(x.nrows()),
            Self::Given(given) => x.map_axis(Axis(1), |row| given.value(row[0], row[0])),
            Self::White => Array1::zeros(x.nrows()),
            Self::Polynomial { .. } | Self::Sigmoid { .. } => inner(&|v| self.of_product(v)),
            Self::Scaled { variance, kernel } => kernel.diagonal(x) * *variance,
            Self::Sum(kernels) => kernels.iter().fold(Array1::zeros(x.nrows()), |sum, k| sum + k.diagonal(x)),
            Self::Product(kernels) => kernels.iter().fold(Array1::ones(x.nrows()), |p, k| p * k.diagonal(x)),
        }
    }

    /// The parameters with their names.
    fn named(&mut self) -> Vec<(String, &mut f64)> {
        match self {
            Self::Stationary { shape, metric } => metric.named().into_iter().chain(shape.named()).collect(),
            Self::Polynomial { offset, .. } => vec![("offset".into(), offset)],
            Self::Sigmoid { slope, offset } => vec![("slope".into(), slope), ("offset".into(), offset)],
            Self::Constant | Self::White | Self::Matches | Self::Given(_) => Vec::new(),
            Self::Scaled { variance, kernel } => {
                let own = if matches!(**kernel, Self::White) { "noise_variance" } else { "signal_variance" };
                std::iter::once((own.into(), variance)).chain(kernel.named()).collect()
            }
            Self::Sum(kernels) | Self::Product(kernels) => kernels.iter_mut().flat_map(Self::named).collect(),
        }
    }

    /// The logarithms of the parameters.
    pub fn parameters(&self) -> Vec<f64> {
        self.clone().named().into_iter().map(|(_, value)| libm::log(*value)).collect()
    }

    /// What the parameters are called.
    pub fn parameter_names(&self) -> Vec<String> {
        self.clone().named().into_iter().map(|(name, _)| name).collect()
    }

    /// The same kernel with other parameters, as [`Kernel::parameters`] gives them.
    #[must_use]
    pub fn with_parameters(&self, logarithms: &[f64]) -> Self {
        let mut kernel = self.clone();
        kernel.named().into_iter().zip(logarithms).for_each(|((_, to), log)| *to = libm::exp(*log));
        kernel
    }

    /// For each parameter θ, Σ `w_ij` ∂`k(x_i, x_j)`/∂θ over all pairs of training rows; `weights` must be symmetric.
    pub fn gradient(&self, x: ArrayView2<'_, f64>, weights: &Array2<f64>, par: &Par) -> Vec<f64> {
        match self {
            Self::Stationary { shape, metric } => {
                let mapped = metric.map(x);
                let r2 = square_distances(&mapped, &mapped, Same::Whole, par, |_| ());
                let mut v = weights.clone();
                v.zip_mut_with(&r2, |v, &r2| *v *= if r2 > 0.0 { shape.slope(r2) / r2 } else { 0.0 });
                let mut gradient = metric.gradient(x, &v);
                let terms = weights.iter().zip(&r2).map(|(w, &r2)| Some(w * shape.own_slope(r2)?));
                gradient.extend(terms.sum::<Option<f64>>());
                gradient
            }
            Self::Polynomial { .. } | Self::Sigmoid { .. } => self.gradient_of_product(x, weights),
            Self::Constant | Self::White | Self::Matches | Self::Given(_) => Vec::new(),
            Self::Scaled { variance, kernel } => {
                let own = (weights * &kernel.matrix(x, par)).sum() * variance;
                let inner = kernel.gradient(x, &(weights * *variance), par);
                std::iter::once(own).chain(inner).collect()
            }
            Self::Sum(kernels) => {
                kernels.iter().flat_map(|kernel| kernel.gradient(x, weights, par)).collect()
            }
            Self::Product(kernels) => {
                let matrices: Vec<Array2<f64>> = kernels.iter().map(|kernel| kernel.matrix(x, par)).collect();
                let of = |(i, kernel): (usize, &Self)| {
                    let others = matrices.iter().enumerate().filter(|(j, _)| *j != i);
                    let weights = others.fold(weights.clone(), |w, (_, matrix)| w * matrix);
                    kernel.gradient(x, &weights, par)
                };
                kernels.iter().enumerate().flat_map(of).collect()
            }
        }
    }

    /// The value of a kernel of the inner product.
    fn of_product(&self, product: f64) -> f64 {
        match self {
            Self::Polynomial { degree, offset } => (product + offset).powi(i32::from(*degree)),
            Self::Sigmoid { slope, offset } => libm::tanh(slope * product + offset),
            _ => product,
        }
    }

    fn gradient_of_product(&self, x: ArrayView2<'_, f64>, weights: &Array2<f64>) -> Vec<f64> {
        let products = x.dot(&x.t());
        let sum =
            |of: &dyn Fn(f64) -> f64| weights.iter().zip(&products).map(|(w, &p)| w * of(p)).sum::<f64>();
        match *self {
            Self::Polynomial { degree, offset } => {
                vec![sum(&|p| offset * f64::from(degree) * (p + offset).powi(i32::from(degree) - 1))]
            }
            Self::Sigmoid { slope, offset } => {
                let steep = |p: f64| 1.0 - libm::tanh(slope * p + offset).powi(2);
                vec![sum(&|p| slope * p * steep(p)), sum(&|p| offset * steep(p))]
            }
            _ => Vec::new(),
        }
    }
}

impl Add for Kernel {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let terms = |kernel: Self| if let Self::Sum(kernels) = kernel { kernels } else { vec![kernel] };
        Self::Sum(terms(self).into_iter().chain(terms(other)).collect())
    }
}

impl Mul for Kernel {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let factors = |kernel: Self| if let Self::Product(kernels) = kernel { kernels } else { vec![kernel] };
        Self::Product(factors(self).into_iter().chain(factors(other)).collect())
    }
}

#[cfg(test)]
mod tests;
