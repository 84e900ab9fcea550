//! Maintenance: replacing trees that are worse than new ones, and calibrating on the newest predictions.
//!
//! Trees are ranked by their prequential predictions. New trees are grown without half of the newest rows and evaluated on those: accuracy on
//! rows that a tree has learnt is no rank. Each of the measured accuracies has its error, and the worst of a hundred is mostly the unluckiest:
//! so accuracies are shrunk towards their mean, by the share of their variance that chance explains. A new tree must beat the shrunk
//! accuracy of the worst.

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::traits::largest;
use hedgerow_core::{Progress, Training, Update};

use super::live::{LiveTree, OnlineRows};
use super::table::{with_live, with_table};
use super::window::{self, Record, RowSet};
use super::{BLOCK, Birth, OnlineForest};
use crate::calibration::{self, Calibration, WeightedPredictions, prior_shift};
use crate::codes::Code;
use crate::grow::{Grown, GrowthInput, Matrix, grow, on_grid};
use crate::params::ClassWeights;
use crate::train::balanced_weights;

/// Fewest held-out rows to evaluate new trees on.
const LEAST_HELD_OUT: usize = 16;
/// Trees that go on while the forest hardly counts in the mixture.
const N_IDLE_TREES: usize = 24;
/// How much longer the pauses are while the forest hardly counts in the mixture.
const IDLE_PAUSE: u64 = 4;

/// A tree grown anew, and how it did on rows it had not seen.
pub(super) struct NewTree {
    gains: Vec<f64>,
    live: LiveTree,
    pub(super) record: Record,
}

impl OnlineForest {
    /// Handles drift alarms, replaces trees and calibrates, each if it is due.
    pub(super) fn maintain(&mut self, training: &Training<'_>, update: &mut Update) {
        update.drifts.extend(self.detector.pending.take());
        // Where the memories of the newest rows predict, it can wait.
        let is_idle = self.forest.horizons.as_ref().is_some_and(|horizons| horizons.is_forest_idle);
        let pause = if is_idle { IDLE_PAUSE } else { 1 };
        self.set_size(is_idle, training);
        let calibrates =
            self.seen - self.calibrated_at >= pause * (self.pool.n_rows as u64 / 2).max(8 * *BLOCK.start());
        let has_changed = self.forget_what_harms(calibrates, training, update);
        self.noise = self.detector.errors.mean().min(0.5);
        if self.arms.decide() {
            self.grow_all_anew(training);
        }
        let n_rows = self.pool.n_rows;
        let n_new = (self.seen - self.kept_up_at) as usize;
        if has_changed || n_new >= pause as usize * (n_rows / 4).max(*BLOCK.start() as usize) {
            self.kept_up_at = self.seen;
            self.weigh_classes(training);
            let doublings = libm::log2(1.0 + n_new as f64 / (n_rows.saturating_sub(n_new)).max(1) as f64);
            self.replace_trees((self.forest.params.replace * doublings).min(1.0), training, update);
        }
        if has_changed || calibrates {
            self.calibrated_at = self.seen;
            self.calibrate(training);
        }
    }

    /// Lets most trees go while the forest hardly counts in the mixture, and grows new ones when it counts again.
    fn set_size(&mut self, is_idle: bool, training: &Training<'_>) {
        if is_idle && self.live.len() > N_IDLE_TREES {
            self.n_resting += self.live.len() - N_IDLE_TREES;
            self.live.truncate(N_IDLE_TREES);
            self.records.truncate(N_IDLE_TREES);
            self.births.truncate(N_IDLE_TREES);
            self.forest.trees.truncate(N_IDLE_TREES);
        } else if !is_idle && self.n_resting > 0 {
            let (n, rows) = (std::mem::take(&mut self.n_resting), self.pool.by_class());
            for new in self.grow_new_trees(n, &rows, &[], training) {
                self.births.push(new.live.birth);
                self.live.push(new.live);
                self.records.push(new.record);
            }
            // They are with the forest while nothing is learnt; it counts them all the time.
            self.forest.trees.resize_with(self.live.len(), Default::default);
        }
    }

    /// Balanced class weights follow the pool.
    fn weigh_classes(&mut self, training: &Training<'_>) {
        if self.forest.params.class_weights != ClassWeights::Balanced {
            return;
        }
        let counts: Vec<usize> = self.pool.class_counts().collect();
        let balanced = balanced_weights(&counts);
        self.class_weights.iter_mut().zip(balanced).for_each(|(weight, balanced)| *weight = balanced);
        with_live!(self, training.par, |live, online_rows| live.recount(online_rows));
    }

    /// Grows new trees, as many as a share of those there are, and puts each in the place of the worst if it is better. Where
    /// less than half of the new ones were, half as many are tried the next time.
    fn replace_trees(&mut self, share: f64, training: &Training<'_>, update: &mut Update) {
        let newest = self.seen.saturating_sub((window::ROWS as u64).min(self.pool.n_rows as u64 / 3));
        let held = self.held_out_rows(newest);
        if share == 0.0 || held.len() < LEAST_HELD_OUT || training.budget.spent().is_some() {
            return;
        }
        let mask = self.mask(&held);
        let n = n_new_trees(share * self.replacement_rate * self.live.len() as f64);
        let worst = self.worst_first(&mask, n);
        let rows = self.pool.by_class();
        let new_trees = self.grow_new_trees(worst.len(), &rows, &held, training);
        let n_better = self.put_better_ones_in_place(&worst, new_trees, &mask);
        update.n_tried += n;
        update.n_replaced += n_better;
        training.observer.progress(Progress { done: n, total: Some(n), accuracy: None });
        let factor = if 2 * n_better < n { 0.5 } else { 2.0 };
        self.replacement_rate = (self.replacement_rate * factor).clamp(1.0 / 16.0, 1.0);
    }

    /// Places of the trees of which the least is expected, at most so many.
    fn worst_first(&self, mask: &RowSet, n: usize) -> Vec<usize> {
        let expected = expected(&self.standings(mask));
        let mut order: Vec<usize> = (0..expected.len()).collect();
        order.sort_by(|&a, &b| expected[a].total_cmp(&expected[b]));
        order.truncate(n);
        order
    }

    /// How the trees did on the rows of a mask, and how old they are: how often the pool has doubled since they were grown.
    fn standings(&self, mask: &RowSet) -> Vec<Standing> {
        let n_rows = self.pool.n_rows as f64;
        let age = |birth: &Birth| libm::log2(n_rows / (birth.n_rows as f64).clamp(8.0, n_rows.max(8.0)));
        let trees = self.records.iter().zip(&self.births);
        trees.map(|(record, birth)| Standing::new(record, mask, age(birth))).collect()
    }

    /// Puts each new tree in the place it was grown for, if more is expected of it, and returns how many there were.
    fn put_better_ones_in_place(
        &mut self,
        places: &[usize],
        new_trees: Vec<NewTree>,
        mask: &RowSet,
    ) -> usize {
        let mut trees = self.standings(mask);
        trees.extend(new_trees.iter().map(|new| Standing::new(&new.record, mask, 0.0)));
        let expected = expected(&trees);
        let mut n_better = 0;
        for (i, (new, &place)) in new_trees.into_iter().zip(places).enumerate() {
            if expected[self.live.len() + i] > expected[place] {
                self.put_in_place(place, new);
                n_better += 1;
            }
        }
        n_better
    }

    /// Grows all trees anew from the rows there are.
    pub(super) fn grow_all_anew(&mut self, training: &Training<'_>) {
        let rows = self.pool.by_class();
        let new_trees = self.grow_new_trees(self.live.len(), &rows, &[], training);
        new_trees.into_iter().enumerate().for_each(|(place, new)| self.put_in_place(place, new));
    }

    /// Held-out rows that new trees are evaluated on before they learn them: half of the newest ones in the pool, none
    /// older than `since`.
    pub(super) fn held_out_rows(&self, since: u64) -> Vec<u32> {
        let since = since.max(self.seen.saturating_sub(window::ROWS as u64));
        let mut rng = Rng::new(self.forest.params.seed, Purpose::Validation, self.seen);
        let mut slots = self.pool.by_age();
        slots.retain(|&slot| self.pool.ages[slot as usize] >= since && rng.below(2) == 0);
        slots
    }

    /// Rows as a set of the newest ones.
    pub(super) fn mask(&self, slots: &[u32]) -> RowSet {
        let mut record = Record::default();
        slots.iter().for_each(|&slot| record.note(self.pool.ages[slot as usize], false));
        record.predicted
    }

    /// Grows so many new trees from rows grouped by class.
    pub(super) fn grow_new_trees(
        &mut self,
        n: usize,
        rows: &[u32],
        held: &[u32],
        training: &Training<'_>,
    ) -> Vec<NewTree> {
        let mut times = vec![1_u8; self.pool.n_slots()];
        held.iter().for_each(|&slot| times[slot as usize] = 0);
        let births: Vec<Birth> = (0..n).map(|_| self.next_birth(rows.len())).collect();
        self.pool.turn(training.budget.bytes.is_none(), training.par);
        with_table!(&self.pool.values, |table| self.with_online_rows(table, |online_rows| {
            grow_and_evaluate(&births, rows, &times, table.matrix(), online_rows, training)
        }))
    }

    fn put_in_place(&mut self, place: usize, new: NewTree) {
        let share = 1.0 / self.live.len() as f64;
        for (sum, gain) in self.forest.gains.iter_mut().zip(&new.gains) {
            *sum = on_grid(*sum * (1.0 - share)) + gain;
        }
        self.births[place] = new.live.birth;
        self.live[place] = new.live;
        self.records[place] = new.record;
    }

    /// Fits leaf weight, calibration and prior shift to the newest predictions.
    fn calibrate(&mut self, training: &Training<'_>) {
        let calibrates = self.forest.params.calibrate;
        if !calibrates && self.leaf_weights.len() == 1 {
            return;
        }
        let (predictions, labels) = self.window.predictions(self.leaf_weights.len(), self.pool.n_classes());
        let weights: Vec<f64> = labels.iter().map(|class| self.class_weights[class.index()]).collect();
        let (earlier, seed) = (self.forest.calibration, self.forest.params.seed);
        let task = WeightedPredictions {
            whole: &predictions,
            half: &[],
            labels: &labels,
            weights: &weights,
            n_trees: self.live.len(),
        };
        let (chosen, near) = calibration::choose(task, self.chosen_leaf_weight(), earlier, training.par);
        self.forest.leaf_weight = self.leaf_weights[chosen].clone();
        if calibrates {
            // First the votes are calibrated, rows of each class counting the same; then the prior is shifted.
            let counts = |row: usize| if weights[row] > 0.0 { 1.0 } else { 0.0 };
            self.forest.calibration =
                Calibration::fit(&predictions[chosen], &labels, counts, near, seed, training.par);
            let class_weights = self.weights_of_classes();
            let found = self.forest.calibration.as_ref();
            self.forest.prior_shift =
                prior_shift::fit(&predictions[chosen], &labels, |_| 1.0, &class_weights, found);
        }
    }

    /// Class weights of predictions: as asked for or, balanced, as much less as they have more rows in the pool.
    fn weights_of_classes(&self) -> Vec<f64> {
        if self.forest.params.class_weights != ClassWeights::Balanced {
            return self.class_weights.clone();
        }
        let mean = self.pool.n_rows as f64 / self.pool.n_classes().max(1) as f64;
        self.pool.class_counts().map(|n| mean / n.max(1) as f64).collect()
    }
}

/// About so many trees, at least one, and an even number of many, so that two threads have the same to do.
fn n_new_trees(wanted: f64) -> usize {
    if wanted < 4.0 { libm::ceil(wanted).max(1.0) as usize } else { 2 * libm::round(wanted / 2.0) as usize }
}

/// How a tree did on rows it had not seen, and how old it is.
struct Standing {
    predicted: f64,
    right: f64,
    age: f64,
}

impl Standing {
    fn new(record: &Record, mask: &RowSet, age: f64) -> Self {
        let (predicted, right) = record.counts(mask);
        Self { predicted: f64::from(predicted), right: f64::from(right), age }
    }
}

/// The accuracy to expect of each tree; empty if there are no predictions.
fn expected(trees: &[Standing]) -> Vec<f64> {
    let sum = |of: &dyn Fn(&Standing) -> f64| trees.iter().map(of).sum::<f64>();
    let predicted = sum(&|t| t.predicted);
    if predicted == 0.0 {
        return Vec::new();
    }
    // A line through accuracy over age; trees do not get better with age.
    let mean = sum(&|t| t.right) / predicted;
    let mean_age = sum(&|t| t.predicted * t.age) / predicted;
    let accuracy = |t: &Standing| if t.predicted > 0.0 { t.right / t.predicted } else { mean };
    let spread_of_ages = sum(&|t| t.predicted * (t.age - mean_age).powi(2));
    let together = sum(&|t| t.predicted * (t.age - mean_age) * (accuracy(t) - mean));
    let slope = if spread_of_ages > 0.0 { (together / spread_of_ages).min(0.0) } else { 0.0 };
    let line = |t: &Standing| mean + slope * (t.age - mean_age);
    let n = trees.len() as f64;
    let spread = sum(&|t| (accuracy(t) - line(t)).powi(2)) / n;
    let chance = mean * (1.0 - mean) / (predicted / n);
    let kept = if spread > chance { 1.0 - chance / spread } else { 0.0 };
    trees.iter().map(|t| line(t) + kept * (accuracy(t) - line(t))).collect()
}

/// Grows trees on all rows and evaluates them on the held-out rows, which they learn last.
fn grow_and_evaluate<C: Code>(
    births: &[Birth],
    rows: &[u32],
    times: &[u8],
    matrix: Matrix<'_, C>,
    online_rows: &OnlineRows<'_, C>,
    training: &Training<'_>,
) -> Vec<NewTree> {
    training.par.map(births.len(), |i| {
        let input = online_rows.input.tolerating(births[i].is_tolerant);
        let input = GrowthInput { by_class: rows, votes_for_left_out: true, learn: true, ..input };
        let rng = Rng::new(input.params.seed, Purpose::Tree, births[i].serial);
        let Grown { tree, gains, left_out_votes, leaf_rows, .. } = grow(&input, matrix, times, rng);
        let mut record = Record::default();
        left_out_votes.visit(|rows, _, shares| {
            let favorite = largest(shares.iter().map(|(_, share)| share)).map(|at| usize::from(shares[at].0));
            for &slot in rows {
                let age = online_rows.ages[slot as usize];
                record.note(age, Some(online_rows.class(slot)) == favorite);
            }
        });
        NewTree { gains, live: LiveTree::grown(tree, &leaf_rows, births[i], online_rows), record }
    })
}
