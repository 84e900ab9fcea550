//! Parameters of exact Gaussian processes.

use hedgerow_core::params::{searched_or_given, within};
use hedgerow_core::{Error, Params, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kernel::{Kernel, Metric, Shape};
use crate::likelihood::Likelihood;

/// How labels are tied to the latent function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GpMethod {
    /// Regression on labels, with calibrated scores.
    Labels,
    /// Laplace's method, each class against the rest.
    Laplace,
    /// Expectation propagation, each class against the rest.
    Ep,
    /// Laplace's method for all classes at once.
    Softmax,
    /// Doubly stochastic Gaussian quadrature, each class against the rest.
    Dsgq,
    /// Classical indicator kriging.
    Cik,
    /// Simplicial indicator kriging.
    Sik,
}

impl GpMethod {
    /// Rows that the method takes unless it is told otherwise, and rows that it learns in a moment, when it is interrupted.
    pub(super) fn usual_and_hasty_rows(self) -> [usize; 2] {
        match self {
            Self::Labels | Self::Cik | Self::Sik => [20_000, 800],
            Self::Laplace => [5_000, 400],
            Self::Dsgq => [3_000, 150],
            Self::Softmax | Self::Ep => [2_000, 150],
        }
    }

    /// Bytes of the tables that training needs, nearly.
    pub(super) fn bytes(self, n_rows: usize, n_classes: usize) -> u64 {
        let tables = match (self, n_classes) {
            (Self::Labels | Self::Cik | Self::Sik, _) => 1,
            (Self::Dsgq, _) => 3,
            (Self::Laplace | Self::Ep, 2) => 4,
            (_, n_classes) => n_classes + 3,
        };
        8 * tables as u64 * n_rows as u64 * n_rows as u64
    }
}

/// Kernels by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KernelName {
    /// exp(−r²/2).
    Rbf,
    /// Matérn, ν = 1/2.
    Matern12,
    /// Matérn, ν = 3/2.
    Matern32,
    /// Matérn, ν = 5/2.
    Matern52,
    /// (1 + r²/2α)^−α.
    RationalQuadratic,
    /// exp(−r).
    Exponential,
    /// 1/√(1 + r²).
    InverseMultiquadric,
    /// xᵀy + c.
    Linear,
    /// (xᵀy + c)^degree.
    Polynomial,
}

impl KernelName {
    /// The shape, for kernels of a distance.
    pub(super) fn shape(self) -> Option<Shape> {
        Some(match self {
            Self::Rbf => Shape::Rbf,
            Self::Matern12 => Shape::Matern { nu: 0.5 },
            Self::Matern32 => Shape::Matern { nu: 1.5 },
            Self::Matern52 => Shape::Matern { nu: 2.5 },
            Self::RationalQuadratic => Shape::RationalQuadratic { alpha: 1.0 },
            Self::Exponential => Shape::Exponential,
            Self::InverseMultiquadric => Shape::InverseMultiquadric,
            Self::Linear | Self::Polynomial => return None,
        })
    }
}

/// Parameters of an exact Gaussian process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GpParams {
    /// How labels are tied to the latent function: labels (regression on labels, the fastest), laplace, ep, softmax, dsgq, cik or sik.
    /// A regression has labels only: numbers then are the labels.
    pub method: GpMethod,
    /// Kernel: rbf, matern12, matern32, matern52, rational-quadratic, exponential, inverse-multiquadric, linear or polynomial.
    pub kernel: KernelName,
    /// Degree of the polynomial kernel, 1 to 8.
    pub degree: u16,
    /// A length scale for each column instead of one for all.
    pub ard: bool,
    /// Length scale of the kernel, on prepared columns; 0 searches for it. Linear and polynomial kernels have none.
    pub length_scale: f64,
    /// Variance of the kernel; 0 searches for it (labels: 1, as only its ratio to the noise counts). In a regression it is in units of
    /// the variance of the targets.
    pub signal_variance: f64,
    /// Variance of the noise, in the same units; 0 searches for it.
    pub noise_variance: f64,
    /// Link of laplace: logistic or probit. The other methods have their own.
    pub likelihood: Likelihood,
    /// Rows at most; 0 for what suits the method: 20000 for labels, cik and sik (8 n² bytes, 3.2 GB), 5000 for laplace, 3000 for
    /// dsgq, 2000 for ep and softmax (8 n² bytes a class), 5000 for a regression. The ivm, and for a regression the rvm, take more rows.
    pub max_rows: usize,
    /// Seed of all random choices: same seed, same data, same model.
    pub seed: u64,
}

impl Default for GpParams {
    fn default() -> Self {
        Self {
            method: GpMethod::Labels,
            kernel: KernelName::Rbf,
            degree: 2,
            ard: false,
            length_scale: 0.0,
            signal_variance: 0.0,
            noise_variance: 0.0,
            likelihood: Likelihood::Logistic,
            max_rows: 0,
            seed: 0,
        }
    }
}

impl Params for GpParams {
    fn rules(&self) -> Result<()> {
        searched_or_given(&[
            ("length_scale", self.length_scale),
            ("signal_variance", self.signal_variance),
            ("noise_variance", self.noise_variance),
        ])?;
        within("degree", self.degree, 1..=8)
    }
}

impl GpParams {
    /// The kernel, without its variance and noise, for lengths. `offset` is that of kernels of the inner product.
    pub(super) fn plain(&self, metric: Metric, offset: f64) -> Kernel {
        match self.kernel.shape() {
            Some(shape) => Kernel::Stationary { shape, metric },
            None if self.kernel == KernelName::Linear => Kernel::linear(offset),
            None => Kernel::Polynomial { degree: self.degree, offset },
        }
    }

    /// Fails if there are more rows than the method can bear; `other` is a model that takes any number.
    pub(crate) fn check_rows(&self, n_rows: usize, usual: usize, other: &str) -> Result<()> {
        let most = if self.max_rows == 0 { usual } else { self.max_rows };
        if n_rows <= most {
            return Ok(());
        }
        let expected = format!(
            "{n_rows} or more for so many rows (time grows with their cube, memory with their square), or the model {other}, which takes any number"
        );
        Err(Error::param("max_rows", expected, most))
    }
}
