//! The rows that an RVM retains so that it can go on learning, and when it is updated.

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::saved::{array, require};
use hedgerow_core::{Features, Result};
use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

/// Rows between two updates, at least and at most.
const PAUSE: [u64; 2] = [16, 128];

/// A bounded number of rows: those that are relevant, and others that stand for all that were learnt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RetainedRows {
    pub(crate) features: Features,
    /// The number of each row, or that of its class.
    #[serde(with = "array")]
    pub(crate) targets: Vec<f64>,
    #[serde(with = "array")]
    pub(crate) is_relevant: Vec<bool>,
    /// Rows that were no candidates yet: the last ones.
    pub(crate) n_new: usize,
    /// Rows learnt so far.
    pub(crate) n_seen: u64,
    /// When the next update is due, in rows learnt.
    pub(crate) next_update: u64,
    /// Rows learnt when columns were last prepared and lengths searched for.
    pub(crate) tuned_at: u64,
    /// Rows of each class at the last update; empty for numbers.
    #[serde(with = "array")]
    pub(crate) counts: Vec<u64>,
}

impl RetainedRows {
    pub(crate) fn new(n_features: usize) -> Self {
        Self {
            features: Features::new(n_features),
            targets: Vec::new(),
            is_relevant: Vec::new(),
            n_new: 0,
            n_seen: 0,
            next_update: PAUSE[0],
            tuned_at: 0,
            counts: Vec::new(),
        }
    }

    /// Of rows that a model was fitted to, as many as may be kept. `relevant` are places of rows, in order.
    pub(crate) fn of(
        features: &Features,
        targets: Vec<f64>,
        relevant: &[usize],
        (most, by_class, seed): (usize, bool, u64),
    ) -> Self {
        let n = targets.len();
        let mut is_relevant = vec![false; n];
        relevant.iter().for_each(|&row| is_relevant[row] = true);
        let n_seen = n as u64;
        let nothing = Self::new(features.n_features());
        let mut retained = Self { targets, is_relevant, n_seen, tuned_at: n_seen, ..nothing };
        retained.next_update = n_seen + retained.pause();
        // Rows that will be forgotten are never copied.
        retained.features = match retained.keep(most, by_class, seed) {
            Some(kept) => features.select(&kept),
            None => features.clone(),
        };
        retained
    }

    pub(crate) fn n_rows(&self) -> usize {
        self.targets.len()
    }

    /// Places of relevant rows, in order.
    pub(crate) fn relevant(&self) -> Vec<usize> {
        (0..self.n_rows()).filter(|&row| self.is_relevant[row]).collect()
    }

    pub(crate) fn set_relevant(&mut self, rows: &[usize]) {
        self.is_relevant.fill(false);
        rows.iter().for_each(|&row| self.is_relevant[row] = true);
    }

    /// Rows from one update to the next: the fewer were learnt, the sooner.
    pub(crate) fn pause(&self) -> u64 {
        (self.n_seen / 8).clamp(PAUSE[0], PAUSE[1])
    }

    /// Rows until the next update.
    pub(crate) fn room(&self) -> usize {
        usize::try_from(self.next_update.saturating_sub(self.n_seen)).unwrap_or(usize::MAX)
    }

    pub(crate) fn add(&mut self, x: ArrayView2<'_, f32>, targets: &[f64]) {
        self.features.extend(x);
        self.targets.extend_from_slice(targets);
        self.is_relevant.resize(self.targets.len(), false);
        self.n_new += x.nrows();
        self.n_seen += x.nrows() as u64;
    }

    /// Forgets rows until there are no more than `most`; returns how many went. They are drawn at random from the rows that are
    /// neither relevant nor new, where classes are told apart (`by_class`) from the largest class; relevant rows go only if nothing
    /// else is left.
    pub(crate) fn forget(&mut self, most: usize, by_class: bool, seed: u64) -> usize {
        let n = self.n_rows();
        if let Some(kept) = self.keep(most, by_class, seed) {
            self.features = self.features.select(&kept);
        }
        n - self.n_rows()
    }

    /// Forgets everything about rows but their features. Returns the places of the rows that stay, if not all do.
    fn keep(&mut self, most: usize, by_class: bool, seed: u64) -> Option<Vec<usize>> {
        let excess = self.n_rows().saturating_sub(most);
        if excess == 0 {
            return None;
        }
        let mut rng = Rng::new(seed, Purpose::Sample, 17 + (self.n_seen << 5));
        let first_new = self.n_rows() - self.n_new.min(self.n_rows());
        let class = |row: usize| if by_class { self.targets[row] as usize } else { 0 };
        let n_classes = (0..self.n_rows()).map(class).max().unwrap_or(0) + 1;
        let mut idle: Vec<Vec<usize>> = vec![Vec::new(); n_classes];
        let mut others: Vec<usize> = Vec::new();
        for row in 0..self.n_rows() {
            if self.is_relevant[row] || row >= first_new {
                others.push(row);
            } else {
                idle[class(row)].push(row);
            }
        }
        idle.iter_mut().for_each(|rows| rng.shuffle(rows));
        // New rows before relevant ones, the newest last.
        others.sort_by_key(|&row| (self.is_relevant[row], row));
        let mut is_gone = vec![false; self.n_rows()];
        let mut others = others.into_iter();
        for _ in 0..excess {
            let largest = (0..n_classes).max_by_key(|&c| (idle[c].len(), n_classes - c));
            let row = largest.and_then(|c| idle[c].pop()).or_else(|| others.next());
            if let Some(row) = row {
                is_gone[row] = true;
            }
        }
        let kept: Vec<usize> = (0..self.n_rows()).filter(|&row| !is_gone[row]).collect();
        self.n_new = kept.iter().filter(|&&row| row >= first_new).count();
        self.targets = kept.iter().map(|&row| self.targets[row]).collect();
        self.is_relevant = kept.iter().map(|&row| self.is_relevant[row]).collect();
        Some(kept)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.features.bytes() + 9 * self.targets.len()
    }

    /// Fails unless rows, targets and counts fit together and so many columns and classes. `n_relevant` rows must be relevant.
    pub(crate) fn check(&self, n_features: usize, n_classes: Option<usize>, n_relevant: usize) -> Result<()> {
        let n = self.features.n_rows();
        let is_target = |v: &f64| match n_classes {
            Some(n) => *v >= 0.0 && v.fract() == 0.0 && *v < n as f64,
            None => v.is_finite() && v.abs() < 1e150,
        };
        let fits = self.features.n_features() == n_features
            && [self.targets.len(), self.is_relevant.len()] == [n, n]
            && self.n_new <= n
            && self.targets.iter().all(is_target)
            && !self.features.has_infinite()
            && self.next_update > self.n_seen
            && self.next_update - self.n_seen <= 1 << 20
            && self.n_seen < 1 << 60
            && self.tuned_at <= self.n_seen
            && self.n_seen >= n as u64
            && self.counts.len() <= n_classes.unwrap_or(0)
            && self.counts.iter().all(|count| *count <= self.n_seen);
        require(fits, || "retained rows, targets and counts do not fit together")?;
        let fits = self.is_relevant.iter().filter(|is_relevant| **is_relevant).count() == n_relevant;
        require(fits, || "the relevant rows are others than those of the model")
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;

    #[test]
    fn relevant_and_new_rows_stay_longest() {
        let mut retained = RetainedRows::new(1);
        let classes: Vec<f64> = (0..50).map(|i| f64::from(i % 2)).collect();
        retained.add(Array2::from_shape_fn((50, 1), |(i, _)| i as f32).view(), &classes);
        retained.n_new = 0;
        retained.set_relevant(&[3, 7]);
        retained.add(Array2::from_elem((5, 1), 99.0).view(), &[0.0; 5]);
        assert_eq!((retained.forget(20, true, 1), retained.n_rows(), retained.n_new), (35, 20, 5));
        assert_eq!(retained.relevant().len(), 2);
        assert_eq!(retained.features.value(retained.relevant()[0], 0), 3.0);
        assert_eq!(retained.forget(4, true, 1), 16);
        assert_eq!(retained.relevant().len(), 2, "new rows go before relevant ones");
        assert_eq!(retained.forget(100, false, 1), 0);
        retained.forget(1, false, 1);
        assert_eq!(retained.n_rows(), 1);
    }
}
