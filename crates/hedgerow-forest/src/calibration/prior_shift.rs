//! Prior shift: the effect of class weights on the predictions of deep trees.
//!
//! Weights change the splits of a tree, but the leaves of a deep one are pure, and a pure leaf votes the same whatever its rows
//! weigh: weights alone hardly change the predictions of a forest. So calibrated probabilities are multiplied by a power of the weights,
//!
//! ```text
//! p_c ∝ w_c^t q_c        w_c = weight of class c
//! ```
//!
//! with the power `t` from 0 (large leaves, whose frequencies contain the weights already) to 1 (pure leaves) that minimises the
//! class-weighted log-loss of the out-of-bag predictions.

use hedgerow_core::ClassId;

use super::Calibration;
use crate::params::ForestParams;
use crate::train::OutOfBag;

/// Most rows that the power is fitted to.
const MOST_ROWS: usize = 2_000;
/// Powers tried: these, over the last of them.
const POWERS: std::ops::RangeInclusive<u32> = 0..=4;

/// A factor for each class; none if weights are all the same or the shift does not lower the loss.
pub(crate) fn fit(
    oob: &OutOfBag,
    labels: &[ClassId],
    row_weight: impl Fn(usize) -> f64,
    class_weights: &[f64],
    calibration: Option<&Calibration>,
) -> Vec<f64> {
    if are_equal(class_weights) {
        return Vec::new();
    }
    let step = labels.len().div_ceil(MOST_ROWS).max(1);
    let predicted = (0..labels.len()).step_by(step).filter(|&row| oob.n_trees[row] > 0);
    let predictions: Vec<(usize, f64, Vec<f64>)> = predicted
        .map(|row| {
            let class = labels[row].index();
            let mut prediction: Vec<f64> =
                oob.shares.row(row).iter().map(|&share| f64::from(share)).collect();
            if let Some(calibration) = calibration {
                calibration.apply(&mut prediction, f64::from(oob.n_trees[row]));
            }
            (class, row_weight(row) * class_weights[class], prediction)
        })
        .collect();
    let loss = |factors: &[f64]| -> f64 {
        let of_row = |(class, weight, prediction): &(usize, f64, Vec<f64>)| {
            let sum: f64 = prediction.iter().zip(factors).map(|(p, f)| p * f).sum();
            -weight * libm::log((prediction[*class] * factors[*class] / sum).max(1e-15))
        };
        predictions.iter().map(of_row).sum()
    };
    let factors = |power: u32| factors(class_weights, f64::from(power) / f64::from(*POWERS.end()));
    let losses = POWERS.map(|power| (loss(&factors(power)), power));
    let best = losses.min_by(|a, b| a.0.total_cmp(&b.0)).map_or(0, |(_, power)| power);
    if best == 0 { Vec::new() } else { factors(best) }
}

/// A factor for each class where there are no out-of-bag predictions to fit the power to: the weights themselves, if leaves are pure.
pub(crate) fn without_validation(params: &ForestParams, class_weights: &[f64]) -> Vec<f64> {
    let is_pure = params.max_height == 0 && params.min_leaf_rows == 1;
    if is_pure && !are_equal(class_weights) { factors(class_weights, 1.0) } else { Vec::new() }
}

fn are_equal(class_weights: &[f64]) -> bool {
    class_weights.iter().all(|&w| w == class_weights[0])
}

fn factors(class_weights: &[f64], power: f64) -> Vec<f64> {
    class_weights.iter().map(|&w| libm::pow(w.max(1e-12), power)).collect()
}

/// Shifts a prediction; classes beyond the factors came later, and count 1.
pub(crate) fn apply(factors: &[f64], prediction: &mut [f64]) {
    if factors.is_empty() {
        return;
    }
    prediction.iter_mut().zip(factors).for_each(|(p, f)| *p *= f);
    let sum: f64 = prediction.iter().sum();
    if sum > 0.0 {
        prediction.iter_mut().for_each(|p| *p /= sum);
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;

    /// Pure leaves need the full weights, frequencies that contain them already no shift.
    #[test]
    fn the_power_is_what_the_frequencies_lack() {
        let n = 1_000;
        let labels: Vec<ClassId> = (0..n).map(|i| ClassId(u32::from(i % 4 == 0))).collect();
        let weights = [1.0, 3.0];
        let calibration = Calibration { pseudo_votes: 0.01, sharpness: 1.0 };
        let shift = |shares: [f32; 2]| {
            let shares = Array2::from_shape_fn((n, 2), |(_, c)| 100.0 * shares[c]);
            let oob = OutOfBag { shares, n_trees: vec![100; n] };
            fit(&oob, &labels, |_| 1.0, &weights, Some(&calibration))
        };
        assert_eq!(shift([0.75, 0.25]), [1.0, 3.0]);
        assert_eq!(shift([0.5, 0.5]), [0.0; 0]);
        let mut prediction = [0.75, 0.25];
        apply(&[1.0, 3.0], &mut prediction);
        assert!((prediction[0] - 0.5).abs() < 1e-12);
    }
}
