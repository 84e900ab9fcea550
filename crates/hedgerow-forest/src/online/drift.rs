//! Concept drift: detecting it, and forgetting rows that are out of date.
//!
//! A rise of the error rate is an alarm (`DriftDetector`), with the row since which it holds. Whether the rows from before it should be
//! forgotten is tested: a few young trees are grown from the rows since then alone, and evaluated on held-out rows among the newest. If
//! they do better than the present trees, which have learnt all rows, and better than the order of the labels explains, the older
//! rows are forgotten. After a large change that is so at
//! once, after a small one only when there are enough new rows to learn from; until then the alarm stays. Changes too slow for the
//! detector are found by the same test with the newest quarter of the rows, now and then.

use hedgerow_core::drift::{Adwin, Direction};
use hedgerow_core::traits::largest;
use hedgerow_core::{Drift, Training, Update};
use serde::{Deserialize, Serialize};

use super::OnlineForest;

/// Rows of a class that a drift leaves in the pool at least, if it has them.
const LEAST_ROWS: usize = 32;
/// Rows of a class since a drift without which all its older rows stay.
const LEAST_SINCE: usize = 4;
/// Young trees that are tried.
const N_YOUNG: usize = 6;

/// Raises an alarm when the prequential error rate of the forest rises (ADWIN: Bifet & Gavaldà, 2007).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct DriftDetector {
    /// The errors since the last change.
    pub(super) errors: Adwin,
    /// An alarm that has not been reported yet.
    pub(super) pending: Option<Drift>,
    /// The row since which the error rate is higher, while it is open whether older rows are to be forgotten.
    pub(super) suspect: Option<u64>,
}

impl DriftDetector {
    /// Adds whether a prediction was wrong. `seen` counts the rows, this one included.
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
}

impl OnlineForest {
    /// Follows up an alarm, or tests the newest quarter of the rows where there is none and it is time. Returns whether rows
    /// were forgotten.
    pub(super) fn forget_what_harms(
        &mut self,
        is_time: bool,
        training: &Training<'_>,
        update: &mut Update,
    ) -> bool {
        if !self.forest.params.forget {
            self.detector.suspect = None;
            return false;
        }
        if self.detector.suspect.is_none() && !is_time {
            return false;
        }
        let ages = self.pool.by_age();
        let age_of = |place: usize| ages.get(place).map(|&slot| self.pool.ages[slot as usize]);
        let quarter = age_of(ages.len() - ages.len() / 4);
        let Some(since) = self.detector.suspect.or(quarter.filter(|_| is_time)) else { return false };
        if age_of(ages.len() / 2).is_some_and(|middle| since <= middle) {
            // By now most rows are from after it.
            self.detector.suspect = None;
            return false;
        }
        if !self.young_trees_are_better(since, training) {
            return false;
        }
        self.detector.suspect = None;
        self.window.forget_before(since, self.seen);
        self.forget_before(since, training, update);
        true
    }

    /// Whether trees grown from the rows since some row alone predict the newest rows better than the present trees.
    fn young_trees_are_better(&mut self, since: u64, training: &Training<'_>) -> bool {
        let rows: Vec<u32> =
            self.pool.by_class().into_iter().filter(|&slot| self.pool.ages[slot as usize] >= since).collect();
        let held = self.held_out_rows(since);
        if held.len() < LEAST_ROWS || rows.len() < 2 * LEAST_ROWS {
            return false;
        }
        let mask = self.mask(&held);
        let young = self.grow_new_trees(N_YOUNG, &rows, &held, training);
        let share = |counts: (u32, u32)| f64::from(counts.1) / f64::from(counts.0.max(1));
        let sum = |a: (u32, u32), b: (u32, u32)| (a.0 + b.0, a.1 + b.1);
        let of_young = young.iter().map(|new| new.record.counts(&mask)).fold((0, 0), sum);
        let of_old = self.records.iter().map(|record| record.counts(&mask)).fold((0, 0), sum);
        let (young, old) = (share(of_young), share(of_old));
        // Both are means over trees on the same rows, so they differ by less than this by chance.
        let chance = libm::sqrt(old * (1.0 - old) / held.len() as f64) / 2.0;
        of_old.0 > 0 && young > old + chance + (1.0 - old) * self.explained_by_labels(since, &held)
    }

    /// The share of the forest's errors on some rows that would not be there had it known how frequent each class has been since some row. Where labels
    /// come in runs, trees grown from the newest rows alone know that, and it says nothing against older rows.
    fn explained_by_labels(&self, since: u64, held: &[u32]) -> f64 {
        let n_classes = self.forest.n_classes;
        let (mut all, mut newest) = (vec![0.5; n_classes], vec![0.5; n_classes]);
        for &slot in &self.pool.by_class() {
            let class = usize::from(self.pool.classes[slot as usize]);
            all[class] += 1.0;
            newest[class] += if self.pool.ages[slot as usize] >= since { 1.0 } else { 0.0 };
        }
        let (way, n_ways) = (self.chosen_leaf_weight(), self.leaf_weights.len());
        let wrong = |&slot: &u32| {
            let votes = self.window.votes(self.pool.ages[slot as usize], way, n_ways);
            let shifted: Vec<f64> = votes
                .iter()
                .zip(&newest)
                .zip(&all)
                .map(|((v, new), all)| f64::from(*v) * new / all)
                .collect();
            let class = Some(usize::from(self.pool.classes[slot as usize]));
            [largest(votes) != class, largest(&shifted) != class]
                .map(|is_wrong| f64::from(u8::from(is_wrong)))
        };
        let [plain, shifted] =
            held.iter().map(wrong).fold([0.0; 2], |[a, b], [plain, shifted]| [a + plain, b + shifted]);
        if plain > 0.0 { (1.0 - shifted / plain).max(0.0) } else { 0.0 }
    }

    /// Forgets the rows from before some row, except for the newest of classes that have few rows since, and for all of classes
    /// that have hardly any: rows that come sorted by class look like a change too, and nothing has shown that the older
    /// rows of the other classes do harm.
    fn forget_before(&mut self, since: u64, training: &Training<'_>, update: &mut Update) {
        // For each class, rows older than this go.
        let limits: Vec<u64> = (0..self.pool.n_classes())
            .map(|class| {
                let age = |slot: u32| self.pool.ages[slot as usize];
                let queue: Vec<u64> = self.pool.queue(class).map(age).collect();
                let n_since = queue.iter().filter(|&&age| age >= since).count();
                let newest = queue.len().saturating_sub(LEAST_ROWS);
                if n_since < LEAST_SINCE { 0 } else { queue.get(newest).map_or(since, |&age| age.min(since)) }
            })
            .collect();
        let gone = self.pool.evict_where(|class, _, age| age < limits[class]);
        update.n_forgotten += gone.len();
        if gone.len() > self.pool.n_rows {
            // Little is left of the trees too: new ones cost less than taking so much out of the old.
            self.drop_slots(&gone);
            self.grow_all_anew(training);
        } else {
            self.forget_slots(&gone, training.par);
        }
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::testing::blobs;
    use hedgerow_core::{Budget, ClassId, Par, Params as _, Rows, Silent};
    use ndarray::s;

    use super::*;
    use crate::params::ForestParams;

    #[test]
    fn runs_of_labels_explain_errors_and_a_change_of_the_concept_does_not() {
        // Two classes that overlap.
        let mut data = blobs(1_500, 2, 2, 3);
        data.edit(|data| {
            for (row, label) in data.labels_mut().iter_mut().enumerate() {
                *label = ClassId((label.0 + u32::from(row % 4 == 0)) % 2);
            }
        })
        .unwrap();
        let explained = |change: &dyn Fn(usize, ClassId) -> Option<ClassId>| {
            let rows: Vec<usize> =
                (0..1_500).filter(|&row| row < 1_200 || change(row, data.labels()[row]).is_some()).collect();
            let mut data = data.select(&rows);
            for row in 1_200..data.n_rows() {
                let label = data.labels()[row];
                data.edit(|data| data.labels_mut()[row] = change(row, label).unwrap_or(label)).unwrap();
            }
            let params = ForestParams { n_trees: 10, forget: false, ..ForestParams::default() };
            let mut online = OnlineForest::new(&data.schema, &params.check().unwrap()).unwrap();
            let (par, budget, x) =
                (Par::sequential(), Budget::open(), data.features.to_array(0..data.n_rows()));
            let training = Training { par: &par, budget: &budget, observer: &Silent };
            online
                .learn(&data.schema, Rows::new(x.slice(s![.., ..]), data.labels(), None), &training)
                .unwrap();
            let held: Vec<u32> = online.held_out_rows(1_200);
            assert!(held.len() > 30);
            online.explained_by_labels(1_200, &held)
        };
        let run = explained(&|_, label| (label.0 == 1).then_some(label));
        assert!(run > 0.9, "{run}");
        let mixed = explained(&|_, label| Some(label));
        let swapped = explained(&|_, label| Some(ClassId(1 - label.0)));
        assert!(mixed < 0.4 && swapped < 0.4, "{mixed} {swapped}");
    }
}
