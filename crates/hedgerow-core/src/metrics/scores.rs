//! Right or wrong, and proper scores.

use ndarray::ArrayView2;

use crate::data::ClassId;

/// The least probability that [`log_loss`] takes seriously.
pub(super) const LEAST_PROBABILITY: f64 = 1e-15;

/// Share of rows predicted right; 0 for no rows.
pub fn accuracy(predictions: &[ClassId], truth: &[ClassId], weights: Option<&[f32]>) -> f64 {
    weighted_mean(truth.len(), weights, |i| f64::from(u8::from(predictions[i] == truth[i])))
}

/// Mean over the classes that occur of the share of each predicted right.
pub fn balanced_accuracy(
    predictions: &[ClassId],
    truth: &[ClassId],
    n_classes: usize,
    weights: Option<&[f32]>,
) -> f64 {
    let mut right = vec![0.0; n_classes];
    let mut all = vec![0.0; n_classes];
    for (i, (prediction, class)) in predictions.iter().zip(truth).enumerate() {
        let weight = weights.map_or(1.0, |w| f64::from(w[i]));
        all[class.index()] += weight;
        if prediction == class {
            right[class.index()] += weight;
        }
    }
    let recalls: Vec<f64> =
        right.iter().zip(&all).filter(|&(_, &all)| all > 0.0).map(|(right, all)| right / all).collect();
    if recalls.is_empty() { 0.0 } else { recalls.iter().sum::<f64>() / recalls.len() as f64 }
}

/// Mean of −ln of the probability given to the true class.
pub fn log_loss(proba: ArrayView2<'_, f64>, truth: &[ClassId], weights: Option<&[f32]>) -> f64 {
    weighted_mean(truth.len(), weights, |i| -libm::log(proba[(i, truth[i].index())].max(LEAST_PROBABILITY)))
}

/// Mean over rows of the squared distance between probabilities and truth, summed over classes (from 0 to 2).
pub fn brier(proba: ArrayView2<'_, f64>, truth: &[ClassId], weights: Option<&[f32]>) -> f64 {
    weighted_mean(truth.len(), weights, |i| {
        let distance = |(class, &p): (usize, &f64)| {
            let hit = f64::from(u8::from(class == truth[i].index()));
            (p - hit) * (p - hit)
        };
        proba.row(i).iter().enumerate().map(distance).sum()
    })
}

/// How often each true class (row) got each prediction (column).
pub fn confusion(predictions: &[ClassId], truth: &[ClassId], n_classes: usize) -> Vec<Vec<u64>> {
    let mut table = vec![vec![0; n_classes]; n_classes];
    for (prediction, class) in predictions.iter().zip(truth) {
        table[class.index()][prediction.index()] += 1;
    }
    table
}

fn weighted_mean(n: usize, weights: Option<&[f32]>, value: impl Fn(usize) -> f64) -> f64 {
    let weight = |i: usize| weights.map_or(1.0, |w| f64::from(w[i]));
    let total: f64 = (0..n).map(weight).sum();
    if total > 0.0 { (0..n).map(|i| weight(i) * value(i)).sum::<f64>() / total } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    const TRUTH: [ClassId; 4] = [ClassId(0), ClassId(0), ClassId(0), ClassId(1)];
    const PREDICTED: [ClassId; 4] = [ClassId(0), ClassId(0), ClassId(1), ClassId(1)];

    #[test]
    fn shares() {
        assert_eq!(accuracy(&PREDICTED, &TRUTH, None), 0.75);
        assert!((balanced_accuracy(&PREDICTED, &TRUTH, 2, None) - (2.0 / 3.0 + 1.0) / 2.0).abs() < 1e-15);
        assert_eq!(accuracy(&PREDICTED, &TRUTH, Some(&[1.0, 1.0, 0.0, 1.0])), 1.0);
        assert_eq!(confusion(&PREDICTED, &TRUTH, 2), [[2, 1], [0, 1]]);
    }

    #[test]
    fn proper_scores_by_hand() {
        let proba = array![[0.8, 0.2], [0.4, 0.6]];
        let truth = [ClassId(0), ClassId(0)];
        assert!(
            (log_loss(proba.view(), &truth, None) - (-(0.8_f64.ln()) - 0.4_f64.ln()) / 2.0).abs() < 1e-15
        );
        assert!((brier(proba.view(), &truth, None) - (0.08 + 0.72) / 2.0).abs() < 1e-15);
        let impossible = array![[0.0, 1.0]];
        assert!((log_loss(impossible.view(), &truth[..1], None) - 34.538_776_394_910_684).abs() < 1e-9);
    }
}
