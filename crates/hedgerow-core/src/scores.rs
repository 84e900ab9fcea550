//! Out-of-sample predictions: what was predicted for rows by something that was not trained on them.
//!
//! Out-of-bag, out-of-fold, held-out and prequential predictions are four sources of the same thing. Calibration, blending and the choice
//! between models all take this one type, whatever the source.

use std::ops::Deref;

use ndarray::{Array2, ArrayView1, ArrayViewMut1, s};
use serde::{Deserialize, Serialize};

use crate::calibration::Calibration;
use crate::data::ClassId;
use crate::par::Par;
use crate::traits::largest;

/// Where out-of-sample predictions come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Parts of an ensemble that were trained without the row.
    OutOfBag,
    /// Models of the other folds.
    OutOfFold,
    /// The closed form of a fit without the row's own label; the row itself may still have shaped the model.
    LeaveOneOut,
    /// Rows kept away from training.
    HeldOut,
    /// The model as it was before it learnt the row.
    Prequential,
}

/// Out-of-sample predictions of some rows. Its [parts](OutOfSampleParts), which are read as fields, are of the same rows always.
#[derive(Debug, Clone, PartialEq)]
pub struct OutOfSample(OutOfSampleParts);

/// What [`OutOfSample`] consists of.
#[derive(Debug, Clone, PartialEq)]
pub struct OutOfSampleParts {
    /// Where they come from.
    pub source: Source,
    /// The rows, by their places among the training rows.
    pub rows: Vec<usize>,
    /// A row for each, a column for each class: probabilities, or scores that are yet to be calibrated.
    pub values: Array2<f64>,
    /// The classes of the rows.
    pub labels: Vec<ClassId>,
}

/// How good out-of-sample probabilities are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// Rows that were predicted.
    pub rows: usize,
    /// The mean log-loss.
    pub log_loss: f64,
    /// The share of rows whose most probable class is theirs.
    pub accuracy: f64,
    /// The same for each class, averaged over classes.
    pub balanced_accuracy: f64,
}

/// Probabilities below this count as this much in a log-loss.
const LEAST: f64 = 1e-9;

impl Deref for OutOfSample {
    type Target = OutOfSampleParts;

    fn deref(&self) -> &OutOfSampleParts {
        &self.0
    }
}

impl OutOfSample {
    /// Predictions of rows with these classes, for as many rows as all three are of.
    pub fn new(source: Source, mut rows: Vec<usize>, values: Array2<f64>, mut labels: Vec<ClassId>) -> Self {
        let n = rows.len().min(values.nrows()).min(labels.len());
        rows.truncate(n);
        labels.truncate(n);
        Self(OutOfSampleParts { source, rows, values: values.slice_move(s![..n, ..]), labels })
    }

    /// The same with the classes that all rows of the training have.
    pub fn of_rows(source: Source, rows: Vec<usize>, values: Array2<f64>, all: &[ClassId]) -> Self {
        let labels = rows.iter().map(|&row| all[row]).collect();
        Self::new(source, rows, values, labels)
    }

    /// The same predictions of rows that have other numbers.
    pub fn renumber(&mut self, number: impl Fn(usize) -> usize) {
        self.0.rows.iter_mut().for_each(|row| *row = number(*row));
    }

    /// Changes the values of each row.
    pub fn map_rows(&mut self, mut change: impl FnMut(&mut ArrayViewMut1<'_, f64>)) {
        self.0.values.rows_mut().into_iter().for_each(|mut row| change(&mut row));
    }

    /// Calibrates scores, few of them [out of fold](Calibration::apply_out_of_fold).
    pub fn calibrate(&mut self, calibration: &Calibration, par: &Par) {
        calibration.apply_out_of_fold(&mut self.0.values, &self.0.labels, par);
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// How good the values are as probabilities.
    pub fn quality(&self) -> Quality {
        Quality::new(&self.values, &self.labels)
    }

    /// The share of right predictions. Weights, where they are given, are those of all training rows.
    pub fn accuracy(&self, weights: Option<&[f32]>) -> f64 {
        let (mut right, mut all) = (0.0, 0.0);
        for ((proba, label), &row) in self.values.rows().into_iter().zip(&self.labels).zip(&self.rows) {
            let weight = weights.map_or(1.0, |weights| f64::from(weights[row]));
            right += weight * f64::from(u8::from(largest(proba) == Some(label.index())));
            all += weight;
        }
        right / f64::max(all, f64::MIN_POSITIVE)
    }

    /// Whether there are rows of more than one class.
    pub fn has_two_classes(&self) -> bool {
        self.labels.iter().any(|label| *label != self.labels[0])
    }

    /// Takes the scores of classes without training rows away: minus infinity, which calibration takes for unknown. Of two classes one score
    /// says everything, so both stay.
    pub fn mask_unknown(&mut self, training_labels: &[ClassId]) {
        mask_unknown(&mut self.0.values, training_labels);
    }
}

/// Takes the scores of classes that have no training rows away; see [`OutOfSample::mask_unknown`].
pub fn mask_unknown(scores: &mut Array2<f64>, training_labels: &[ClassId]) {
    let n_classes = scores.ncols();
    let mut is_known = vec![n_classes == 2; n_classes];
    training_labels.iter().for_each(|label| is_known[label.index()] = true);
    for (mut column, is_known) in scores.columns_mut().into_iter().zip(is_known) {
        if !is_known {
            column.fill(f64::NEG_INFINITY);
        }
    }
}

impl Quality {
    /// Of probabilities of rows of known classes. A class without a column has the least probability there is.
    pub fn new(proba: &Array2<f64>, labels: &[ClassId]) -> Self {
        let n_classes = labels.iter().map(|label| label.index() + 1).max().unwrap_or(0).max(proba.ncols());
        let (mut loss, mut right, mut all) = (0.0, vec![0.0_f64; n_classes], vec![0.0_f64; n_classes]);
        for (row, label) in proba.rows().into_iter().zip(labels) {
            let own = label.index();
            loss -= libm::log(probability(row, own));
            all[own] += 1.0;
            right[own] += f64::from(u8::from(largest(row) == Some(own)));
        }
        let n = labels.len().max(1) as f64;
        let recalls: Vec<f64> =
            right.iter().zip(&all).filter(|(_, n)| **n > 0.0).map(|(r, n)| r / n).collect();
        Self {
            rows: labels.len(),
            log_loss: loss / n,
            accuracy: right.iter().sum::<f64>() / n,
            balanced_accuracy: recalls.iter().sum::<f64>() / recalls.len().max(1) as f64,
        }
    }
}

fn probability(row: ArrayView1<'_, f64>, class: usize) -> f64 {
    row.get(class).copied().filter(|p| p.is_finite()).unwrap_or(0.0).max(LEAST)
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn quality_by_hand() {
        let proba = array![[0.8, 0.2], [0.6, 0.4], [0.1, 0.9]];
        let found = Quality::new(&proba, &[0, 1, 1].map(ClassId));
        assert!((found.log_loss + (0.8_f64.ln() + 0.4_f64.ln() + 0.9_f64.ln()) / 3.0).abs() < 1e-12);
        assert!((found.accuracy - 2.0 / 3.0).abs() < 1e-12 && (found.balanced_accuracy - 0.75).abs() < 1e-12);
        let late = Quality::new(&array![[1.0]], &[ClassId(2)]);
        assert!((late.log_loss + LEAST.ln()).abs() < 1e-9 && late.accuracy == 0.0);
        assert_eq!(Quality::new(&Array2::zeros((0, 2)), &[]).rows, 0);
    }

    #[test]
    fn classes_without_training_rows_have_no_score() {
        let labels = [0, 2].map(ClassId);
        let mut three = array![[1.0, 2.0, 3.0]];
        mask_unknown(&mut three, &labels);
        assert_eq!(three, array![[1.0, f64::NEG_INFINITY, 3.0]]);
        let mut two = array![[1.0, 2.0]];
        mask_unknown(&mut two, &labels[..1]);
        assert_eq!(two, array![[1.0, 2.0]]);
    }
}
