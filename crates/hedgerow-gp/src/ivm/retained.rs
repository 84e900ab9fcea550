//! The rows that a classifier retains to go on learning.

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::saved::{array, require};
use hedgerow_core::{ClassId, Dataset, Features, Result, Rows, Schema};
use ndarray::s;
use serde::{Deserialize, Serialize};

use super::{Forget, IvmParams};

/// Rows between two trainings, at least and at most.
const PAUSE: [u64; 2] = [16, 128];

/// A bounded number of rows: those in the active sets, and a sample of all rows learnt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct RetainedRows {
    pub(super) features: Features,
    #[serde(with = "array")]
    pub(super) labels: Vec<ClassId>,
    /// The largest information gain of each row in the one-vs-rest classifiers; 0 if it is not active.
    #[serde(with = "array")]
    pub(super) gains: Vec<f64>,
    /// Rows learnt so far.
    pub(super) n_seen: u64,
    /// The number of rows learnt at which to train next.
    pub(super) next_training: u64,
    /// Rows learnt when columns were last prepared and the kernel searched for.
    pub(super) tuned_at: u64,
    /// Rows of each class at the last training.
    #[serde(with = "array")]
    pub(super) counts: Vec<u64>,
}

impl RetainedRows {
    /// Without rows.
    pub(super) fn new(n_features: usize) -> Self {
        Self {
            features: Features::new(n_features),
            labels: Vec::new(),
            gains: Vec::new(),
            n_seen: 0,
            next_training: PAUSE[0],
            tuned_at: 0,
            counts: Vec::new(),
        }
    }

    /// Of rows that a model was fitted to.
    pub(super) fn of(data: &Dataset, gains: Vec<f64>) -> Self {
        let n = data.n_rows() as u64;
        let mut retained = Self {
            features: data.features.clone(),
            labels: data.labels().to_vec(),
            gains,
            n_seen: n,
            next_training: 0,
            tuned_at: n,
            counts: Vec::new(),
        };
        retained.next_training = n + retained.pause();
        retained
    }

    pub(super) fn n_rows(&self) -> usize {
        self.labels.len()
    }

    /// Rows until the next training: the fewer were learnt, the fewer.
    pub(super) fn pause(&self) -> u64 {
        (self.n_seen / 8).clamp(PAUSE[0], PAUSE[1])
    }

    /// Takes in some of the rows given.
    pub(super) fn add(&mut self, rows: Rows<'_>, range: std::ops::Range<usize>) {
        self.features.extend(rows.x.slice(s![range.clone(), ..]));
        self.labels.extend_from_slice(&rows.labels()[range.clone()]);
        self.gains.resize(self.labels.len(), 0.0);
        self.n_seen += range.len() as u64;
    }

    /// Forgets rows until there are no more than the parameters allow, in the order that they prescribe, but the last two of a class only when
    /// nothing else is left. Rows of equal rating go at random. Returns how many went.
    pub(super) fn forget(&mut self, params: &IvmParams, ratings: &[f64]) -> usize {
        let excess = self.n_rows().saturating_sub(params.pool_rows());
        if excess == 0 {
            return 0;
        }
        self.count();
        let worth = |row: &usize| match params.forget {
            Forget::Inactive if self.gains[*row] == 0.0 => f64::NEG_INFINITY,
            _ => ratings[*row],
        };
        let mut order: Vec<usize> = (0..self.n_rows()).collect();
        Rng::new(params.seed, Purpose::Sample, 4 + (self.n_seen << 3)).shuffle(&mut order);
        order.sort_by(|a, b| worth(a).total_cmp(&worth(b)));
        let mut is_gone = vec![false; self.n_rows()];
        let mut n_gone = 0;
        for keeps_two in [true, false] {
            for &row in &order {
                let count = &mut self.counts[self.labels[row].index()];
                if n_gone < excess && !is_gone[row] && (*count > 2 || !keeps_two) {
                    *count -= 1;
                    is_gone[row] = true;
                    n_gone += 1;
                }
            }
        }
        let kept: Vec<usize> = (0..self.n_rows()).filter(|row| !is_gone[*row]).collect();
        self.features = self.features.select(&kept);
        self.labels = kept.iter().map(|&row| self.labels[row]).collect();
        self.gains = kept.iter().map(|&row| self.gains[row]).collect();
        n_gone
    }

    /// Counts the rows of each class.
    pub(super) fn count(&mut self) {
        self.counts.fill(0);
        for label in &self.labels {
            if self.counts.len() <= label.index() {
                self.counts.resize(label.index() + 1, 0);
            }
            self.counts[label.index()] += 1;
        }
    }

    /// Fails unless rows, labels and counts fit together and so many columns and classes.
    pub(super) fn check(&self, n_features: usize, n_classes: usize) -> Result<()> {
        let n = self.features.n_rows();
        let fits = self.features.n_features() == n_features
            && [self.labels.len(), self.gains.len()] == [n, n]
            && self.labels.iter().all(|label| label.index() < n_classes)
            && self.gains.iter().all(|gain| *gain >= 0.0 && gain.is_finite())
            && !self.features.has_infinite()
            && self.next_training > self.n_seen
            && self.next_training - self.n_seen <= 1 << 20
            && self.n_seen < 1 << 60
            && self.n_seen >= n as u64
            && self.tuned_at <= self.n_seen
            && self.counts.len() <= n_classes
            && self.counts.iter().all(|count| *count <= self.n_seen);
        require(fits, || "retained rows, labels and counts do not fit together")
    }

    /// The rows as a data set.
    pub(super) fn dataset(&self, schema: &Schema) -> Result<Dataset> {
        Dataset::new(schema.clone(), self.features.clone(), self.labels.clone(), None)
    }

    pub(super) fn has_two_classes(&self) -> bool {
        self.labels.iter().any(|label| *label != self.labels[0])
    }

    pub(super) fn bytes(&self) -> usize {
        self.features.bytes() + self.labels.len() * (size_of::<ClassId>() + size_of::<f64>())
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::testing::blobs;

    use super::*;

    fn forget(retained: &mut RetainedRows, max_rows: usize, forget: Forget, ratings: &[f64]) -> usize {
        retained.forget(&IvmParams { max_rows, forget, seed: 7, ..IvmParams::default() }, ratings)
    }

    #[test]
    fn rows_with_low_ratings_go_first_and_no_class_is_forgotten() {
        let mut data = blobs(300, 2, 3, 1);
        data.labels_mut()
            .iter_mut()
            .enumerate()
            .for_each(|(i, label)| *label = ClassId(u32::from(i % 50 == 0)));
        // What a row counts is kept as its gain, to be found again.
        let ratings: Vec<f64> = (0..300).map(|i| f64::from(i * 7 % 300)).collect();
        let mut retained = RetainedRows::of(&data, ratings.clone());
        assert_eq!(forget(&mut retained, 100, Forget::Rating, &ratings), 200);
        let rare = |m: &RetainedRows| m.labels.iter().filter(|l| l.0 == 1).count();
        let lowest = retained.gains.iter().copied().fold(f64::INFINITY, f64::min);
        assert_eq!((retained.n_rows(), lowest), (100, 200.0));
        let ratings = retained.gains.clone();
        assert_eq!(forget(&mut retained, 5, Forget::Rating, &ratings), 95);
        assert_eq!((retained.n_rows(), rare(&retained)), (5, 2));
        let best: f64 = retained.gains.iter().copied().fold(0.0, f64::max);
        assert_eq!(best, 299.0);
        let ratings = retained.gains.clone();
        assert_eq!(forget(&mut retained, 1, Forget::Rating, &ratings), 4);
    }

    #[test]
    fn active_rows_stay_while_there_are_others() {
        let data = blobs(300, 2, 3, 1);
        let gains: Vec<f64> = (0..300).map(|i| f64::from(if i % 3 == 0 { i + 1 } else { 0 })).collect();
        let ratings: Vec<f64> = (0..300).map(|i| f64::from(1 + (i * 7) % 300)).collect();
        let mut retained = RetainedRows::of(&data, gains.clone());
        assert_eq!(forget(&mut retained, 180, Forget::Inactive, &ratings), 120);
        let is_active = |gain: &&f64| **gain > 0.0;
        assert_eq!(retained.gains.iter().filter(is_active).count(), 100);
        // Of the others none is preferred.
        let first = data.features.to_array(0..150);
        let kept = retained.features.to_array(0..180);
        let is_early =
            |row: &ndarray::ArrayView1<'_, f32>| first.rows().into_iter().any(|other| other == *row);
        let n_early = kept.rows().into_iter().filter(is_early).count() - 50;
        assert!((25..=55).contains(&n_early), "{n_early} of 80");
        // Then active ones go by their ratings; classes have two rows at least.
        let mut few = RetainedRows::of(&data, gains.clone());
        forget(&mut few, 30, Forget::Inactive, &ratings);
        let mut best: Vec<usize> = (0..300).filter(|row| gains[*row] > 0.0).collect();
        best.sort_by(|a, b| ratings[*b].total_cmp(&ratings[*a]));
        let n_kept = best[..24].iter().filter(|row| few.gains.contains(&gains[**row])).count();
        assert_eq!(n_kept, 24);
    }
}
