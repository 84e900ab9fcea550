//! Noticing that the task has changed, and forgetting what is out of date.

use hedgerow_core::drift::{Adwin, Direction};
use serde::{Deserialize, Serialize};

use super::{Lesson, OnlineForest};
use crate::train::Training;

/// Rows of a class that a drift leaves in the pool at least, if it has them.
const LEAST_ROWS: usize = 32;

/// A change that was noticed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// Rows learnt when it was noticed.
    pub noticed_at: u64,
    /// The row from which on things are different, as far as can be told.
    pub since: u64,
    /// Share of wrong answers before.
    pub error_before: f64,
    /// Share of wrong answers since.
    pub error_after: f64,
}

/// Watches the errors of the forest on rows it has not learnt yet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Monitor {
    errors: Adwin,
    /// A change that has not been dealt with yet.
    pending: Option<Drift>,
}

impl Monitor {
    /// Notes whether an answer was wrong. `seen` counts the rows, this one included.
    pub(super) fn note(&mut self, wrong: bool, seen: u64) {
        let change = self.errors.add(f64::from(u8::from(wrong)));
        if let Some(change) = change.filter(|change| change.direction == Direction::Rose) {
            self.pending = Some(Drift {
                noticed_at: seen,
                since: seen.saturating_sub(change.age),
                error_before: change.before,
                error_after: change.after,
            });
        }
    }

    /// The share of wrong answers since the last change.
    pub(super) fn error(&self) -> f64 {
        self.errors.mean()
    }

    pub(super) fn take(&mut self) -> Option<Drift> {
        self.pending.take()
    }
}

impl OnlineForest {
    /// Forgets the rows from before a drift, except for the newest of classes that have few rows since.
    pub(super) fn forget_before(&mut self, drift: Drift, training: &Training<'_>, lesson: &mut Lesson) {
        let ages = self.pool.ages.clone();
        let n_classes = self.pool.n_classes();
        // For each class, rows older than this go.
        let limits: Vec<u64> = (0..n_classes)
            .map(|class| {
                let queue: Vec<u64> = self.pool.queue(class).map(|slot| ages[slot as usize]).collect();
                let newest = queue.len().saturating_sub(LEAST_ROWS);
                queue.get(newest).map_or(drift.since, |&age| age.min(drift.since))
            })
            .collect();
        let classes = self.pool.classes.clone();
        let gone =
            self.pool.evict_where(|slot| ages[slot as usize] < limits[usize::from(classes[slot as usize])]);
        lesson.n_forgotten += gone.len();
        if gone.len() > self.pool.n_rows() {
            // Little is left of the trees too: new ones cost less than taking so much out of the old.
            self.drop_slots(&gone);
            self.grow_all_anew(training);
        } else {
            self.forget_slots(&gone, training.par);
        }
    }
}
