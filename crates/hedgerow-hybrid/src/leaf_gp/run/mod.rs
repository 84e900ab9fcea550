//! The training run of trees with GPs in their leaves.
//!
//! ```text
//! trees (one after the other) -> kernel search on leaves of the first tree -> leaves of each tree -> folds
//! ```
//!
//! The search begins as soon as there is a first tree; leaves wait for the kernel and for all trees, as the random numbers of a leaf depend on its number among all
//! leaves. Folds need every leaf to be trained. There is a model as soon as there is a tree: leaves that have not been trained predict with their class
//! frequencies. What a step makes depends on its input alone, and trees count in the order of their numbers, so a model does not depend on the order of steps.

mod assembly;
mod rows;
mod steps;
#[cfg(test)]
mod tests;
mod tree;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hedgerow_core::{
    Checked, Dataset, Effort, JobState, JobStatus, ModelTask, Par, Params as _, Result, Step, StopReason,
    Task, Training, TrainingRun,
};
use hedgerow_forest::TreeBuilder;

use assembly::Assembly;
pub(super) use rows::TrainingRows;
use tree::Slot;

use super::LeafGp;
use super::folds::ValidationFolds;
use super::kernel::LeafKernel;
use super::params::LeafGpParams;
use super::search::Trials;
use super::validation::ValidationRow;

/// Trees with GPs in their leaves in training.
pub struct LeafGpRun {
    rows: Arc<TrainingRows>,
    lanes: usize,
    is_dropped: Vec<bool>,
    is_hurried: bool,
    /// None when no tree is left to grow, and where nothing separates rows: there a tree is a leaf.
    builder: Option<Arc<TreeBuilder>>,
    /// All trees, by their numbers.
    trees: Vec<Slot>,
    search: KernelTrials,
    kernel: Option<LeafKernel>,
    /// None if there are to be no folds.
    folds: Option<FoldState>,
    /// The time that steps have taken.
    took: Duration,
}

/// The search for a kernel.
#[derive(Default)]
struct KernelTrials {
    is_over: bool,
    /// None before it begins.
    trials: Option<Arc<Trials>>,
    /// How bad each kernel is, as far as it has been tried.
    tried: Vec<Option<f64>>,
    /// The kernels that each lane is trying.
    trying: BTreeMap<usize, Vec<usize>>,
}

/// Out-of-fold validation.
struct FoldState {
    folds: Arc<ValidationFolds>,
    next: usize,
    is_over: bool,
    found: Vec<Arc<Vec<ValidationRow>>>,
}

impl FoldState {
    fn is_done(&self) -> bool {
        self.is_over || self.next >= self.folds.len()
    }
}

/// What a job works on.
#[derive(Clone, Copy)]
enum Job {
    Trees,
    Search(usize),
    Leaves(usize),
    Folds,
}

impl LeafGpRun {
    /// Prepares columns and rows. `lanes` trees, or kernels, may be worked on side by side. Leaf GPs ignore row weights.
    pub fn new(
        data: &Dataset,
        params: &Checked<LeafGpParams>,
        lanes: usize,
        training: &Training<'_>,
    ) -> Result<Self> {
        let mut run = Self::without_folds(data, params.get().clone(), lanes, training)?;
        if run.rows.params.blend {
            let folds = Arc::new(ValidationFolds::new(run.rows.data.n_rows(), run.rows.params.seed));
            run.folds = Some(FoldState { folds, next: 0, is_over: false, found: Vec::new() });
            run.is_dropped.push(false);
        }
        Ok(run)
    }

    /// The same with a kernel that is known.
    #[must_use]
    pub(super) fn with_kernel(self, kernel: LeafKernel) -> Self {
        Self {
            kernel: Some(kernel),
            search: KernelTrials { is_over: true, ..KernelTrials::default() },
            ..self
        }
    }

    /// A run without validation by folds.
    pub(super) fn without_folds(
        data: &Dataset,
        params: LeafGpParams,
        lanes: usize,
        training: &Training<'_>,
    ) -> Result<Self> {
        data.check_trainable(Task::Classification)?;
        data.schema.check_sizes()?;
        let start = Instant::now();
        let (n_trees, lanes) = (params.n_trees, lanes.max(1));
        let rows = TrainingRows::new(data, params, training);
        rows.data.check_trainable(Task::Classification)?;
        let forest = rows.params.forest_params().check()?;
        let stop = &training.budget.stop;
        let builder = TreeBuilder::new(&rows.data, &forest, &training.par.until(stop))?;
        let mut run = Self {
            rows: Arc::new(rows),
            lanes,
            is_dropped: vec![false; 2 * lanes + n_trees],
            is_hurried: false,
            builder: Some(Arc::new(builder)),
            trees: (0..n_trees).map(|_| Slot::Open).collect(),
            search: KernelTrials::default(),
            kernel: None,
            folds: None,
            took: start.elapsed(),
        };
        if stop.is_stopped() {
            // What was being prepared is incomplete.
            run.take_few_rows();
        }
        Ok(run)
    }

    /// Goes on with a few rows, whatever the budget says.
    fn take_few_rows(&mut self) {
        self.is_hurried = true;
        self.rows = Arc::new(self.rows.few());
        let forest = self.rows.params.forest_params().check();
        let builder =
            forest.and_then(|forest| TreeBuilder::new(&self.rows.data, &forest, &Par::sequential()));
        self.builder = builder.ok().map(Arc::new);
    }

    /// Whether it is trained on all rows that the parameters allow, and not in haste on a few.
    pub(super) fn has_all_rows(&self) -> bool {
        self.rows.is_whole()
    }

    fn job(&self, place: usize) -> Job {
        let first_leaves = 2 * self.lanes;
        match place {
            lane if lane < self.lanes => Job::Trees,
            place if place < first_leaves => Job::Search(place - self.lanes),
            place if place < first_leaves + self.trees.len() => Job::Leaves(place - first_leaves),
            _ => Job::Folds,
        }
    }

    /// Gives up trees.
    fn lose(&mut self, is_lost: impl Fn(&Slot) -> bool) {
        self.trees.iter_mut().filter(|slot| is_lost(slot)).for_each(|slot| *slot = Slot::Lost);
    }

    /// Whether no more trees will come.
    fn are_trees_done(&self) -> bool {
        let is_abandoned = self.is_dropped[..self.lanes].iter().all(|is| *is);
        !self.trees.iter().any(|slot| match slot {
            Slot::Open => !is_abandoned,
            Slot::Growing(_) => true,
            Slot::Lost | Slot::Grown(_) => false,
        })
    }

    /// The tree that the kernel is searched on: the first that there is, once none can come before it.
    fn first_tree(&self) -> Option<&tree::TreeState> {
        let is_open = |slot: &Slot| matches!(slot, Slot::Open | Slot::Growing(_));
        let first = self.trees.iter().find(|slot| slot.grown().is_some() || is_open(slot))?;
        first.grown().or_else(|| {
            let grown = self.trees.iter().find_map(Slot::grown);
            grown.filter(|_| self.are_trees_done())
        })
    }

    /// Kernels that no lane has tried or is trying, by their places.
    fn open_trials(&self) -> Vec<usize> {
        let Some(trials) = &self.search.trials else { return Vec::new() };
        let is_tried = |at: &usize| self.search.tried.get(*at).is_some_and(Option::is_some);
        let is_taken = |at: &usize| self.search.trying.values().flatten().any(|taken| taken == at);
        let all = 0..trials.kernels(&self.search.tried).len();
        all.filter(|at| !is_tried(at) && !is_taken(at)).collect()
    }

    /// Ends stages that nothing is left to do in.
    fn settle(&mut self) {
        if self.are_trees_done() {
            self.builder = None;
        }
        let is_abandoned = self.is_dropped[self.lanes..2 * self.lanes].iter().all(|is| *is);
        let has_tried_all = self.search.trials.is_some() && self.open_trials().is_empty();
        if !self.search.is_over && self.search.trying.is_empty() && (is_abandoned || has_tried_all) {
            self.end_search();
        }
    }

    fn end_search(&mut self) {
        let KernelTrials { trials, tried, .. } = &self.search;
        self.kernel = self.kernel.or_else(|| trials.as_ref().map(|trials| trials.best(tried)));
        self.search = KernelTrials { is_over: true, ..KernelTrials::default() };
    }

    /// Whether leaves can be trained, now or later.
    fn needs_leaves(&self) -> bool {
        !self.search.is_over || self.kernel.is_some()
    }

    fn are_leaves_done(&self) -> bool {
        let mut trees = self.trees.iter().zip(&self.is_dropped[2 * self.lanes..]);
        trees.all(|(slot, is_dropped)| *is_dropped || slot.grown().is_none_or(tree::TreeState::is_done))
    }

    /// What a model is made of now.
    pub(super) fn assembly(&self) -> Assembly {
        let trees = self.trees.iter().filter_map(Slot::grown);
        let folds = self.folds.as_ref().filter(|folds| folds.is_done());
        Assembly {
            rows: Arc::clone(&self.rows),
            kernel: self.kernel,
            trees: trees.map(|tree| (Arc::clone(&tree.placed), tree.trained.clone())).collect(),
            folds: folds.map_or_else(Vec::new, |folds| folds.found.clone()),
        }
    }

    fn bytes(&self) -> usize {
        self.rows.bytes() + self.trees.iter().filter_map(Slot::grown).map(|tree| tree.bytes).sum::<usize>()
    }
}

impl TrainingRun for LeafGpRun {
    type Model = LeafGp;

    fn jobs(&self) -> Vec<JobStatus> {
        let open_trials = self.open_trials().len();
        let status = |place: usize| {
            let mut job = match self.job(place) {
                Job::Trees => self.trees_status(place),
                Job::Search(lane) => self.search_status(lane, open_trials),
                Job::Leaves(number) => self.leaves_status(number),
                Job::Folds => self.folds_status(),
            };
            if self.is_dropped[place] {
                job.state = JobState::Done;
            }
            job
        };
        (0..self.is_dropped.len()).map(status).collect()
    }

    fn begin(&mut self, jobs: &[usize], effort: Effort) -> Step {
        match jobs.first().map(|&place| self.job(place)) {
            Some(Job::Trees) => self.begin_trees(jobs, effort),
            Some(Job::Search(lane)) => self.begin_search(lane, jobs.len(), effort),
            Some(Job::Leaves(_)) => self.begin_leaves(jobs, effort),
            Some(Job::Folds) => self.begin_folds(effort),
            None => Step::nothing::<Self>(),
        }
    }

    fn drop_job(&mut self, job: usize) {
        if let Some(is_dropped) = self.is_dropped.get_mut(job) {
            *is_dropped = true;
        }
        match self.job(job) {
            Job::Trees => self.lose(|slot| matches!(slot, Slot::Growing(lane) if *lane == job)),
            // Other lanes try its kernels.
            Job::Search(lane) => drop(self.search.trying.remove(&lane)),
            Job::Leaves(_) => {}
            Job::Folds => self.folds.iter_mut().for_each(|folds| folds.is_over = true),
        }
        self.settle();
    }

    fn has_model(&self) -> bool {
        self.trees.iter().any(|slot| slot.grown().is_some())
    }

    fn model(&self) -> Option<ModelTask<LeafGp>> {
        let assembly = self.has_model().then(|| self.assembly())?;
        Some(ModelTask::new(move |training| Ok(assembly.candidate(training))))
    }

    fn hurry(&mut self, reason: StopReason) {
        if self.has_model() {
            self.lose(|slot| matches!(slot, Slot::Open));
        } else if reason == StopReason::Interrupted && !self.is_hurried {
            self.take_few_rows();
        }
        // Trees are grown whatever the time: without them there is no model, and leaf GPs take much longer.
        self.is_hurried = true;
        self.end_search();
        self.trees.iter_mut().filter_map(Slot::grown_mut).for_each(|tree| tree.open.clear());
        self.folds.iter_mut().for_each(|folds| folds.is_over = true);
        self.settle();
    }
}
