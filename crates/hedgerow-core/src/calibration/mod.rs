//! From scores, one a class against the rest, to probabilities of all classes.
//!
//! Each class has a curve from scores to probabilities ([`Platt`]); their values, or the odds that they stand for, are brought to a power
//! and to the sum 1. Without the power the probabilities would be under-confident: a class that is likely makes the others unlikely, which curves of
//! their own do not know. Odds that share one curve are a softmax with a temperature. Whichever has the least loss is used.
//! Every kind of model is calibrated by [`OutOfSample::calibration`](crate::OutOfSample::calibration); only forests do it before votes are
//! probabilities, as what they are unsure of is how many votes there are.

mod newton;
mod platt;

use ndarray::{Array2, ArrayView1, Axis};
use serde::{Deserialize, Serialize};

use crate::data::ClassId;
use crate::folds::Folds;
use crate::par::Par;
use crate::rng::{Purpose, Rng};

pub use newton::{Slopes, minimize};
pub use platt::Platt;

/// Probabilities below this are raised to it.
const LEAST: f64 = 1e-9;
/// Powers between these are tried.
const POWERS: [f64; 2] = [0.5, 4.0];
/// Log odds farther from 0 than this are as good as certain.
const MOST_ODDS: f64 = 50.0;

/// Rows below which curves are fitted without the rows they are applied to, and folds for that.
const FEW_ROWS: usize = 2000;
const FOLDS: usize = 5;

/// How scores become probabilities.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// A curve a class.
    pub curves: Vec<Platt>,
    /// The power.
    pub sharpness: f64,
    /// Whether odds are brought to it, not probabilities.
    pub of_odds: bool,
    /// The share of a class that has no curve yet.
    pub unknown: f64,
}

impl Calibration {
    /// Fits to scores of rows that the scores were not made from. A class without scores (not finite) is not known yet.
    pub(crate) fn fit(scores: &Array2<f64>, labels: &[ClassId], par: &Par) -> Self {
        let n_classes = scores.ncols();
        let curves = par.map(n_classes, |class| curve(scores, labels, class));
        let unknown = 1.0 / (labels.len() as f64 + 2.0);
        let plain = Self { curves, sharpness: 1.0, of_odds: false, unknown };
        if n_classes < 3 || labels.is_empty() {
            return plain;
        }
        let odds = Self { of_odds: true, ..plain.clone() };
        let slope = plain.curves.iter().map(|curve| curve.slope).sum::<f64>() / n_classes as f64;
        let alike = Self { curves: vec![Platt { slope, offset: 0.0 }; n_classes], ..odds.clone() };
        let mut all = vec![plain.clone(), odds];
        all.extend((slope > 0.0).then_some(alike));
        let sharpened = par.map(all.len(), |i| {
            let (sharpness, loss) = all[i].best_power(scores, labels);
            (loss, Self { sharpness, ..all[i].clone() })
        });
        let best = sharpened.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
        best.map_or(plain, |(_, found)| found)
    }

    /// Turns scores into probabilities by curves that were fitted without the row where that matters: a few rows would make the probabilities look
    /// better than those of new rows are.
    pub fn apply_out_of_fold(&self, scores: &mut Array2<f64>, labels: &[ClassId], par: &Par) {
        let raw = scores.clone();
        let n_folds = if labels.len() < FEW_ROWS { FOLDS } else { 0 };
        let folds = Folds::new(labels.len(), n_folds, Rng::new(0, Purpose::Validation, 6));
        scores
            .rows_mut()
            .into_iter()
            .for_each(|mut row| row.as_slice_mut().into_iter().for_each(|row| self.apply(row)));
        for fold in 0..n_folds {
            let [kept, left] = folds.cut(fold);
            let of_kept: Vec<ClassId> = kept.iter().map(|&row| labels[row]).collect();
            let fitted = Self::fit(&raw.select(Axis(0), &kept), &of_kept, par);
            for row in left {
                let mut proba = raw.row(row).to_vec();
                fitted.apply(&mut proba);
                scores.row_mut(row).assign(&ArrayView1::from(&proba));
            }
        }
    }

    /// Whether all its numbers are possible ones.
    pub fn is_valid(&self) -> bool {
        let is_curve = |curve: &Platt| curve.slope.is_finite() && curve.offset.is_finite();
        let is_power = self.sharpness > 0.0 && self.sharpness.is_finite();
        is_power && (0.0..=1.0).contains(&self.unknown) && self.curves.iter().all(is_curve)
    }

    /// The scores of one row become its probabilities.
    pub fn apply(&self, row: &mut [f64]) {
        self.shares(row);
        self.sharpen(row);
    }

    /// The mean log-loss of scores of rows with these labels.
    pub fn loss(&self, scores: &Array2<f64>, labels: &[ClassId]) -> f64 {
        let of_row = |(row, label): (ArrayView1<'_, f64>, &ClassId)| {
            let mut p = row.to_vec();
            self.apply(&mut p);
            -libm::log(p[label.index()])
        };
        scores.rows().into_iter().zip(labels).map(of_row).sum::<f64>() / labels.len().max(1) as f64
    }

    /// The values of the curves, not yet of sum 1: logarithms where there are more than two classes.
    fn shares(&self, row: &mut [f64]) {
        if let [first, second] = row
            && second.is_finite()
        {
            *second = self.curves[1].probability(*second).clamp(LEAST, 1.0 - LEAST);
            *first = 1.0 - *second;
            return;
        }
        let is_many = row.len() > 2;
        let curves = self.curves.iter().map(Some).chain(std::iter::repeat(None));
        for (p, curve) in row.iter_mut().zip(curves) {
            let share = |p: f64| match (is_many, self.of_odds) {
                (true, true) => libm::log(p) - libm::log1p(-p),
                (true, false) => libm::log(p),
                (false, _) => p,
            };
            *p = match curve {
                Some(curve) if p.is_finite() && is_many && self.of_odds => {
                    curve.log_odds(*p).clamp(-MOST_ODDS, MOST_ODDS)
                }
                Some(curve) if p.is_finite() => share(curve.probability(*p).max(LEAST)),
                _ => share(self.unknown.clamp(LEAST, 0.5)),
            };
        }
    }

    fn sharpen(&self, row: &mut [f64]) {
        if row.len() > 2 {
            return softmax(row, self.sharpness, LEAST);
        }
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|p| *p /= sum);
    }

    /// The power of least loss, and that loss, which has one valley along it.
    fn best_power(&self, scores: &Array2<f64>, labels: &[ClassId]) -> (f64, f64) {
        let mut logs = scores.clone();
        for mut row in logs.rows_mut() {
            row.as_slice_mut().into_iter().for_each(|row| self.shares(row));
        }
        let loss = |log_power: f64| {
            let power = libm::exp(log_power);
            let of_row = |(row, label): (ArrayView1<'_, f64>, &ClassId)| {
                let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let sum: f64 = row.iter().map(|v| libm::exp(power * (v - most))).sum();
                libm::log(sum) - power * (row[label.index()] - most)
            };
            logs.rows().into_iter().zip(labels).map(of_row).sum::<f64>()
        };
        let golden = (libm::sqrt(5.0) - 1.0) / 2.0;
        let [mut low, mut high] = POWERS.map(libm::log);
        let inner = |low: f64, high: f64| [high - golden * (high - low), low + golden * (high - low)];
        let [mut a, mut b] = inner(low, high);
        let (mut at_a, mut at_b) = (loss(a), loss(b));
        while high - low > 0.02 {
            if at_a < at_b {
                (high, b, at_b) = (b, a, at_a);
                a = inner(low, high)[0];
                at_a = loss(a);
            } else {
                (low, a, at_a) = (a, b, at_b);
                b = inner(low, high)[1];
                at_b = loss(b);
            }
        }
        let middle = 0.5 * (low + high);
        (libm::exp(middle), loss(middle))
    }
}

/// The curve of one class.
pub(crate) fn curve(scores: &Array2<f64>, labels: &[ClassId], class: usize) -> Platt {
    let is_own: Vec<bool> = labels.iter().map(|label| label.index() == class).collect();
    let finite = |score: &f64| if score.is_finite() { *score } else { 0.0 };
    let of_class: Vec<f64> = scores.column(class).iter().map(finite).collect();
    Platt::fit(&of_class, &is_own)
}

/// Logarithms of weights become probabilities: `exp(sharpness · v)`, at least `least` times the largest, brought to the sum 1.
pub fn softmax(logs: &mut [f64], sharpness: f64, least: f64) {
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for v in logs.iter_mut() {
        *v = libm::exp(sharpness * (*v - most)).max(least);
        sum += *v;
    }
    logs.iter_mut().for_each(|p| *p /= sum);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows whose classes really have the probabilities that a softmax of hidden scores gives.
    fn rows(n: usize, seed: u64) -> (Array2<f64>, Vec<ClassId>) {
        let mut rng = Rng::new(seed, Purpose::Data, 0);
        let scores = Array2::from_shape_fn((n, 4), |_| 2.0 * rng.normal());
        let label = |row: ArrayView1<'_, f64>| {
            let weights: Vec<f64> = row.iter().map(|v| libm::exp(*v)).collect();
            let mut at = rng.unit() * weights.iter().sum::<f64>();
            let place = weights.iter().position(|w| {
                at -= w;
                at < 0.0
            });
            ClassId(place.unwrap_or(3) as u32)
        };
        let labels = scores.rows().into_iter().map(label).collect();
        (scores, labels)
    }

    #[test]
    fn few_rows_are_calibrated_without_themselves() {
        let (scores, labels) = rows(60, 3);
        let par = Par::sequential();
        let noise: Vec<ClassId> = labels.iter().map(|label| ClassId((label.0 * 7 + 3) % 4)).collect();
        let loss = |proba: &Array2<f64>, labels: &[ClassId]| {
            let of_row = |(row, label): (ArrayView1<'_, f64>, &ClassId)| -libm::log(row[label.index()]);
            proba.rows().into_iter().zip(labels).map(of_row).sum::<f64>() / labels.len() as f64
        };
        for labels in [&labels, &noise] {
            let calibration = Calibration::fit(&scores, labels, &par);
            let mut proba = scores.clone();
            calibration.apply_out_of_fold(&mut proba, labels, &par);
            assert!(proba.rows().into_iter().all(|row| (row.sum() - 1.0).abs() < 1e-6));
            let (own, without) = (calibration.loss(&scores, labels), loss(&proba, labels));
            assert!(without > own && without < own + 0.3, "{own} {without}");
        }
        let (scores, labels) = rows(FEW_ROWS, 4);
        let calibration = Calibration::fit(&scores, &labels, &par);
        let mut proba = scores.clone();
        calibration.apply_out_of_fold(&mut proba, &labels, &par);
        assert!((loss(&proba, &labels) - calibration.loss(&scores, &labels)).abs() < 1e-12, "many rows");
    }

    #[test]
    fn the_power_repairs_what_curves_alone_cannot_know() {
        let par = Par::sequential();
        let (scores, labels) = rows(4000, 1);
        let (fresh, their_labels) = rows(4000, 2);
        let fitted = Calibration::fit(&scores, &labels, &par);
        assert!(fitted.of_odds, "the rows are those of a softmax");
        let without = Calibration { sharpness: 1.0, of_odds: false, ..fitted.clone() };
        let truth = {
            let of_row = |(row, label): (ArrayView1<'_, f64>, &ClassId)| {
                libm::log(row.iter().map(|v| libm::exp(*v)).sum::<f64>()) - row[label.index()]
            };
            fresh.rows().into_iter().zip(&their_labels).map(of_row).sum::<f64>() / 4000.0
        };
        let [with, without] = [fitted, without].map(|c| c.loss(&fresh, &their_labels));
        assert!(with < without - 0.01 && with < truth + 0.01, "{with} {without} {truth}");
    }

    #[test]
    fn unknown_classes_and_extremes_still_give_distributions() {
        let (scores, labels) = rows(50, 1);
        let mut unknown = scores;
        unknown.column_mut(3).fill(f64::NEG_INFINITY);
        let labels: Vec<ClassId> = labels.iter().map(|l| ClassId(l.0 % 3)).collect();
        let fitted = Calibration::fit(&unknown, &labels, &Par::sequential());
        for mut row in [vec![1e300, -1e300, 0.0, f64::NEG_INFINITY], vec![f64::NEG_INFINITY; 6]] {
            fitted.apply(&mut row);
            assert!(
                row.iter().all(|p| p.is_finite() && *p > 0.0) && (row.iter().sum::<f64>() - 1.0).abs() < 1e-9
            );
        }
        let empty = Calibration::fit(&Array2::zeros((0, 3)), &[], &Par::sequential());
        let mut row = [0.0; 3];
        empty.apply(&mut row);
        assert!((row[0] - 1.0 / 3.0).abs() < 1e-9);
    }
}
