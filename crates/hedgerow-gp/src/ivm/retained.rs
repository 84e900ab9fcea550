//! The rows that a classifier retains to go on learning.

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{ClassId, Dataset, Features, Rows, Schema};
use ndarray::s;

/// Rows between two trainings, at least and at most.
const PAUSE: [u64; 2] = [16, 128];

/// A bounded number of rows: those in the active sets, and a sample of all rows learnt.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RetainedRows {
    pub(super) features: Features,
    pub(super) labels: Vec<ClassId>,
    /// The largest information gain of each row in the one-vs-rest classifiers; 0 if it is not active.
    pub(super) gains: Vec<f64>,
    /// Rows learnt so far.
    pub(super) n_seen: u64,
    /// The number of rows learnt at which to train next.
    pub(super) next_training: u64,
    /// Rows learnt when columns were last prepared and the kernel searched for.
    pub(super) tuned_at: u64,
    /// Rows of each class at the last training.
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
    pub(super) fn of(data: &Dataset, gains: Vec<f64>, most: usize, seed: u64) -> Self {
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
        retained.forget(most, seed);
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

    /// Forgets rows until there are no more than `most`; returns how many went. Rows that are not active go first, drawn at random from
    /// the class that has most of them; then active ones, the lowest gain first, but the last two of a class only when nothing
    /// else is left.
    pub(super) fn forget(&mut self, most: usize, seed: u64) -> usize {
        let excess = self.n_rows().saturating_sub(most);
        if excess == 0 {
            return 0;
        }
        let n_classes = self.labels.iter().map(|label| label.index() + 1).max().unwrap_or(0);
        let mut rng = Rng::new(seed, Purpose::Sample, 4 + (self.n_seen << 3));
        let mut idle: Vec<Vec<usize>> = vec![Vec::new(); n_classes];
        let mut counts = vec![0_usize; n_classes];
        for (row, label) in self.labels.iter().enumerate() {
            counts[label.index()] += 1;
            if self.gains[row] == 0.0 {
                idle[label.index()].push(row);
            }
        }
        idle.iter_mut().for_each(|rows| rng.shuffle(rows));
        let mut is_gone = vec![false; self.n_rows()];
        let mut n_gone = 0;
        while n_gone < excess {
            let class =
                (0..n_classes).filter(|c| counts[*c] > 2).max_by_key(|c| (idle[*c].len(), n_classes - c));
            let Some(row) = class.and_then(|class| idle[class].pop()) else { break };
            counts[self.labels[row].index()] -= 1;
            is_gone[row] = true;
            n_gone += 1;
        }
        let mut active: Vec<usize> = (0..self.n_rows()).filter(|row| !is_gone[*row]).collect();
        active.sort_by(|a, b| self.gains[*a].total_cmp(&self.gains[*b]).then(a.cmp(b)));
        for keeps_two in [true, false] {
            for &row in &active {
                let count = &mut counts[self.labels[row].index()];
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

    /// The rows as a data set.
    pub(super) fn dataset(&self, schema: &Schema) -> hedgerow_core::Result<Dataset> {
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

    #[test]
    fn rows_with_little_gain_go_first_and_no_class_is_forgotten() {
        let mut data = blobs(300, 2, 3, 1);
        data.labels_mut()
            .iter_mut()
            .enumerate()
            .for_each(|(i, label)| *label = ClassId(u32::from(i % 50 == 0)));
        let gains = (0..300).map(|i| if i < 40 { 1.0 + i as f64 } else { 0.0 }).collect();
        let retained = RetainedRows::of(&data, gains, 100, 7);
        assert_eq!(retained.n_rows(), 100);
        assert_eq!(retained.gains.iter().filter(|r| **r > 0.0).count(), 40, "active rows stay");
        let rare = |m: &RetainedRows| m.labels.iter().filter(|l| l.0 == 1).count();
        assert_eq!(rare(&retained), 6, "the class with most rows loses them");
        let mut small = retained.clone();
        assert_eq!(small.forget(5, 7), 95);
        assert_eq!((small.n_rows(), rare(&small)), (5, 2));
        let best: f64 = small.gains.iter().copied().fold(0.0, f64::max);
        assert_eq!(best, 40.0, "of active rows those with the lowest gain go first");
        assert_eq!(small.forget(1, 7), 4);
    }
}
