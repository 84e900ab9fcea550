//! How good out-of-sample predictions are, in a few figures: what snapshots are compared by, and what a user is told about a training.

use ndarray::{Array2, ArrayView1};
use serde::{Deserialize, Serialize};

use crate::data::ClassId;
use crate::metrics::RunningValues;
use crate::traits::largest;

/// Probabilities below this count as this much in a log-loss.
const LEAST: f64 = 1e-9;

/// How good predictions are: of classes or of numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Quality {
    /// Probabilities of classes.
    Classes(ClassQuality),
    /// Numbers with their variances.
    Values(ValueQuality),
}

/// How good probabilities of classes are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassQuality {
    /// Rows that were predicted.
    pub rows: usize,
    /// The mean log-loss.
    pub log_loss: f64,
    /// The share of rows whose most probable class is theirs.
    pub accuracy: f64,
    /// The same for each class, averaged over classes.
    pub balanced_accuracy: f64,
}

/// How good predicted numbers are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ValueQuality {
    /// Rows that were predicted.
    pub rows: usize,
    /// Root of the mean squared error.
    pub rmse: f64,
    /// R², the share of the variance of the true values that is explained; none if they do not vary.
    pub r2: Option<f64>,
    /// Mean negative log density of the true values.
    pub nlpd: f64,
}

impl Quality {
    /// Rows that were predicted.
    pub fn rows(&self) -> usize {
        match self {
            Self::Classes(quality) => quality.rows,
            Self::Values(quality) => quality.rows,
        }
    }

    /// The mean negative logarithm of the probability of the true class, or of the density of the true number.
    pub fn log_loss(&self) -> f64 {
        match self {
            Self::Classes(quality) => quality.log_loss,
            Self::Values(quality) => quality.nlpd,
        }
    }

    /// The share of rows whose most probable class is theirs; none of numbers.
    pub fn accuracy(&self) -> Option<f64> {
        match self {
            Self::Classes(quality) => Some(quality.accuracy),
            Self::Values(_) => None,
        }
    }
}

impl ClassQuality {
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

impl ValueQuality {
    /// Of a column of means and one of variances.
    pub(crate) fn new(values: &Array2<f64>, truth: &[f64]) -> Self {
        let mut running = RunningValues::default();
        for (row, truth) in values.rows().into_iter().zip(truth) {
            running.add(row[0], row[1], *truth);
        }
        let report = running.report();
        let r2 = report.nmse.map(|nmse| 1.0 - nmse);
        Self { rows: truth.len(), rmse: report.rmse, r2, nlpd: report.nlpd }
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
        let found = ClassQuality::new(&proba, &[0, 1, 1].map(ClassId));
        assert!((found.log_loss + (0.8_f64.ln() + 0.4_f64.ln() + 0.9_f64.ln()) / 3.0).abs() < 1e-12);
        assert!((found.accuracy - 2.0 / 3.0).abs() < 1e-12 && (found.balanced_accuracy - 0.75).abs() < 1e-12);
        let late = ClassQuality::new(&array![[1.0]], &[ClassId(2)]);
        assert!((late.log_loss + LEAST.ln()).abs() < 1e-9 && late.accuracy == 0.0);
        assert_eq!(ClassQuality::new(&Array2::zeros((0, 2)), &[]).rows, 0);
        let numbers = ValueQuality::new(&array![[1.0, 1.0], [2.0, 0.01], [4.0, 4.0]], &[1.0, 3.0, 2.0]);
        assert!((numbers.rmse - (5.0_f64 / 3.0).sqrt()).abs() < 1e-15 && numbers.rows == 3);
        assert!((numbers.r2.unwrap() + 1.5).abs() < 1e-12, "worse than the mean: {numbers:?}");
        assert!(ValueQuality::new(&array![[1.0, 1.0]], &[2.0]).r2.is_none());
    }

    /// What is kept beside a model is read as what it was.
    #[test]
    fn either_is_read_again() {
        let classes = ClassQuality { rows: 3, log_loss: 0.5, accuracy: 0.75, balanced_accuracy: 0.5 };
        let values = ValueQuality { rows: 4, rmse: 2.0, r2: None, nlpd: 1.5 };
        for quality in [Quality::Classes(classes), Quality::Values(values)] {
            let text = serde_json::to_string(&quality).unwrap();
            assert_eq!(serde_json::from_str::<Quality>(&text).unwrap(), quality, "{text}");
        }
    }
}
