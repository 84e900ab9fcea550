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

/// Top probabilities and whether they were right, in 15 equal bins.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Reliability {
    /// Sums, not yet means.
    sums: [ReliabilityBin; N_BINS],
}

impl Reliability {
    /// Adds the top probability of a prediction.
    pub fn add(&mut self, top: f64, is_right: bool) {
        let bin = &mut self.sums[bin_of(top)];
        bin.count += 1;
        bin.confidence += top;
        bin.accuracy += f64::from(u8::from(is_right));
    }

    /// Adds what another has counted.
    pub fn merge(&mut self, other: &Self) {
        for (bin, more) in self.sums.iter_mut().zip(&other.sums) {
            bin.count += more.count;
            bin.confidence += more.confidence;
            bin.accuracy += more.accuracy;
        }
    }

    /// The bins of a reliability diagram.
    pub fn bins(&self) -> Vec<ReliabilityBin> {
        let mean = |bin: &ReliabilityBin| {
            let n = bin.count.max(1) as f64;
            ReliabilityBin { count: bin.count, confidence: bin.confidence / n, accuracy: bin.accuracy / n }
        };
        self.sums.iter().map(mean).collect()
    }

    /// The expected calibration error: the distance between confidence and accuracy of a bin, averaged over predictions.
    pub fn ece(&self) -> f64 {
        let n_rows: usize = self.sums.iter().map(|bin| bin.count).sum();
        let apart = |bin: ReliabilityBin| bin.count as f64 * (bin.confidence - bin.accuracy).abs();
        self.bins().into_iter().map(apart).sum::<f64>() / n_rows.max(1) as f64
    }
}

/// The entropy of a prediction to base "number of classes": 0 for certainty, 1 for no idea.
pub fn normalized_entropy(prediction: ArrayView1<'_, f64>) -> f64 {
    if prediction.len() < 2 {
        return 0.0;
    }
    let entropy: f64 = prediction.iter().filter(|&&p| p > 0.0).map(|&p| -p * libm::log(p)).sum();
    entropy / libm::log(prediction.len() as f64)
}
