//! Calibration: whether predicted probabilities match observed frequencies.

use ndarray::ArrayView1;
use serde::{Deserialize, Serialize};

pub(super) const N_BINS: usize = 15;

/// One bar of a reliability diagram.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ReliabilityBin {
    /// Predictions whose top probability fell into this bin.
    pub count: usize,
    /// Their mean top probability.
    pub confidence: f64,
    /// The share of them that was right.
    pub accuracy: f64,
}

/// The bin of a prediction.
pub(super) fn bin_of(top: f64) -> usize {
    ((top * N_BINS as f64) as usize).min(N_BINS - 1)
}

/// Expected calibration error of `n_rows` predictions in bins: the distance between confidence and accuracy, averaged over predictions.
pub(super) fn ece(bins: &[ReliabilityBin], n_rows: u64) -> f64 {
    let sum: f64 = bins.iter().map(|bin| bin.count as f64 * (bin.confidence - bin.accuracy).abs()).sum();
    sum / n_rows.max(1) as f64
}

/// The entropy of a prediction to base "number of classes": 0 for certainty, 1 for no idea.
pub fn normalized_entropy(prediction: ArrayView1<'_, f64>) -> f64 {
    if prediction.len() < 2 {
        return 0.0;
    }
    let entropy: f64 = prediction.iter().filter(|&&p| p > 0.0).map(|&p| -p * libm::log(p)).sum();
    entropy / libm::log(prediction.len() as f64)
}
