//! The figures by their definitions, one at a time.

use ndarray::{ArrayView2, array};

use super::confidence::{N_BINS, bin_of};
use super::*;
use crate::traits::most_probable;

const LEAST_PROBABILITY: f64 = 1e-15;

/// All figures of a report.
pub(super) fn report_by_definition(
    proba: ArrayView2<'_, f64>,
    truth: &[ClassId],
    weights: Option<&[f32]>,
) -> Report {
    let predictions = most_probable(proba);
    Report {
        accuracy: accuracy(&predictions, truth, weights),
        balanced_accuracy: balanced_accuracy(&predictions, truth, proba.ncols(), weights),
        kappa: kappa(&predictions, truth, proba.ncols()),
        kappa_temporal: None,
        log_loss: log_loss(proba, truth, weights),
        brier: brier(proba, truth, weights),
        ece: ece(proba, truth),
        overconfidence: mean_entropy(proba, truth, false).map(|h| 1.0 - h),
        underconfidence: mean_entropy(proba, truth, true),
        auc: auc(proba, truth),
        confusion: confusion(&predictions, truth, proba.ncols()),
    }
}

/// Share of rows predicted right; 0 for no rows.
fn accuracy(predictions: &[ClassId], truth: &[ClassId], weights: Option<&[f32]>) -> f64 {
    weighted_mean(truth.len(), weights, |i| f64::from(u8::from(predictions[i] == truth[i])))
}

/// Mean over the classes that occur of the share of each predicted right.
fn balanced_accuracy(
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

/// Cohen's kappa from the confusion table: observed and expected agreement.
fn kappa(predictions: &[ClassId], truth: &[ClassId], n_classes: usize) -> f64 {
    let n = truth.len().max(1) as f64;
    let table = confusion(predictions, truth, n_classes);
    let agreement: f64 = (0..table.len()).map(|c| table[c][c] as f64 / n).sum();
    let column = |c: usize| table.iter().map(|row| row[c]).sum::<u64>() as f64 / n;
    let expected: f64 = (0..table.len()).map(|c| table[c].iter().sum::<u64>() as f64 / n * column(c)).sum();
    if expected < 1.0 { (agreement - expected) / (1.0 - expected) } else { 0.0 }
}

/// Mean of −ln of the probability given to the true class.
fn log_loss(proba: ArrayView2<'_, f64>, truth: &[ClassId], weights: Option<&[f32]>) -> f64 {
    weighted_mean(truth.len(), weights, |i| -libm::log(proba[(i, truth[i].index())].max(LEAST_PROBABILITY)))
}

/// Mean over rows of the squared distance between probabilities and truth, summed over classes (from 0 to 2).
fn brier(proba: ArrayView2<'_, f64>, truth: &[ClassId], weights: Option<&[f32]>) -> f64 {
    weighted_mean(truth.len(), weights, |i| {
        let distance = |(class, &p): (usize, &f64)| {
            let hit = f64::from(u8::from(class == truth[i].index()));
            (p - hit) * (p - hit)
        };
        proba.row(i).iter().enumerate().map(distance).sum()
    })
}

/// How often each true class (row) got each prediction (column).
fn confusion(predictions: &[ClassId], truth: &[ClassId], n_classes: usize) -> Vec<Vec<u64>> {
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

/// Predictions grouped by top probability into 15 equal bins.
pub(super) fn reliability(proba: ArrayView2<'_, f64>, truth: &[ClassId]) -> Vec<ReliabilityBin> {
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

fn mean_entropy(proba: ArrayView2<'_, f64>, truth: &[ClassId], right: bool) -> Option<f64> {
    let predictions = most_probable(proba);
    let chosen: Vec<f64> = (0..truth.len())
        .filter(|&i| (predictions[i] == truth[i]) == right)
        .map(|i| normalized_entropy(proba.row(i)))
        .collect();
    (!chosen.is_empty()).then(|| chosen.iter().sum::<f64>() / chosen.len() as f64)
}

/// The distance between confidence and accuracy, averaged over predictions.
fn ece(proba: ArrayView2<'_, f64>, truth: &[ClassId]) -> f64 {
    let bins = reliability(proba, truth);
    let sum: f64 = bins.iter().map(|bin| bin.count as f64 * (bin.confidence - bin.accuracy).abs()).sum();
    sum / truth.len().max(1) as f64
}

/// The report, which is the same by the definitions.
fn report(proba: ArrayView2<'_, f64>, truth: &[ClassId], weights: Option<&[f32]>) -> Report {
    let report = Report::new(proba, truth, weights).unwrap();
    assert_eq!(report, report_by_definition(proba, truth, weights));
    report
}

#[test]
fn shares() {
    let truth = [ClassId(0), ClassId(0), ClassId(0), ClassId(1)];
    let proba = array![[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]];
    let plain = report(proba.view(), &truth, None);
    assert_eq!(plain.accuracy, 0.75);
    assert!((plain.balanced_accuracy - (2.0 / 3.0 + 1.0) / 2.0).abs() < 1e-15);
    assert_eq!(report(proba.view(), &truth, Some(&[1.0, 1.0, 0.0, 1.0])).accuracy, 1.0);
    assert_eq!(plain.confusion, [[2, 1], [0, 1]]);
}

#[test]
fn proper_scores_by_hand() {
    let truth = [ClassId(0), ClassId(0)];
    let found = report(array![[0.8, 0.2], [0.4, 0.6]].view(), &truth, None);
    assert!((found.log_loss - (-(0.8_f64.ln()) - 0.4_f64.ln()) / 2.0).abs() < 1e-15);
    assert!((found.brier - (0.08 + 0.72) / 2.0).abs() < 1e-15);
    let impossible = report(array![[0.0, 1.0]].view(), &truth[..1], None);
    assert!((impossible.log_loss - 34.538_776_394_910_684).abs() < 1e-9);
}

#[test]
fn calibration_error_by_hand() {
    // Two predictions at 0.75, one right: |0.75 − 0.5| over 2 of 3 rows; one at 1.0 and right adds nothing.
    let proba = array![[0.75, 0.25], [0.25, 0.75], [1.0, 0.0]];
    let found = report(proba.view(), &[ClassId(0); 3], None);
    assert!((found.ece - 0.25 * 2.0 / 3.0).abs() < 1e-15);
}

#[test]
fn confidence_of_wrong_and_right_predictions() {
    let proba = array![[0.5, 0.5], [0.0, 1.0], [1.0, 0.0]];
    let found = report(proba.view(), &[ClassId(0); 3], None);
    assert_eq!((found.overconfidence, found.underconfidence), (Some(1.0), Some(0.5)));
    assert_eq!(report(array![[1.0, 0.0]].view(), &[ClassId(0)], None).overconfidence, None);
    assert!((normalized_entropy(array![0.25, 0.25, 0.25, 0.25].view()) - 1.0).abs() < 1e-15);
}

#[test]
fn sizes_that_do_not_fit_are_refused() {
    let proba = array![[0.5, 0.5]];
    assert!(Report::new(proba.view(), &[ClassId(0), ClassId(1)], None).is_err());
    assert!(Report::new(proba.view(), &[], None).is_err());
    assert!(Report::new(proba.view(), &[ClassId(2)], None).is_err());
}
