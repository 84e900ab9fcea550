//! Scores of different kinds on one scale.

use serde::{Deserialize, Serialize};

/// Where the middle of some scores lies, and how far they deviate from it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Scale {
    median: f64,
    deviation: f64,
}

impl Scale {
    /// The median, and the root of the mean squared distance from it.
    pub(crate) fn of(scores: &[f64]) -> Self {
        let median = quantile(scores, 0.5);
        let squares: f64 = scores.iter().map(|score| (score - median) * (score - median)).sum();
        Self { median, deviation: libm::sqrt(squares / scores.len().max(1) as f64) }
    }

    /// The median, and the mean distance from it.
    pub(crate) fn absolute(scores: &[f64]) -> Self {
        let median = quantile(scores, 0.5);
        let distances: f64 = scores.iter().map(|score| (score - median).abs()).sum();
        Self { median, deviation: distances / scores.len().max(1) as f64 }
    }

    /// A score in deviations from the median; 0 where all scores were alike.
    pub(crate) fn apply(self, score: f64) -> f64 {
        if self.deviation > 0.0 { (score - self.median) / self.deviation } else { 0.0 }
    }
}

/// The value below which a share of the values lies; between two of them, in proportion.
pub(crate) fn quantile(values: &[f64], share: f64) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = share * (sorted.len() - 1) as f64;
    let (below, above) = (libm::floor(place) as usize, libm::ceil(place) as usize);
    sorted[below] + (place - below as f64) * (sorted[above] - sorted[below])
}

/// The upper fence of a box plot (Tukey, 1977, Exploratory data analysis): a distance of one and a half boxes above the box.
pub(crate) fn upper_fence(values: &[f64]) -> f64 {
    let [low, high] = [0.25, 0.75].map(|share| quantile(values, share));
    high + 1.5 * (high - low)
}

/// Any number as one from 0 to 1, in the same order: 0 becomes 0.5, two deviations 0.85, ten 0.99. The tail is long, so that far outliers
/// still differ.
pub(crate) fn squash(deviations: f64) -> f64 {
    0.5 + 0.5 * deviations / libm::sqrt(4.0 + deviations * deviations)
}

/// The largest of some values, smoothly: ln(Σ w exp(3 v) / Σ w) / 3.
pub(crate) fn smooth_largest(weighted: &[(f64, f64)]) -> f64 {
    const SHARPNESS: f64 = 3.0;
    let largest = weighted.iter().fold(f64::NEG_INFINITY, |most, (_, value)| most.max(*value));
    let total: f64 = weighted.iter().map(|(weight, _)| weight).sum();
    let parts = weighted.iter().map(|(weight, value)| weight * libm::exp(SHARPNESS * (value - largest)));
    largest + libm::log(parts.sum::<f64>() / total) / SHARPNESS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_and_fences_by_hand() {
        let values = [1.0, 2.0, 3.0, 4.0, 10.0];
        assert_eq!(
            [0.0, 0.25, 0.5, 0.75, 1.0, 0.875].map(|s| quantile(&values, s)),
            [1.0, 2.0, 3.0, 4.0, 10.0, 7.0]
        );
        assert_eq!(upper_fence(&values), 7.0);
        let scale = Scale::of(&values);
        assert!((scale.apply(10.0) - 7.0 / f64::sqrt((4.0 + 1.0 + 0.0 + 1.0 + 49.0) / 5.0)).abs() < 1e-12);
        assert_eq!(Scale::absolute(&values).apply(4.0), 1.0 / 2.2);
        assert_eq!(Scale::of(&[2.0, 2.0]).apply(5.0), 0.0);
        assert_eq!(quantile(&[], 0.5), 0.0);
    }

    #[test]
    fn the_smooth_largest_lies_between_mean_and_largest() {
        let values = [(2.0, 0.5), (1.0, 3.0), (1.0, -1.0)];
        let by_hand = ((2.0 * f64::exp(1.5) + f64::exp(9.0) + f64::exp(-3.0)) / 4.0).ln() / 3.0;
        assert!((smooth_largest(&values) - by_hand).abs() < 1e-12);
        assert!((smooth_largest(&[(3.0, 1.5)]) - 1.5).abs() < 1e-12);
        assert!(smooth_largest(&[(1.0, 1e300), (1.0, 0.0)]).is_finite());
    }

    #[test]
    fn squashed_numbers_keep_their_order() {
        assert_eq!(squash(0.0), 0.5);
        let values: Vec<f64> = [-1e6, -3.0, 0.0, 2.0, 10.0, 1e3, 1e6].map(squash).to_vec();
        assert!(values.windows(2).all(|pair| pair[0] < pair[1]), "{values:?}");
        assert!(values[0] >= 0.0 && values[6] <= 1.0);
    }
}
