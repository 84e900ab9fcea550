//! Noticing that the task has changed, and forgetting what is out of date.
//!
//! A rise of the errors is a suspicion (`Monitor`): since some row, things are different. Whether the rows from before it do
//! more harm than good is another question, and is tried out: a few young trees are grown from the rows since then alone, and
//! judged on newest rows that they have not seen. If they do better than the trees there are, which know everything, the
//! older rows go. After a great change that is so at once, after a small one only when there are enough new rows to learn
//! from; until then the suspicion stays. Changes too slow to be noticed are found by the same trial with the newest quarter
//! of the rows, now and then.

use hedgerow_core::drift::{Adwin, Direction};
use hedgerow_core::{Drift, Lesson, Training};
use serde::{Deserialize, Serialize};

use super::OnlineForest;

/// Rows of a class that a drift leaves in the pool at least, if it has them.
const LEAST_ROWS: usize = 32;
/// Rows of a class since a drift without which all its older rows stay.
const LEAST_SINCE: usize = 4;
/// Young trees that are tried.
const N_YOUNG: usize = 6;

/// Watches the errors of the forest on rows it has not learnt yet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Monitor {
    errors: Adwin,
    /// A change that nobody has been told of yet.
    pending: Option<Drift>,
    /// The row since which things seem to be different, while it is not known whether older rows do harm.
    pub(super) suspect: Option<u64>,
}

impl Monitor {
    /// Notes whether an answer was wrong. `seen` counts the rows, this one included.
    pub(super) fn note(&mut self, wrong: bool, seen: u64) {
        let change = self.errors.add(f64::from(u8::from(wrong)));
        if let Some(change) = change.filter(|change| change.direction == Direction::Rose) {
            let since = seen.saturating_sub(change.age);
            self.suspect = Some(since);
            self.pending = Some(Drift {
                noticed_at: seen,
                since,
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
    /// Follows up a suspicion, or tries the newest quarter of the rows where there is none and it is time. Says whether rows
    /// were forgotten.
    pub(super) fn forget_what_harms(
        &mut self,
        is_time: bool,
        training: &Training<'_>,
        lesson: &mut Lesson,
    ) -> bool {
        if !self.forest.params.forget {
            self.monitor.suspect = None;
            return false;
        }
        if self.monitor.suspect.is_none() && !is_time {
            return false;
        }
        let ages = self.pool.by_age();
        let age_of = |place: usize| ages.get(place).map(|&slot| self.pool.ages[slot as usize]);
        let quarter = age_of(ages.len() - ages.len() / 4);
        let Some(since) = self.monitor.suspect.or(quarter.filter(|_| is_time)) else { return false };
        if age_of(ages.len() / 2).is_some_and(|middle| since <= middle) {
            // By now most rows are from after it.
            self.monitor.suspect = None;
            return false;
        }
        if !self.young_trees_are_better(since, training) {
            return false;
        }
        self.monitor.suspect = None;
        self.window.forget_before(since, self.seen);
        self.forget_before(since, training, lesson);
        true
    }

    /// Whether trees grown from the rows since some row alone answer newest rows better than the trees there are.
    fn young_trees_are_better(&mut self, since: u64, training: &Training<'_>) -> bool {
        let rows: Vec<u32> =
            self.pool.by_class().into_iter().filter(|&slot| self.pool.ages[slot as usize] >= since).collect();
        let held = self.judges(since);
        if held.len() < LEAST_ROWS || rows.len() < 2 * LEAST_ROWS {
            return false;
        }
        let mask = self.mask(&held);
        let young = self.grow_litter(N_YOUNG, &rows, &held, training);
        let share = |counts: (u32, u32)| f64::from(counts.1) / f64::from(counts.0.max(1));
        let sum = |a: (u32, u32), b: (u32, u32)| (a.0 + b.0, a.1 + b.1);
        let of_young = young.iter().map(|(_, _, record)| record.counts(Some(&mask))).fold((0, 0), sum);
        let of_old = self.records.iter().map(|record| record.counts(Some(&mask))).fold((0, 0), sum);
        let (young, old) = (share(of_young), share(of_old));
        // Both are means over trees on the same rows, so they differ by less than this by chance.
        let chance = libm::sqrt(old * (1.0 - old) / held.len() as f64) / 2.0;
        of_old.0 > 0 && young > old + chance
    }

    /// Forgets the rows from before some row, except for the newest of classes that have few rows since, and for all of classes
    /// that have hardly any: rows that come sorted by class look like a change too, and nothing has shown that the older
    /// rows of the other classes do harm.
    fn forget_before(&mut self, since: u64, training: &Training<'_>, lesson: &mut Lesson) {
        let ages = self.pool.ages.clone();
        let n_classes = self.pool.n_classes();
        // For each class, rows older than this go.
        let limits: Vec<u64> = (0..n_classes)
            .map(|class| {
                let queue: Vec<u64> = self.pool.queue(class).map(|slot| ages[slot as usize]).collect();
                let n_since = queue.iter().filter(|&&age| age >= since).count();
                let newest = queue.len().saturating_sub(LEAST_ROWS);
                if n_since < LEAST_SINCE { 0 } else { queue.get(newest).map_or(since, |&age| age.min(since)) }
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
