//! Metrics of predictions: of classes, and of probabilities.
//!
//! ```
//! use hedgerow_core::{ClassId, metrics::Report};
//! let proba = ndarray::array![[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]];
//! let truth = [ClassId(0), ClassId(1), ClassId(1)];
//! let report = Report::new(proba.view(), &truth, None)?;
//! assert_eq!(report.confusion, [[1, 0], [1, 1]]);
//! # Ok::<(), hedgerow_core::Error>(())
//! ```

mod confidence;
mod ranking;
mod running;
#[cfg(test)]
mod tests;
mod values;

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use crate::data::ClassId;
use crate::error::Result;

pub use confidence::{Reliability, ReliabilityBin, normalized_entropy};
pub use ranking::{auc, binary_auc};
pub use running::{ClassTally, Running};
pub use values::{RunningValues, ValueReport};

/// Classes beyond which figures whose cost grows with their square are left out.
const MOST_CLASSES: usize = 1_000;

/// All figures about one set of predictions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Share of rows predicted right.
    pub accuracy: f64,
    /// Mean over the classes of the share of each class predicted right.
    pub balanced_accuracy: f64,
    /// Cohen's kappa: how far accuracy goes beyond that of guesses with the same class frequencies; 1 is all right.
    pub kappa: f64,
    /// How far accuracy goes beyond that of repeating the last label (Žliobaitė, Bifet, Read, Pfahringer and Holmes, 2015), of predictions
    /// that come one after the other; below 0 it is worse.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kappa_temporal: Option<f64>,
    /// Mean of −ln of the probability given to the true class (natural logarithm, probabilities clipped at 1e-15).
    pub log_loss: f64,
    /// Mean over rows of the squared distance between the probabilities and the truth, summed over classes.
    pub brier: f64,
    /// Expected calibration error: 15 equal bins of the top probability.
    pub ece: f64,
    /// Mean of 1 − H over wrong predictions, H the entropy of the prediction to base "number of classes"; none if all are right.
    pub overconfidence: Option<f64>,
    /// Mean of H over right predictions; none if all are wrong.
    pub underconfidence: Option<f64>,
    /// Area under the ROC curve (two classes) or its mean over one class against the rest; none above 1,000 classes.
    pub auc: Option<f64>,
    /// Rows are true classes, columns predicted ones; empty where there are more than 1,000 classes.
    pub confusion: Vec<Vec<u64>>,
}

impl Report {
    /// Evaluates probabilities against the truth. Weights, where there are any, count in accuracy, balanced accuracy, log-loss and
    /// Brier score; the other figures count rows.
    pub fn new(proba: ArrayView2<'_, f64>, truth: &[ClassId], weights: Option<&[f32]>) -> Result<Self> {
        let running = Running::of(proba, truth, weights)?;
        let auc = if proba.ncols() <= MOST_CLASSES { auc(proba, truth) } else { None };
        // The order of these rows says nothing.
        Ok(Self { kappa_temporal: None, ..running.figures(auc) })
    }
}
