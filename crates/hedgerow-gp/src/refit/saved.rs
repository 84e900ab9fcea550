//! What a model file holds of a regression.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::Refit;

/// What is not a table.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RefitFacts {
    ridge: f64,
    length: f64,
    near: f64,
    shares: Vec<f64>,
}

impl Refit {
    /// What is not a table; the table is that of the weights.
    pub fn facts(&self) -> RefitFacts {
        let Self { ridge, length, near, ref shares, .. } = *self;
        RefitFacts { ridge, length, near, shares: shares.clone() }
    }

    /// The regression again, of so many rows and classes. Fails, in words, if its parts do not fit together.
    pub fn restore(
        facts: RefitFacts,
        weights: Array2<f64>,
        (rows, classes): (usize, usize),
    ) -> Result<Self, String> {
        let RefitFacts { ridge, length, near, shares } = facts;
        if weights.dim() != (rows, classes) || !weights.iter().all(|w| w.is_finite()) {
            return Err(format!("expected {rows} rows of {classes} weights"));
        }
        let is_share = |v: &f64| (0.0..=1.0).contains(v);
        let fits = [ridge, length].iter().all(|v| *v > 0.0 && v.is_finite())
            && is_share(&near)
            && shares.len() == classes
            && shares.iter().all(is_share);
        if !fits {
            return Err("expected a ridge, a length and shares of classes".into());
        }
        Ok(Self { weights, ridge, length, near, shares })
    }
}
