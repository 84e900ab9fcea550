//! Calibration: whether predicted probabilities match observed frequencies.

use ndarray::{ArrayView1, ArrayView2};
use serde::{Deserialize, Serialize};

use crate::data::ClassId;
use crate::traits::most_probable;

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

/// Predictions grouped by top probability into 15 equal bins.
pub fn reliability(proba: ArrayView2<'_, f64>, truth: &[ClassId]) -> Vec<ReliabilityBin> {
    let mut bins = vec![ReliabilityBin::default(); N_BINS];
    for (i, prediction) in most_probable(proba).into_iter().enumerate() {
        let top = proba[(i, prediction.index())];
        let bin = &mut bins[bin_of(top)];
        bin.count += 1;
        bin.confidence += top;
        bin.accuracy += f64::from(u8::from(prediction == truth[i]));
    }
    for bin in bins.iter_mut().filter(|bin| bin.count > 0) {
        bin.confidence /= bin.count as f64;
        bin.accuracy /= bin.count as f64;
    }
    bins
}

/// The bin of a prediction.
pub(super) fn bin_of(top: f64) -> usize {
    ((top * N_BINS as f64) as usize).min(N_BINS - 1)
}

/// Expected calibration error: the distance between confidence and accuracy, averaged over predictions.
pub fn ece(proba: ArrayView2<'_, f64>, truth: &[ClassId]) -> f64 {
    gap(&reliability(proba, truth), truth.len())
}

/// The distance between confidence and accuracy of `n_rows` predictions in bins.
pub(super) fn gap(bins: &[ReliabilityBin], n_rows: usize) -> f64 {
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

/// Mean of 1 − H over wrong predictions; none if there are no wrong predictions.
pub fn overconfidence(proba: ArrayView2<'_, f64>, truth: &[ClassId]) -> Option<f64> {
    mean_entropy(proba, truth, false).map(|h| 1.0 - h)
}

/// Mean of H over right predictions; none if there are no right predictions.
pub fn underconfidence(proba: ArrayView2<'_, f64>, truth: &[ClassId]) -> Option<f64> {
    mean_entropy(proba, truth, true)
}

fn mean_entropy(proba: ArrayView2<'_, f64>, truth: &[ClassId], right: bool) -> Option<f64> {
    let predictions = most_probable(proba);
    let chosen: Vec<f64> = (0..truth.len())
        .filter(|&i| (predictions[i] == truth[i]) == right)
        .map(|i| normalized_entropy(proba.row(i)))
        .collect();
    (!chosen.is_empty()).then(|| chosen.iter().sum::<f64>() / chosen.len() as f64)
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn calibration_error_by_hand() {
        // Two predictions at 0.75, one right: |0.75 − 0.5| over 2 of 3 rows; one at 1.0 and right adds nothing.
        let proba = array![[0.75, 0.25], [0.25, 0.75], [1.0, 0.0]];
        let truth = [ClassId(0), ClassId(0), ClassId(0)];
        assert!((ece(proba.view(), &truth) - 0.25 * 2.0 / 3.0).abs() < 1e-15);
    }

    #[test]
    fn confidence_of_wrong_and_right_answers() {
        let proba = array![[0.5, 0.5], [0.0, 1.0], [1.0, 0.0]];
        let truth = [ClassId(0), ClassId(0), ClassId(0)];
        assert_eq!(overconfidence(proba.view(), &truth), Some(1.0));
        assert_eq!(underconfidence(proba.view(), &truth), Some(0.5));
        assert_eq!(overconfidence(proba.slice(ndarray::s![2.., ..]), &truth[..1]), None);
        assert!((normalized_entropy(array![0.25, 0.25, 0.25, 0.25].view()) - 1.0).abs() < 1e-15);
    }
}
