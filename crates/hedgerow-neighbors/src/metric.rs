//! Distances between prepared rows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the distance of two rows is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// √Σ(x − y)².
    Euclidean,
    /// Σ|x − y|.
    Manhattan,
    /// max|x − y|.
    Chebyshev,
}

impl Metric {
    /// A distance as it was measured: squares have no root taken of them before it is needed.
    pub(crate) fn distance(self, measured: f32) -> f64 {
        match self {
            Self::Euclidean => libm::sqrt(f64::from(measured)),
            Self::Manhattan | Self::Chebyshev => f64::from(measured),
        }
    }

    /// What is measured at a distance.
    pub(crate) fn measured(self, distance: f64) -> f64 {
        match self {
            Self::Euclidean => distance * distance,
            Self::Manhattan | Self::Chebyshev => distance,
        }
    }
}
