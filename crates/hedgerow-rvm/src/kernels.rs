//! Kernels by name.

use hedgerow_gp::{Kernel, Metric, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A family of kernels. Lengths are those of [`Shape`]: the widths of Tipping's programs, exp(−r²/w²), are √2 times as long.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KernelName {
    /// exp(−r²/2l²).
    #[default]
    Rbf,
    /// Matérn of order ½: exp(−r/l).
    Exponential,
    /// Matérn of order 1: rough, and not sparse.
    Matern1,
    /// Matérn of order 2.
    Matern2,
    /// Matérn of order 3: often sparser than `rbf`.
    Matern3,
    /// Matérn of order 4.
    Matern4,
    /// 1/√(1 + r²/l²).
    InverseMultiquadric,
    /// (1 + xᵀy/l²)³.
    Polynomial,
    /// 1 + xᵀy/l².
    Linear,
    /// tanh(1 + xᵀy/l²): not positive definite.
    Sigmoid,
    /// Matérn of order 5 times (1 − r/4l)⁵, nothing beyond: known not to converge well.
    Compact,
}

impl KernelName {
    /// The kernel with a length for all columns, or one for each.
    pub(crate) fn kernel(self, lengths: &[f64]) -> Kernel {
        let metric = |factor: f64| match lengths {
            [one] => Metric::One(factor * one),
            each => Metric::Each(each.iter().map(|l| factor * l).collect()),
        };
        let stationary = |shape| Kernel::Stationary { shape, metric: metric(1.0) };
        let matern = |nu| stationary(Shape::Matern { nu });
        match self {
            Self::Rbf => stationary(Shape::Rbf),
            Self::Exponential => stationary(Shape::Exponential),
            Self::InverseMultiquadric => stationary(Shape::InverseMultiquadric),
            Self::Compact => {
                let factor = Shape::Compact { power: 5.0 };
                matern(5.0) * Kernel::Stationary { shape: factor, metric: metric(4.0) }
            }
            Self::Matern1 => matern(1.0),
            Self::Matern2 => matern(2.0),
            Self::Matern3 => matern(3.0),
            Self::Matern4 => matern(4.0),
            // Rows are divided by their lengths before they come here.
            Self::Polynomial => Kernel::Polynomial { degree: 3, offset: 1.0 },
            Self::Linear => Kernel::linear(1.0),
            Self::Sigmoid => Kernel::Sigmoid { slope: 1.0, offset: 1.0 },
        }
    }

    /// Whether lengths are not part of the kernel, but what rows are divided by.
    pub(crate) fn is_of_products(self) -> bool {
        matches!(self, Self::Polynomial | Self::Linear | Self::Sigmoid)
    }
}
