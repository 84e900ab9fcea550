//! The training run of a forest: trees one after the other, or many at a time, on any thread.
//!
//! Trees are numbered, and what a tree is depends on its number alone. They are counted in the order of their numbers, whenever they come:
//! sums of floats depend on the order, and so the forest does not depend on who grew which tree when.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hedgerow_core::{
    Candidate, Checked, Dataset, Effort, JobState, JobStatus, ModelTask, OutOfSample, Par, Progress, Result,
    Source, Step, StopReason, Task, Training, TrainingRun,
};

use ndarray::Axis;

use super::builder::TreeBuilder;
use super::limits::Limiter;
use super::oob::{OutOfBag, Tally};
use super::{Fitted, ROUND};
use crate::bag::Bagging;
use crate::calibration::{Calibration, prior_shift};
use crate::forest::Forest;
use crate::grow::{Grown, add_gains};
use crate::leaf_weight::LeafWeight;
use crate::model::ForestModel;
use crate::params::ForestParams;
use crate::tree::Tree;

/// A forest in training.
pub struct ForestRun {
    builder: Arc<TreeBuilder>,
    limiter: Limiter,
    /// Whether a job has been dropped, for each tree that is grown side by side.
    is_dropped: Vec<bool>,
    goal: usize,
    /// Whether the clock may end the work: then few trees are grown between two looks at it.
    is_timed: bool,
    /// The number of the next tree to grow, and of the next to count.
    next: usize,
    settled: usize,
    /// The numbers of the trees that each job is growing.
    in_flight: BTreeMap<usize, Range<usize>>,
    /// Trees that wait for others before them; none where a tree was lost.
    waiting: BTreeMap<usize, Option<Grown>>,
    trees: Vec<Arc<Tree>>,
    gains: Vec<f64>,
    oob: Option<Arc<Tally>>,
    accuracy: Option<f64>,
    /// The best out-of-bag accuracy after a round, and with how many trees.
    best: (f64, usize),
    stop: Option<StopReason>,
}

impl ForestRun {
    /// Makes rows ready. `lanes` trees may be grown side by side.
    pub fn new(
        data: &Dataset,
        params: &Checked<ForestParams>,
        lanes: usize,
        training: &Training<'_>,
    ) -> Result<Self> {
        data.check_trainable(Task::Classification)?;
        params.get().check_plain()?;
        let (params, budget, lanes) = (params.get(), training.budget, lanes.max(1));
        let limiter = Limiter::new(budget, data, params, lanes)?;
        let mut builder = TreeBuilder::with_layout(data, params, limiter.is_tight(), training.par)?;
        if !limiter.sets_fit {
            builder.set_stride = 0;
        }
        let (n_classes, set_stride) = (data.schema.n_classes(), builder.set_stride);
        let has_oob = params.bagging != Bagging::All && limiter.oob_fits;
        Ok(Self {
            builder: Arc::new(builder),
            is_dropped: vec![false; lanes],
            goal: match (params.n_trees, budget.rounds) {
                (0, rounds) => rounds.unwrap_or(usize::MAX),
                (trees, rounds) => trees.min(rounds.unwrap_or(trees)),
            },
            is_timed: budget.deadline.is_some(),
            next: 0,
            settled: 0,
            in_flight: BTreeMap::new(),
            waiting: BTreeMap::new(),
            trees: Vec::new(),
            gains: vec![0.0; data.schema.n_features()],
            oob: has_oob.then(|| Arc::new(Tally::new(data.n_rows(), n_classes, params, set_stride))),
            limiter,
            accuracy: None,
            best: (-1.0, 0),
            stop: None,
        })
    }

    /// Trees so far.
    pub fn n_trees(&self) -> usize {
        self.trees.len()
    }

    /// Out-of-bag predictions so far: sums over trees, before they are calibrated.
    pub fn out_of_bag(&self) -> Option<&OutOfBag> {
        self.oob.as_deref().map(|tally| &tally.tables[0])
    }

    /// Trees that can still be begun now.
    fn n_open(&self) -> usize {
        if self.stop.is_some() {
            return 0;
        }
        let in_flight = self.next - self.settled - self.waiting.len();
        let affordable = self.limiter.affordable(&self.trees).map_or(0, |n| n.saturating_sub(in_flight));
        affordable.min(self.goal.saturating_sub(self.next))
    }

    /// Trees that are grown before anything must be decided. It changes neither trees nor sums, only how often limits are looked at.
    fn round_len(&self) -> usize {
        if self.builder.params.patience > 0 {
            ROUND - self.next % ROUND
        } else if self.limiter.is_tight() || self.is_timed {
            self.is_dropped.len()
        } else {
            64 * self.is_dropped.len()
        }
    }

    /// Counts the trees whose turn it is.
    fn settle(&mut self, spent: Option<StopReason>) {
        while let Some(grown) = self.waiting.remove(&self.settled) {
            self.settled += 1;
            let Some(grown) = grown else { continue };
            if grown.cut_short {
                self.stop.get_or_insert(spent.unwrap_or(StopReason::Memory));
                // A tree that was cut short is kept only when there is no other.
                if !self.trees.is_empty() {
                    continue;
                }
            }
            add_gains(&mut self.gains, &grown.gains);
            if let Some(oob) = &mut self.oob {
                Arc::make_mut(oob).add(&grown);
            }
            self.trees.push(Arc::new(grown.tree));
            if self.has_converged() {
                self.stop.get_or_insert(StopReason::Converged);
            }
        }
        self.accuracy = self.oob_accuracy();
        if self.limiter.affordable(&self.trees).is_none() {
            self.stop.get_or_insert(StopReason::Memory);
        }
    }

    /// Whether out-of-bag accuracy has not risen for as many rounds as there is patience.
    fn has_converged(&mut self) -> bool {
        let (patience, n_trees) = (self.builder.params.patience, self.trees.len());
        if patience == 0 || !n_trees.is_multiple_of(ROUND) {
            return false;
        }
        let Some(accuracy) = self.oob_accuracy() else { return false };
        if accuracy > self.best.0 {
            self.best = (accuracy, n_trees);
        }
        n_trees - self.best.1 >= patience * ROUND
    }

    fn oob_accuracy(&self) -> Option<f64> {
        self.out_of_bag().and_then(|oob| oob.accuracy(&self.builder.data))
    }

    /// The making of a forest of the trees there are, calibrated by their out-of-bag predictions.
    pub fn forest(&self) -> impl FnOnce(&Training<'_>) -> Fitted + Send + use<> {
        let (builder, trees, gains) = (Arc::clone(&self.builder), self.trees.clone(), self.gains.clone());
        let (oob, stop) = (self.oob.clone(), self.stop());
        move |training: &Training<'_>| {
            // What no run has any more is moved, otherwise it is copied.
            let oob = oob.map(Arc::unwrap_or_clone);
            let trees = trees.into_iter().map(Arc::unwrap_or_clone).collect();
            Fitted { stop, ..assemble(&builder, trees, gains, oob, training.par) }
        }
    }
}

impl TrainingRun for ForestRun {
    type Model = ForestModel;

    fn jobs(&self) -> Vec<JobStatus> {
        let n_open = self.n_open();
        let bytes: usize = self.trees.iter().map(|tree| tree.bytes()).sum();
        let is_ready = |lane: usize| n_open > 0 && !self.is_dropped[lane];
        // Trees that are being grown may leave something to do, or to be waited for.
        let is_done = |lane: usize| !is_ready(lane) && self.in_flight.is_empty();
        let status = |lane: usize| JobStatus {
            kind: "trees",
            name: format!("{}", lane + 1),
            state: JobState::new(is_done(lane), is_ready(lane)),
            accuracy: self.accuracy,
            points: self.trees.len(),
            goal: self.goal,
            bytes: if lane == 0 { bytes as u64 } else { 0 },
            ..JobStatus::default()
        };
        (0..self.is_dropped.len()).map(status).collect()
    }

    fn begin(&mut self, jobs: &[usize], effort: Effort) -> Step {
        let wanted = if effort == Effort::Whole { self.round_len() } else { jobs.len() };
        let (first, n) = (self.next, wanted.min(self.n_open()));
        self.next += n;
        let lane = jobs.first().copied().unwrap_or(0);
        self.in_flight.insert(lane, first..first + n);
        let max_bytes = self.limiter.bytes_for_a_tree(&self.trees);
        let total = (self.goal < usize::MAX).then_some(self.goal);
        let (builder, votes) = (Arc::clone(&self.builder), self.oob.is_some());
        let (n_done, accuracy) = (AtomicUsize::new(first), self.accuracy);
        Step::new(move |training: &Training<'_>| {
            training.observer.progress(Progress { done: first, total, accuracy });
            let grown = training.par.map(n, |i| {
                let grown = builder.grow(first + i, training.budget, max_bytes, votes);
                let done = n_done.fetch_add(1, Ordering::Relaxed) + 1;
                training.observer.progress(Progress { done, total, accuracy: None });
                grown
            });
            let spent = training.budget.spent();
            move |run: &mut Self| {
                run.in_flight.remove(&lane);
                run.waiting.extend((first..).zip(grown.into_iter().map(Some)));
                run.settle(spent);
                Ok(())
            }
        })
    }

    fn drop_job(&mut self, job: usize) {
        if let Some(is_dropped) = self.is_dropped.get_mut(job) {
            *is_dropped = true;
        }
        // Trees that were being grown will not come: those after them must not wait.
        let lost = self.in_flight.remove(&job).unwrap_or_default();
        self.waiting.extend(lost.map(|number| (number, None)));
        self.settle(None);
    }

    fn has_model(&self) -> bool {
        !self.trees.is_empty()
    }

    fn model(&self) -> Option<ModelTask<ForestModel>> {
        let (make, data) = (self.forest(), self.builder.data.clone());
        self.has_model().then(|| {
            ModelTask::new(move |training| {
                let Fitted { forest, oob, conformal, .. } = make(training);
                let validation = oob.as_ref().map(|oob| out_of_sample(oob, &forest, &data));
                let made = Candidate::new(ForestModel::fitted(forest, data), validation);
                Ok(Candidate { oob_votes: oob.map(|oob| oob.n_trees), conformal, ..made })
            })
        })
    }

    fn hurry(&mut self, reason: StopReason) {
        // Without a tree the next ones are cut short, and kept.
        if self.has_model() {
            self.stop.get_or_insert(reason);
        }
    }

    fn stop(&self) -> StopReason {
        self.stop.unwrap_or(StopReason::Done)
    }
}

fn assemble(
    builder: &TreeBuilder,
    trees: Vec<Tree>,
    gains: Vec<f64>,
    tally: Option<Tally>,
    par: &Par,
) -> Fitted {
    let (data, params) = (&builder.data, &builder.params);
    let row_weight = |row: usize| builder.weights(row)[0];
    let chosen = tally.map(|tally| tally.finish(data.labels(), |row| builder.weights(row)[1], par));
    let (leaf_weight, oob, left_one) = match chosen {
        Some((leaf_weight, oob, left_one)) => (Some(leaf_weight), Some(oob), left_one),
        None => (None, None, None),
    };
    let leaf_weight = leaf_weight.unwrap_or_else(|| LeafWeight::new(LeafWeight::powers(params)[0]));
    let calibration = oob.as_ref().filter(|_| params.calibrate).and_then(|oob| {
        // First the votes are calibrated with rows of each class counting the same; then class weights shift the probabilities.
        let weight = |row: usize| if builder.weights(row)[1] > 0.0 { row_weight(row) } else { 0.0 };
        Calibration::fit(oob, data.labels(), weight, None, params.seed, par)
    });
    let prior_shift = match &oob {
        _ if !params.calibrate => Vec::new(),
        Some(oob) => {
            prior_shift::fit(oob, data.labels(), row_weight, &builder.class_weights, calibration.as_ref())
        }
        None => prior_shift::without_validation(params, &builder.class_weights),
    };
    let forest = Forest::from_parts(params.clone(), data.schema.n_classes(), trees, calibration, gains);
    let forest = Forest { leaf_weight, prior_shift, ..forest };
    let conformal = left_one.and_then(|left_one| left_one.conformal(&forest, data.labels()));
    Fitted { forest, oob, conformal, stop: StopReason::Done }
}

/// The probabilities of the rows that some tree has left out.
pub(super) fn out_of_sample(oob: &OutOfBag, forest: &Forest, data: &Dataset) -> OutOfSample {
    let rows: Vec<usize> = (0..data.n_rows()).filter(|&row| oob.n_trees[row] > 0).collect();
    let values = oob.probabilities(forest).select(Axis(0), &rows);
    OutOfSample::of_rows(Source::OutOfBag, rows, values, data.labels())
}

#[cfg(test)]
mod tests {
    use hedgerow_core::testing::blobs;
    use hedgerow_core::{Budget, Delta, Params as _, Silent};

    use super::*;

    /// Grows trees a slice at a time, in an order that is not that of their numbers.
    #[test]
    fn slices_in_any_order_give_the_forest_of_a_fit() {
        let data = blobs(600, 4, 3, 1);
        let params = ForestParams { n_trees: 12, ..ForestParams::default() }.check().unwrap();
        let (par, budget) = (Par::sequential(), Budget::open());
        let training = Training { par: &par, budget: &budget, observer: &Silent };
        let whole = Forest::fit(&data, &params, &training).unwrap();
        let mut run = ForestRun::new(&data, &params, 3, &training).unwrap();
        assert!(run.model().is_none());
        while run.jobs()[0].state == JobState::Ready {
            let steps: Vec<Step> = (0..3).map(|lane| run.begin(&[lane], Effort::Slice)).collect();
            let deltas: Vec<Delta> = steps.into_iter().map(|step| step.run(&training)).collect();
            for delta in deltas.into_iter().rev() {
                run.merge(delta).unwrap();
            }
        }
        let candidate = run.model().unwrap().run(&training).unwrap();
        let fitted = run.forest()(&training);
        assert_eq!((&fitted.forest, &fitted.oob), (&whole.forest, &whole.oob));
        assert_eq!(candidate.model.forest(), &whole.forest);
        let quality = candidate.validation.unwrap().quality();
        assert!(quality.accuracy() > Some(0.9) && quality.rows() > 500, "{quality:?}");
    }

    #[test]
    fn a_lost_tree_does_not_hold_up_the_others() {
        let data = blobs(200, 4, 3, 1);
        let params = ForestParams { n_trees: 4, ..ForestParams::default() }.check().unwrap();
        let (par, budget) = (Par::sequential(), Budget::open());
        let training = Training { par: &par, budget: &budget, observer: &Silent };
        let mut run = ForestRun::new(&data, &params, 2, &training).unwrap();
        let (lost, kept) = (run.begin(&[0], Effort::Slice), run.begin(&[1], Effort::Slice));
        run.merge(kept.run(&training)).unwrap();
        assert_eq!(run.n_trees(), 0, "the first is awaited");
        run.drop_job(0);
        drop(lost);
        assert_eq!(run.n_trees(), 1);
        assert_eq!(
            run.jobs().iter().map(|job| job.state).collect::<Vec<_>>(),
            [JobState::Done, JobState::Ready]
        );
    }
}
