//! Figures about predictions that come one after the other, in memory that does not grow with them.

use ndarray::{Array2, ArrayView1, ArrayView2};
use serde::{Deserialize, Serialize};

use super::confidence::{Reliability, ReliabilityBin, normalized_entropy};
use super::{MOST_CLASSES, Report, auc};
use crate::data::ClassId;
use crate::error::{Error, Result, check_shapes};
use crate::rng::{Purpose, Rng};
use crate::traits::largest;

/// The least probability that the log-loss takes seriously.
const LEAST_PROBABILITY: f64 = 1e-15;
/// Predictions kept for the area under the ROC curve: at most so many rows and values.
const MOST_ROWS: usize = 4_096;
const MOST_VALUES: usize = 1 << 17;

/// All figures of a [`Report`], kept up to date row by row. The number of classes may grow on the way: a class that a prediction
/// does not know has probability 0. It can be saved and go on later as if nothing had happened.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Running {
    n_rows: u64,
    weight: f64,
    right: f64,
    log_loss: f64,
    brier: f64,
    reliability: Reliability,
    /// The last label, and how many were the same as the one before.
    last: Option<ClassId>,
    n_repeated: u64,
    wrong_entropy: Mean,
    right_entropy: Mean,
    classes: Vec<ClassTally>,
    /// Rows are true classes, columns predicted ones; empty where there are too many classes.
    confusion: Vec<Vec<u64>>,
    sample: Sample,
}

/// What is known about the predictions for the rows of one class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassTally {
    /// Rows of the class.
    pub rows: u64,
    /// Rows of the class that were predicted right.
    pub right: u64,
    /// Rows, of whatever class, that were predicted with this one.
    pub predicted: u64,
    /// Sum of the top probabilities of the predictions for its rows.
    pub confidence: f64,
    weight: f64,
    right_weight: f64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct Mean {
    sum: f64,
    count: u64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    fn value(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

impl Running {
    /// Of predictions that are all there, each with a weight where there are any.
    pub fn of(proba: ArrayView2<'_, f64>, truth: &[ClassId], weights: Option<&[f32]>) -> Result<Self> {
        check_shapes([("labels", proba.nrows(), truth.len())])?;
        let expected = truth.iter().map(|class| class.index() + 1).max().unwrap_or(0);
        if expected > proba.ncols() {
            return Err(Error::Shape { what: "classes in the prediction", expected, got: proba.ncols() });
        }
        let mut running = Self::default();
        running.grow(proba.ncols());
        for (i, (prediction, class)) in proba.rows().into_iter().zip(truth).enumerate() {
            running.add(prediction, *class, weights.map_or(1.0, |weights| weights[i]));
        }
        Ok(running)
    }

    /// Adds a prediction; `weight` is 1 where rows do not weigh differently.
    pub fn add(&mut self, prediction: ArrayView1<'_, f64>, truth: ClassId, weight: f32) {
        self.grow(prediction.len().max(truth.index() + 1));
        let (truth, weight) = (truth.index(), f64::from(weight));
        let best = largest(prediction).unwrap_or(0);
        let top = prediction.get(best).copied().unwrap_or(0.0);
        let hit = f64::from(u8::from(best == truth));
        self.n_rows += 1;
        self.weight += weight;
        self.right += weight * hit;
        let given = prediction.get(truth).copied().unwrap_or(0.0);
        self.log_loss += weight * -libm::log(given.max(LEAST_PROBABILITY));
        self.brier += weight * distance(prediction, truth);
        self.reliability.add(top, best == truth);
        let label = ClassId(truth as u32);
        self.n_repeated += u64::from(self.last.replace(label) == Some(label));
        let entropy = normalized_entropy(prediction);
        if best == truth {
            self.right_entropy.add(entropy);
        } else {
            self.wrong_entropy.add(entropy);
        }
        self.classes[best].predicted += 1;
        let class = &mut self.classes[truth];
        class.rows += 1;
        class.right += u64::from(best == truth);
        class.confidence += top;
        class.weight += weight;
        class.right_weight += weight * hit;
        if let Some(cell) = self.confusion.get_mut(truth).and_then(|row| row.get_mut(best)) {
            *cell += 1;
        }
        self.sample.add(prediction, ClassId(truth as u32), self.n_rows, self.classes.len());
    }

    /// How many predictions there have been.
    pub fn n_rows(&self) -> u64 {
        self.n_rows
    }

    /// The figures. The area under the ROC curve is that of a random sample of 4,096 rows where there are more (fewer where
    /// classes are many); everything else counts all rows.
    pub fn report(&self) -> Report {
        let n_classes = self.classes.len();
        self.figures(if n_classes <= MOST_CLASSES { self.sample.auc(n_classes) } else { None })
    }

    /// The figures with a given area under the ROC curve.
    pub(super) fn figures(&self, auc: Option<f64>) -> Report {
        let share = |sum: f64| if self.weight > 0.0 { sum / self.weight } else { 0.0 };
        let recalls: Vec<f64> =
            self.classes.iter().filter(|c| c.weight > 0.0).map(|c| c.right_weight / c.weight).collect();
        let balanced = recalls.iter().sum::<f64>() / recalls.len().max(1) as f64;
        Report {
            accuracy: share(self.right),
            balanced_accuracy: balanced,
            kappa: self.beyond(self.by_guess()),
            kappa_temporal: Some(self.beyond(self.n_repeated as f64 / self.n_rows.max(1) as f64)),
            log_loss: share(self.log_loss),
            brier: share(self.brier),
            ece: self.reliability.ece(),
            overconfidence: self.wrong_entropy.value().map(|h| 1.0 - h),
            underconfidence: self.right_entropy.value(),
            auc,
            confusion: self.confusion.clone(),
        }
    }

    /// Predictions grouped by top probability into 15 equal bins.
    pub fn reliability(&self) -> Vec<ReliabilityBin> {
        self.reliability.bins()
    }

    /// The accuracy of guesses with the frequencies of the predictions.
    fn by_guess(&self) -> f64 {
        let n = self.n_rows.max(1) as f64;
        self.classes.iter().map(|class| class.rows as f64 / n * (class.predicted as f64 / n)).sum()
    }

    /// How far the accuracy goes beyond another: 0 for no more, 1 for all right.
    fn beyond(&self, other: f64) -> f64 {
        let right: u64 = self.classes.iter().map(|class| class.right).sum();
        let accuracy = right as f64 / self.n_rows.max(1) as f64;
        if other < 1.0 { (accuracy - other) / (1.0 - other) } else { 0.0 }
    }

    /// Class by class.
    pub fn classes(&self) -> &[ClassTally] {
        &self.classes
    }

    fn grow(&mut self, n_classes: usize) {
        if n_classes <= self.classes.len() {
            return;
        }
        self.classes.resize(n_classes, ClassTally::default());
        if n_classes > MOST_CLASSES {
            self.confusion = Vec::new();
            return;
        }
        self.confusion.resize(n_classes, Vec::new());
        self.confusion.iter_mut().for_each(|row| row.resize(n_classes, 0));
    }
}

/// The squared distance between probabilities and truth.
fn distance(prediction: ArrayView1<'_, f64>, truth: usize) -> f64 {
    let known: f64 = prediction
        .iter()
        .enumerate()
        .map(|(class, &p)| {
            let hit = f64::from(u8::from(class == truth));
            (p - hit) * (p - hit)
        })
        .sum();
    if truth < prediction.len() { known } else { known + 1.0 }
}

/// Predictions of which each was kept with the same probability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Sample {
    rows: Vec<(Vec<f64>, ClassId)>,
    rng: Rng,
}

impl Default for Sample {
    fn default() -> Self {
        Self { rows: Vec::new(), rng: Rng::new(0, Purpose::Sample, 2) }
    }
}

impl Sample {
    /// Adds the prediction number `n`, counted from 1, or leaves it out.
    fn add(&mut self, prediction: ArrayView1<'_, f64>, truth: ClassId, n: u64, n_classes: usize) {
        if n_classes > MOST_CLASSES {
            self.rows = Vec::new();
            return;
        }
        let most = (MOST_VALUES / n_classes.max(1)).clamp(1, MOST_ROWS);
        while self.rows.len() > most {
            let gone = self.rng.index(self.rows.len());
            self.rows.swap_remove(gone);
        }
        if self.rows.len() < most && self.rows.len() as u64 + 1 == n {
            self.rows.push((prediction.to_vec(), truth));
            return;
        }
        let place = self.rng.index(n as usize);
        if let Some((row, class)) = self.rows.get_mut(place) {
            row.clear();
            row.extend(prediction);
            *class = truth;
        }
    }

    fn auc(&self, n_classes: usize) -> Option<f64> {
        let mut proba = Array2::zeros((self.rows.len(), n_classes));
        for ((prediction, _), mut to) in self.rows.iter().zip(proba.rows_mut()) {
            to.iter_mut().zip(prediction).for_each(|(to, from)| *to = *from);
        }
        let truth: Vec<ClassId> = self.rows.iter().map(|row| row.1).collect();
        auc(proba.view(), &truth)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{array, s};

    use super::super::tests::{reliability, report_by_definition};
    use super::*;

    fn predictions(n_rows: usize, n_classes: usize) -> (Array2<f64>, Vec<ClassId>, Vec<f32>) {
        let mut rng = Rng::new(3, Purpose::Data, 0);
        let mut proba = Array2::from_shape_fn((n_rows, n_classes), |_| rng.unit().powi(4));
        for mut row in proba.rows_mut() {
            let sum = row.sum();
            row /= sum;
        }
        let truth = proba.rows().into_iter().map(|row| match rng.below(3) {
            0 => ClassId(rng.below(n_classes as u32)),
            _ => ClassId(largest(row).unwrap() as u32),
        });
        let truth = truth.collect();
        let weights = (0..n_rows).map(|_| rng.unit() as f32 * 3.0).collect();
        (proba, truth, weights)
    }

    fn running(proba: &Array2<f64>, truth: &[ClassId], weights: Option<&[f32]>) -> Running {
        let mut running = Running::default();
        for (i, row) in proba.rows().into_iter().enumerate() {
            running.add(row, truth[i], weights.map_or(1.0, |w| w[i]));
        }
        running
    }

    #[test]
    fn it_is_the_report_of_the_same_predictions() {
        for n_classes in [2, 7] {
            let (proba, truth, weights) = predictions(3_000, n_classes);
            for weights in [None, Some(weights.as_slice())] {
                let whole = report_by_definition(proba.view(), &truth, weights);
                assert_eq!(Report::new(proba.view(), &truth, weights).unwrap(), whole);
                let running = running(&proba, &truth, weights);
                let report = running.report();
                let repeated = truth.windows(2).filter(|pair| pair[0] == pair[1]).count() as f64 / 3_000.0;
                let right = report.confusion.iter().enumerate().map(|(c, row)| row[c]).sum::<u64>() as f64;
                let beyond = (right / 3_000.0 - repeated) / (1.0 - repeated);
                assert!((report.kappa_temporal.unwrap() - beyond).abs() < 1e-12);
                assert_eq!(Report { kappa_temporal: None, ..report }, whole);
                assert_eq!(running.reliability(), reliability(proba.view(), &truth));
                assert_eq!(running.n_rows(), 3_000);
            }
        }
        let nothing = Report::new(Array2::zeros((0, 0)).view(), &[], None).unwrap();
        assert_eq!(Running::default().report(), Report { kappa_temporal: Some(0.0), ..nothing });
    }

    #[test]
    fn a_sample_stands_for_many_rows() {
        let (proba, truth, _) = predictions(30_000, 3);
        let running = running(&proba, &truth, None);
        assert_eq!(running.sample.rows.len(), MOST_ROWS);
        let whole = Report::new(proba.view(), &truth, None).unwrap();
        let report = running.report();
        assert!((report.auc.unwrap() - whole.auc.unwrap()).abs() < 0.01, "{report:?}");
        assert_eq!(Report { auc: None, kappa_temporal: None, ..report }, Report { auc: None, ..whole });
    }

    #[test]
    fn it_goes_on_after_it_was_saved() {
        let (proba, truth, weights) = predictions(6_000, 3);
        let mut whole = running(&proba, &truth, Some(&weights));
        let part = |rows: std::ops::Range<usize>| {
            running(&proba.slice(s![rows.clone(), ..]).to_owned(), &truth[rows.clone()], Some(&weights[rows]))
        };
        let text = serde_json::to_string(&part(0..4_500)).unwrap();
        let mut saved: Running = serde_json::from_str(&text).unwrap();
        for (i, row) in proba.rows().into_iter().enumerate().skip(4_500) {
            saved.add(row, truth[i], weights[i]);
        }
        assert_eq!(saved, whole);
        whole.add(proba.row(0), truth[0], 1.0);
        assert_ne!(saved, whole);
    }

    #[test]
    fn classes_may_come_late() {
        let (proba, truth, _) = predictions(200, 3);
        let mut late = Running::default();
        late.add(array![0.75, 0.25].view(), ClassId(2), 1.0);
        let mut padded = Running::default();
        padded.add(array![0.75, 0.25, 0.0].view(), ClassId(2), 1.0);
        for (i, row) in proba.rows().into_iter().enumerate() {
            late.add(row, truth[i], 1.0);
            padded.add(row.slice(s![..]), truth[i], 1.0);
        }
        let (late, padded) = (late.report(), padded.report());
        assert_eq!(
            (late.log_loss, late.brier, &late.confusion),
            (padded.log_loss, padded.brier, &padded.confusion)
        );
        assert_eq!((late.auc, late.accuracy, late.ece), (padded.auc, padded.accuracy, padded.ece));
    }

    #[test]
    fn very_many_classes_take_no_table() {
        let mut running = Running::default();
        running.add(array![1.0].view(), ClassId(5_000), 1.0);
        let report = running.report();
        assert!(report.confusion.is_empty() && report.auc.is_none());
        assert_eq!(running.classes()[5_000].rows, 1);
    }
}
