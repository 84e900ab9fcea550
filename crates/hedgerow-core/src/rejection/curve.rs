//! Accuracy on the rows that are left when the most uncertain predictions are rejected.

use ndarray::{ArrayView1, ArrayView2};
use serde::{Deserialize, Serialize};

use super::Uncertainty;
use crate::data::ClassId;
use crate::error::{Result, check_shapes};
use crate::traits::largest;

/// Points of a curve.
const N_POINTS: usize = 20;

/// The accuracy–rejection curve (Nadeem, Zucker & Hanczar, 2009, "Accuracy-rejection curves for comparing classification methods with a reject option").
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RejectionCurve {
    /// The area under the curve: the accuracy averaged over the share of rows that are kept.
    pub area: f64,
    /// The curve at 5, 10, … 100 % of the rows, as far as there are rows.
    pub curve: Vec<RejectionPoint>,
}

/// A point of the curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RejectionPoint {
    /// The share of rows that are kept, those with the most certain predictions.
    pub kept: f64,
    /// The share of right predictions among them.
    pub accuracy: f64,
    /// The uncertainty of the most uncertain of them: what rejecting the others takes.
    pub uncertainty: f64,
}

impl RejectionCurve {
    /// Of predictions and labels. Rows that are equally uncertain are kept in any order: the curve is the mean over all. None if there are no rows.
    pub fn new(proba: ArrayView2<'_, f64>, truth: &[ClassId], measure: Uncertainty) -> Result<Option<Self>> {
        check_shapes([("labels", proba.nrows(), truth.len())])?;
        let row =
            |(p, class): (ArrayView1<'_, f64>, &ClassId)| (measure.of(p), largest(p) == Some(class.index()));
        Ok(Self::of(proba.rows().into_iter().zip(truth).map(row).collect()))
    }

    /// Of rows with their uncertainties, and whether their predictions were right.
    pub fn of(mut rows: Vec<(f64, bool)>) -> Option<Self> {
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        let n = rows.len();
        // The accuracy on the first so many rows.
        let mut accuracy = Vec::with_capacity(n);
        let mut n_right = 0.0;
        for equal in rows.chunk_by(|a, b| a.0 == b.0) {
            let right = equal.iter().filter(|row| row.1).count() as f64;
            for place in 1..=equal.len() {
                let so_far = n_right + right * place as f64 / equal.len() as f64;
                accuracy.push(so_far / (accuracy.len() + 1) as f64);
            }
            n_right += right;
        }
        let mut curve: Vec<RejectionPoint> = Vec::new();
        for point in 1..=N_POINTS {
            let n_kept = (point * n).div_ceil(N_POINTS);
            let is_new = curve.last().is_none_or(|last| last.kept < n_kept as f64 / n as f64);
            if n_kept > 0 && is_new {
                let (accuracy, uncertainty) = (accuracy[n_kept - 1], rows[n_kept - 1].0);
                curve.push(RejectionPoint { kept: n_kept as f64 / n as f64, accuracy, uncertainty });
            }
        }
        (n > 0).then(|| Self { area: accuracy.iter().sum::<f64>() / n as f64, curve })
    }

    /// The accuracy when this share of the rows is kept, or a little more.
    pub fn accuracy_at(&self, kept: f64) -> Option<f64> {
        self.curve.iter().find(|point| point.kept >= kept - 1e-9).map(|point| point.accuracy)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::rng::{Purpose, Rng};

    #[test]
    fn a_curve_by_hand() {
        let rows = vec![(0.4, false), (0.1, true), (0.3, true), (0.2, true)];
        let found = RejectionCurve::of(rows).unwrap();
        assert!((found.area - (1.0 + 1.0 + 1.0 + 0.75) / 4.0).abs() < 1e-12);
        assert_eq!(found.curve.len(), 4);
        assert_eq!(found.curve[1], RejectionPoint { kept: 0.5, accuracy: 1.0, uncertainty: 0.2 });
        assert_eq!([0.5, 0.8, 1.0].map(|kept| found.accuracy_at(kept)), [Some(1.0), Some(0.75), Some(0.75)]);
        assert!(RejectionCurve::of(Vec::new()).is_none());
        let proba = array![[0.9, 0.1], [0.4, 0.6]];
        let found =
            RejectionCurve::new(proba.view(), &[0, 0].map(ClassId), Uncertainty::Error).unwrap().unwrap();
        assert!((found.area - 0.75).abs() < 1e-12);
        assert!(RejectionCurve::new(proba.view(), &[ClassId(0)], Uncertainty::Error).is_err());
    }

    #[test]
    fn equals_count_as_the_mean_over_their_orders() {
        let mut rng = Rng::new(3, Purpose::Data, 0);
        let rows: Vec<(f64, bool)> =
            (0..60).map(|_| (f64::from(rng.below(5)) / 5.0, rng.below(3) > 0)).collect();
        let expected = RejectionCurve::of(rows.clone()).unwrap();
        let n_draws = 4_000;
        let mut mean = 0.0;
        for _ in 0..n_draws {
            // The same with equals in a random order.
            let distinct = rows.iter().map(|(u, right)| (u + 1e-6 * rng.unit(), *right)).collect();
            mean += RejectionCurve::of(distinct).unwrap().area / f64::from(n_draws);
        }
        assert!((mean - expected.area).abs() < 2e-3, "{mean} {}", expected.area);
        assert_eq!(expected.curve.len(), 20);
    }
}
