//! Predictions of training rows by all the others.

use hedgerow_core::calibration::Calibration;
use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::second_order::{log_odds, shared_prior};
use hedgerow_core::{ClassId, OutOfSample, Par, Source};
use ndarray::Array2;

use crate::method::{Common, Method, Near};
use crate::points::Points;

/// Distances times columns that leave-one-out predictions may cost, and rows that they are made for at least.
const MOST_WORK: usize = 4_000_000_000;
const LEAST_ROWS: usize = 200;
/// Rows done together by a thread.
const BLOCK: usize = 16;

/// Some training rows, each seen from all the others.
pub struct LeaveOneOut<'a> {
    pub(crate) points: &'a Points,
    /// The rows, in order; with weights some of them several times.
    pub(crate) rows: Vec<usize>,
    pub(crate) common: Common,
    /// The prior of each class in predictions. It counts all rows: without its own row, the prior alone would tell a row's class.
    pub(crate) prior: Vec<f64>,
    par: &'a Par,
}

impl<'a> LeaveOneOut<'a> {
    /// At most so many rows; with weights, as often as they count.
    pub(crate) fn new(
        points: &'a Points,
        n_classes: usize,
        most: usize,
        common: Common,
        par: &'a Par,
    ) -> Self {
        let n = points.len();
        let affordable = MOST_WORK / (n * points.width()).max(1);
        let most = most.min(affordable.max(LEAST_ROWS));
        let rows = match points.weights() {
            Some(weights) => by_weight(weights, n.min(most), Rng::new(common.seed, Purpose::Validation, 9)),
            None => Rng::new(common.seed, Purpose::Validation, 9)
                .sample(n, most)
                .unwrap_or_else(|| (0..n).collect()),
        };
        let prior = shared_prior(common.prior_of(n_classes), &points.counts(n, n_classes));
        Self { points, rows, common, prior, par }
    }

    /// At most so many of these, drawn at random.
    pub(crate) fn some(&self, n: usize) -> Self {
        let drawn = Rng::new(self.common.seed, Purpose::Validation, 10).sample(self.rows.len(), n);
        let rows =
            drawn.map_or_else(|| self.rows.clone(), |places| places.iter().map(|&p| self.rows[p]).collect());
        Self { rows, points: self.points, common: self.common, prior: self.prior.clone(), par: self.par }
    }

    pub(crate) fn n_classes(&self) -> usize {
        self.prior.len()
    }

    /// The class of each row.
    pub(crate) fn labels(&self) -> Vec<ClassId> {
        self.rows.iter().map(|&row| self.points.labels()[row]).collect()
    }

    /// Whether there are rows of more than one class.
    pub(crate) fn has_two_classes(&self) -> bool {
        self.points.labels().iter().any(|label| *label != self.points.labels()[0])
    }

    /// Something of each row by its distances to the others.
    pub(crate) fn each<T: Send>(&self, of: impl Fn(&Near<'_>, ClassId) -> T + Send + Sync) -> Vec<T> {
        let (points, n) = (self.points, self.points.len());
        let blocks = self.par.map(self.rows.len().div_ceil(BLOCK), |block| {
            let rows = &self.rows[block * BLOCK..self.rows.len().min((block + 1) * BLOCK)];
            let mut distances = Vec::with_capacity(n + BLOCK);
            let mut of_row = |&row: &usize| {
                let x = points.row(row);
                points.distances(self.common.metric, &x, n, &mut distances);
                distances[row] = f32::INFINITY;
                let near =
                    Near { x: &x, distances: &distances, labels: points.labels(), weights: points.weights() };
                of(&near, points.labels()[row])
            };
            rows.iter().map(&mut of_row).collect::<Vec<T>>()
        });
        blocks.into_iter().flatten().collect()
    }

    /// The log-loss of a row of this class by such evidence. It is that of the mean of the evidence but for the prior, and not calibrated: a calibration
    /// would make up for evidence that reaches too far.
    pub(crate) fn loss(&self, evidence: &[f64], class: ClassId) -> f64 {
        let sum: f64 = evidence.iter().chain(&self.prior).sum();
        libm::log(sum) - libm::log(evidence[class.index()] + self.prior[class.index()])
    }

    /// The log odds of each class for each row.
    pub(crate) fn scores<P: Method>(&self, params: &P, settings: &P::Settings) -> OutOfSample {
        let n_classes = self.n_classes();
        let scores = self.each(|near, _| {
            let mut evidence = vec![0.0; n_classes];
            params.evidence(settings, near, &mut evidence);
            log_odds(&evidence, &self.prior)
        });
        let value = |(row, class): (usize, usize)| scores[row][class];
        let values = Array2::from_shape_fn((scores.len(), n_classes), value);
        OutOfSample::new(Source::LeaveOneOut, self.rows.clone(), values, self.labels())
    }
}

/// The place of the settings with the least mean loss, by the loss of each row under each of them.
pub(crate) fn best(n_settings: usize, losses: &[Vec<f64>]) -> usize {
    let sum = |setting: usize| losses.iter().map(|of_row| of_row[setting]).sum::<f64>();
    let sums: Vec<f64> = (0..n_settings).map(sum).collect();
    (0..n_settings).min_by(|a, b| sums[*a].total_cmp(&sums[*b])).unwrap_or(0)
}

/// A calibration by which more evidence makes a class more likely. Where all rows are near, each is one less for its own class when it is left out:
/// a falling curve would take that for knowledge.
pub(crate) fn rising(calibration: Calibration) -> Option<Calibration> {
    let slope: f64 = calibration.curves.iter().map(|curve| curve.slope).sum();
    (slope > 0.0).then_some(calibration)
}

/// So many places, each about as often as its weight is of their sum: one from each of so many equal parts of the summed weights.
fn by_weight(weights: &[f32], n: usize, mut rng: Rng) -> Vec<usize> {
    let total: f64 = weights.iter().map(|w| f64::from(*w)).sum();
    let step = total / n.max(1) as f64;
    let (mut rows, mut sum, mut next) = (Vec::with_capacity(n), 0.0, rng.unit() * step);
    for (row, weight) in weights.iter().enumerate() {
        sum += f64::from(*weight);
        while *weight > 0.0 && rows.len() < n && next < sum {
            rows.push(row);
            next = (rows.len() as f64 + rng.unit()) * step;
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_count_by_their_weights() {
        let by_weight = |weights: &[f32], n| super::by_weight(weights, n, Rng::new(1, Purpose::Data, 0));
        assert_eq!(by_weight(&[1.0, 1.0, 2.0], 4), [0, 1, 2, 2]);
        assert_eq!(by_weight(&[0.0, 1.0, 0.0, 1.0], 2), [1, 3]);
        assert_eq!(by_weight(&[1.0; 3], 3), [0, 1, 2]);
        assert!(by_weight(&[], 0).is_empty());
        let n = by_weight(&[0.1, 0.9], 100).iter().filter(|row| **row == 0).count();
        assert_eq!(n, 10);
        // Weights that repeat with the steps do not leave any out.
        let weights: Vec<f32> = (0..400).map(|row| if row % 2 == 0 { 1.0 } else { 3.0 }).collect();
        let even = by_weight(&weights, 400).iter().filter(|row| *row % 2 == 0).count();
        assert!((70..130).contains(&even), "{even}");
    }
}
