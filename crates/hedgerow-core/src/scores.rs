//! Out-of-sample predictions: what was predicted for rows by something that was not trained on them.
//!
//! Out-of-bag, out-of-fold, leave-one-out, held-out and prequential predictions are five sources of the same thing, for classes and for numbers.
//! Calibration, blending and the choice between models all take this one type, whatever the source, and [`OutOfSample::calibration`] is the only way
//! from scores to a [`Calibration`].

use std::ops::Deref;

use ndarray::{Array2, ArrayViewMut1, s};
use serde::{Deserialize, Serialize};

use crate::calibration::{Calibration, Platt, curve};
use crate::data::{ClassId, TargetSlice, Targets, Task};
use crate::par::Par;
use crate::quality::{ClassQuality, Quality, ValueQuality};
use crate::traits::{Normals, largest};

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

impl Source {
    /// In words, as after "validation rows".
    pub fn words(self) -> &'static str {
        match self {
            Self::OutOfBag => "out of bag",
            Self::OutOfFold => "out of fold",
            Self::LeaveOneOut => "leave-one-out",
            Self::HeldOut => "held out",
            Self::Prequential => "prequential",
        }
    }
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
    /// A row for each. Of classes a column for each class: probabilities, or scores that are yet to be calibrated. Of numbers a column of means and one
    /// of variances.
    pub values: Array2<f64>,
    /// The class or number of each row.
    pub targets: Targets,
}

impl OutOfSampleParts {
    /// The class of each row; none for a regression.
    pub fn labels(&self) -> &[ClassId] {
        self.targets.view().labels()
    }
}

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
        let (values, targets) = (values.slice_move(s![..n, ..]), labels.into());
        Self(OutOfSampleParts { source, rows, values, targets })
    }

    /// The same with the classes that all rows of the training have.
    pub fn of_rows(source: Source, rows: Vec<usize>, values: Array2<f64>, all: &[ClassId]) -> Self {
        let labels = rows.iter().map(|&row| all[row]).collect();
        Self::new(source, rows, values, labels)
    }

    /// Scores of one class against the rest, for rows that are of that class or not. The class has the number 1, the rest 0.
    pub fn one_vs_rest(source: Source, rows: Vec<usize>, scores: &[f64], is_own: &[bool]) -> Self {
        let values =
            Array2::from_shape_fn((scores.len(), 2), |(row, class)| [-scores[row], scores[row]][class]);
        Self::new(source, rows, values, is_own.iter().map(|is_own| ClassId(u32::from(*is_own))).collect())
    }

    /// Predictions of all rows that have these numbers, in their order; of as many as there are predictions of.
    pub fn of_numbers(source: Source, predictions: &Normals, mut numbers: Vec<f64>) -> Self {
        let values = predictions.to_table();
        numbers.truncate(values.nrows());
        let values = values.slice_move(s![..numbers.len(), ..]);
        Self(OutOfSampleParts { source, rows: (0..numbers.len()).collect(), values, targets: numbers.into() })
    }

    /// The same predictions of rows that have other numbers.
    pub fn renumber(&mut self, number: impl Fn(usize) -> usize) {
        self.0.rows.iter_mut().for_each(|row| *row = number(*row));
    }

    /// Changes the values of each row.
    pub fn map_rows(&mut self, mut change: impl FnMut(&mut ArrayViewMut1<'_, f64>)) {
        self.0.values.rows_mut().into_iter().for_each(|mut row| change(&mut row));
    }

    /// The calibration by which these scores of classes become probabilities.
    pub fn calibration(&self, par: &Par) -> Calibration {
        Calibration::fit(&self.values, self.labels(), par)
    }

    /// The curve of one class, from its score to a probability that does not know of the other classes.
    pub fn curve(&self, class: ClassId) -> Platt {
        curve(&self.values, self.labels(), class.index())
    }

    /// The mean log-loss of the scores once they are [calibrated](Self::calibration).
    pub fn calibrated_loss(&self, par: &Par) -> f64 {
        self.calibration(par).loss(&self.values, self.labels())
    }

    /// Calibrates scores, few of them [out of fold](Calibration::apply_out_of_fold).
    pub fn calibrate(&mut self, calibration: &Calibration, par: &Par) {
        let OutOfSampleParts { values, targets, .. } = &mut self.0;
        calibration.apply_out_of_fold(values, targets.view().labels(), par);
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether they are of classes or of numbers.
    pub fn task(&self) -> Task {
        self.targets.view().task()
    }

    /// The predicted numbers; none for classes.
    pub fn normals(&self) -> Option<Normals> {
        (self.task() == Task::Regression).then(|| Normals::of_table(self.values.view()))
    }

    /// How good they are.
    pub fn quality(&self) -> Quality {
        match self.targets.view() {
            TargetSlice::Classes(labels) => Quality::Classes(ClassQuality::new(&self.values, labels)),
            TargetSlice::Values(numbers) => Quality::Values(ValueQuality::new(&self.values, numbers)),
        }
    }

    /// The share of right predictions of classes. Weights, where they are given, are those of all training rows.
    pub fn accuracy(&self, weights: Option<&[f32]>) -> f64 {
        let (mut right, mut all) = (0.0, 0.0);
        for ((proba, label), &row) in self.values.rows().into_iter().zip(self.labels()).zip(&self.rows) {
            let weight = weights.map_or(1.0, |weights| f64::from(weights[row]));
            right += weight * f64::from(u8::from(largest(proba) == Some(label.index())));
            all += weight;
        }
        right / f64::max(all, f64::MIN_POSITIVE)
    }

    /// Whether there are rows of more than one class.
    pub fn has_two_classes(&self) -> bool {
        self.labels().iter().any(|label| *label != self.labels()[0])
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

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::metrics::ValueReport;

    #[test]
    fn numbers_are_predicted_too() {
        let normals = Normals { mean: vec![1.0, 2.0, 4.0], variance: vec![1.0, 0.25, 4.0] };
        let mut scored = OutOfSample::of_numbers(Source::LeaveOneOut, &normals, vec![1.0, 3.0, 2.0]);
        assert_eq!((scored.len(), scored.task(), scored.labels().len()), (3, Task::Regression, 0));
        assert_eq!(scored.normals(), Some(normals.clone()));
        scored.renumber(|row| row + 5);
        assert_eq!(scored.rows, [5, 6, 7]);
        let quality = scored.quality();
        let report = ValueReport::new(&normals, &[1.0, 3.0, 2.0]).unwrap();
        let Quality::Values(values) = &quality else { panic!("{quality:?}") };
        assert_eq!((values.rows, values.rmse, values.nlpd), (3, report.rmse, report.nlpd));
        assert_eq!((quality.rows(), quality.log_loss(), quality.accuracy()), (3, report.nlpd, None));
        let short = OutOfSample::of_numbers(Source::LeaveOneOut, &normals, vec![1.0]);
        assert_eq!(
            (short.rows.as_slice(), short.values.nrows(), short.targets.bytes() > 0),
            (&[0][..], 1, true)
        );
        let classes = OutOfSample::new(Source::HeldOut, vec![4], array![[0.5, 0.5]], vec![ClassId(1)]);
        assert!(classes.normals().is_none() && classes.task() == Task::Classification);
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
