//! What an RVM needs to go on learning.

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::saved::{array, require};
use hedgerow_core::{Pause, Result, RetainedRows, Rows, Schedule, Schema};
use serde::{Deserialize, Serialize};

/// Rows between two updates.
pub(crate) const PAUSE: Pause = Pause { share: 8, least: 16, most: 128 };

/// A bounded number of rows, those that are relevant and others that stand for all that were learnt, and when they are learnt from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OnlineState {
    pub(crate) rows: RetainedRows,
    #[serde(with = "array")]
    pub(crate) is_relevant: Vec<bool>,
    /// Rows that were no candidates yet: the last ones.
    pub(crate) n_new: usize,
    pub(crate) schedule: Schedule,
    /// Rows of each class at the last update; empty for numbers.
    #[serde(with = "array")]
    pub(crate) counts: Vec<u64>,
}

impl OnlineState {
    /// After a fit to rows of which those at these places are relevant.
    pub(crate) fn new(rows: RetainedRows, relevant: &[usize]) -> Self {
        let schedule = Schedule::new(rows.len() as u64, PAUSE);
        let (is_relevant, counts) = (vec![false; rows.len()], rows.targets().class_counts());
        let mut state = Self { rows, is_relevant, n_new: 0, schedule, counts };
        state.set_relevant(relevant);
        state
    }

    /// Places of relevant rows, in order.
    pub(crate) fn relevant(&self) -> Vec<usize> {
        (0..self.rows.len()).filter(|&row| self.is_relevant[row]).collect()
    }

    /// The place of the first new row.
    pub(crate) fn first_new(&self) -> usize {
        self.rows.len() - self.n_new.min(self.rows.len())
    }

    pub(crate) fn set_relevant(&mut self, rows: &[usize]) {
        self.is_relevant.fill(false);
        rows.iter().for_each(|&row| self.is_relevant[row] = true);
    }

    /// Adds rows, which become candidates at the next update.
    pub(crate) fn add(&mut self, rows: Rows<'_>) {
        let n = rows.targets.len();
        self.rows.add(Rows { weights: None, ..rows });
        self.is_relevant.resize(self.rows.len(), false);
        self.n_new += n;
        self.schedule.add(n);
    }

    /// Forgets rows until there are no more than `most`; returns how many went. They are drawn at random from the rows that are
    /// neither relevant nor new, where there are classes from the largest one; relevant rows go only if nothing else is left.
    pub(crate) fn forget(&mut self, most: usize, seed: u64) -> usize {
        let (n, labels) = (self.rows.len(), self.rows.targets().labels());
        let excess = n.saturating_sub(most);
        if excess == 0 {
            return 0;
        }
        let mut rng = Rng::new(seed, Purpose::Sample, 17 + (self.schedule.n_seen() << 5));
        let first_new = self.first_new();
        let class = |row: usize| labels.get(row).map_or(0, |label| label.index());
        let n_classes = (0..n).map(class).max().unwrap_or(0) + 1;
        let mut idle: Vec<Vec<usize>> = vec![Vec::new(); n_classes];
        let mut others: Vec<usize> = Vec::new();
        for row in 0..n {
            if self.is_relevant[row] || row >= first_new {
                others.push(row);
            } else {
                idle[class(row)].push(row);
            }
        }
        idle.iter_mut().for_each(|rows| rng.shuffle(rows));
        // New rows before relevant ones, the newest last.
        others.sort_by_key(|&row| (self.is_relevant[row], row));
        let mut is_gone = vec![false; n];
        let mut others = others.into_iter();
        for _ in 0..excess {
            let largest = (0..n_classes).max_by_key(|&c| (idle[c].len(), n_classes - c));
            let row = largest.and_then(|c| idle[c].pop()).or_else(|| others.next());
            if let Some(row) = row {
                is_gone[row] = true;
            }
        }
        let kept: Vec<usize> = (0..n).filter(|&row| !is_gone[row]).collect();
        self.n_new = kept.iter().filter(|&&row| row >= first_new).count();
        self.rows.keep(&kept);
        self.is_relevant = kept.iter().map(|&row| self.is_relevant[row]).collect();
        n - kept.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.rows.bytes() + self.is_relevant.len()
    }

    /// Fails unless rows and counts fit together and the schema. `n_relevant` rows must be relevant.
    pub(crate) fn check(&self, schema: &Schema, n_relevant: usize) -> Result<()> {
        self.rows.check(schema)?;
        let n = self.rows.len();
        let fits = self.is_relevant.len() == n
            && self.n_new <= n
            && self.rows.targets().values().iter().all(|v| v.abs() < 1e150)
            && self.schedule.is_valid(n)
            && self.counts.len() <= schema.n_classes()
            && self.counts.iter().all(|count| *count <= self.schedule.n_seen());
        require(fits, || "retained rows, targets and counts do not fit together")?;
        let fits = self.relevant().len() == n_relevant;
        require(fits, || "the relevant rows are others than those of the model")
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::{ClassId, Task};
    use ndarray::Array2;

    use super::*;

    #[test]
    fn relevant_and_new_rows_stay_longest() {
        let mut retained = OnlineState::new(RetainedRows::new(1, Task::Classification), &[]);
        let classes: Vec<ClassId> = (0..50).map(|i| ClassId(i % 2)).collect();
        let x = Array2::from_shape_fn((50, 1), |(i, _)| i as f32);
        retained.add(Rows::new(x.view(), &classes[..], None));
        retained.n_new = 0;
        retained.set_relevant(&[3, 7]);
        retained.add(Rows::new(Array2::from_elem((5, 1), 99.0).view(), &[ClassId(0); 5][..], None));
        assert_eq!((retained.forget(20, 1), retained.rows.len(), retained.n_new), (35, 20, 5));
        assert_eq!(retained.relevant().len(), 2);
        assert_eq!(retained.rows.features().value(retained.relevant()[0], 0), 3.0);
        assert_eq!(retained.forget(4, 1), 16);
        assert_eq!(retained.relevant().len(), 2, "new rows go before relevant ones");
        assert_eq!(retained.forget(100, 1), 0);
        retained.forget(1, 1);
        assert_eq!(retained.rows.len(), 1);
    }
}
