//! The training run of an IVM classifier: a kernel, active sets of all classes, then scores fitted to all rows.
//!
//! ```text
//! search (a few kernels at a time) -> class kernels -> active set of each class -> regression, or folds
//! ```
//!
//! Each arrow is a wait for all jobs before it. Without a regression the posterior of each class predicts; folds then give the
//! out-of-sample scores that calibrate it.

mod active_sets;
mod hurry;
mod kernel;
mod scores;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Instant;

use hedgerow_core::{
    Budget, Candidate, Checked, Dataset, Effort, JobState, JobStatus, ModelTask, Result, RetainedRows, Step,
    StopReason, Task, Training, TrainingRun,
};

use super::IvmParams;
use super::classifier::{IvmClassifier, check_room};
use super::kernel_search::{KernelSearch, Tried};
use super::learnt::{Learnt, Outcome};
use super::one_vs_rest::{ActiveSet, OneVsRest};
use super::rows::TrainingRows;
use super::state::OnlineState;
use crate::prepare::Preparation;
use scores::Last;

/// Fewest rows that are cut into folds.
const LEAST_CUT: usize = 100;

/// What is known before training begins.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    /// Length scale and variance.
    pub(super) kernel: Option<[f64; 2]>,
    /// Those of each class, where they have their own.
    pub(super) class_kernels: Vec<[f64; 2]>,
    /// Length scale and ridge of the regression.
    pub(super) refit: Option<(f64, f64)>,
}

/// An IVM classifier in training.
pub struct IvmRun {
    data: Dataset,
    params: IvmParams,
    preparation: Preparation,
    rows: Arc<TrainingRows>,
    /// The numbers of the rows among the data; none if they are all.
    origin: Option<Vec<usize>>,
    known: Known,
    wants_folds: bool,
    is_hurried: bool,
    lanes: usize,
    /// When the search must be over.
    search_end: Option<Instant>,
    search: Option<Arc<KernelSearch>>,
    tried: Vec<Option<Tried>>,
    has_class_kernels: bool,
    /// The training of each class; none while a step has it, for a class without one, and when it is done.
    sets: Vec<Option<ActiveSet>>,
    is_set_done: Vec<bool>,
    found: Vec<Option<Arc<OneVsRest>>>,
    last: Last,
    is_dropped: Vec<bool>,
}

/// What a job works on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Job {
    Search(usize),
    ClassKernels,
    ActiveSet(usize),
    Last,
}

impl IvmRun {
    /// Prepares columns, or does so as an earlier classifier of rows of the same columns did, and takes its kernel. `lanes` kernels may be tried side by side.
    /// Row weights are not used.
    pub fn new(
        data: &Dataset,
        params: &Checked<IvmParams>,
        earlier: Option<&IvmClassifier>,
        lanes: usize,
        training: &Training<'_>,
    ) -> Result<Self> {
        data.check_trainable(Task::Classification)?;
        let params = params.get().clone();
        check_room(data, &params, training)?;
        let stop = &training.budget.stop;
        let (preparation, known) = if let Some(earlier) = earlier
            && let Some(Learnt { kernel, class_kernels, .. }) = &earlier.learnt
        {
            let class_kernels = class_kernels.clone();
            (earlier.preparation.clone(), Known { kernel: Some(*kernel), class_kernels, refit: None })
        } else {
            (Preparation::until(stop, &data.schema, &data.features), Known::default())
        };
        Ok(Self::on_prepared(data, params, preparation, known, lanes, training))
    }

    /// The same with columns prepared already, and what is known from before.
    pub(super) fn on_prepared(
        data: &Dataset,
        params: IvmParams,
        preparation: Preparation,
        known: Known,
        lanes: usize,
        training: &Training<'_>,
    ) -> Self {
        let n_classes = data.schema.n_classes();
        let rows = TrainingRows {
            x: preparation.map_all_narrow(&data.features, &training.par.until(&training.budget.stop)),
            squares: None,
            labels: data.labels().to_vec(),
            n_classes,
            params: params.clone(),
        };
        let search =
            known.kernel.is_none().then(|| Arc::new(KernelSearch::new(&rows, &params, training.par)));
        let lanes = lanes.max(1);
        let mut run = Self {
            data: data.clone(),
            preparation,
            rows: Arc::new(rows),
            origin: None,
            wants_folds: false,
            is_hurried: false,
            lanes,
            search_end: training.budget.half_of_time().deadline,
            search,
            tried: Vec::new(),
            has_class_kernels: !params.class_kernels || known.kernel.is_some(),
            sets: Vec::new(),
            is_set_done: Vec::new(),
            found: vec![None; n_classes],
            last: Last::Done(None),
            is_dropped: vec![false; lanes + n_classes + 2],
            known,
            params,
        };
        run.begin_anew();
        run.settle_kernel();
        if run.known.kernel.is_some() {
            run.make_sets();
        }
        run
    }

    /// The same, whose validation is out-of-fold where there are enough rows for folds.
    #[must_use]
    pub fn with_folds(self) -> Self {
        let wants_folds = self.data.n_rows() >= LEAST_CUT;
        Self { wants_folds, ..self }
    }

    /// Length scale and variance of the kernel, once they are known.
    pub fn kernel(&self) -> Option<[f64; 2]> {
        self.known.kernel
    }

    /// Forgets what was done with active sets and after them.
    fn begin_anew(&mut self) {
        self.is_set_done = self.rows.is_trained().iter().map(|is_trained| !is_trained).collect();
        self.found = vec![None; self.rows.n_classes];
        self.sets.clear();
        self.last = match self.params.refit {
            true => Last::Regression(None),
            false if self.is_hurried || !self.has_folds() => Last::Done(None),
            false => Last::Folds(Vec::new()),
        };
    }

    fn job(&self, place: usize) -> Job {
        let (first, n) = (self.lanes + 1, self.rows.n_classes);
        match place {
            lane if lane < self.lanes => Job::Search(lane),
            place if place + 1 == first => Job::ClassKernels,
            place if place < first + n => Job::ActiveSet(place - first),
            _ => Job::Last,
        }
    }

    /// The kernels of all classes.
    fn kernels(&self) -> Vec<[f64; 2]> {
        let mut kernels = self.known.class_kernels.clone();
        kernels.resize(self.rows.n_classes, self.known.kernel.unwrap_or([1.0, 1.0]));
        kernels
    }
}

/// Does work within the budget, or, in a hurry, whatever the budget. Also tells whether it was interrupted: what was being done then is good for
/// nothing, errors included.
fn limited<T>(
    is_hurried: bool,
    training: &Training<'_>,
    work: impl FnOnce(&Training<'_>) -> Result<T>,
) -> (Result<T>, bool) {
    let (par, open) = (training.par.until(&training.budget.stop), Budget::open());
    let until = if is_hurried {
        Training { budget: &open, ..*training }
    } else {
        Training { par: &par, ..*training }
    };
    let done = work(&until);
    (done, until.par.is_stopped())
}

impl TrainingRun for IvmRun {
    type Model = IvmClassifier;

    fn jobs(&self) -> Vec<JobStatus> {
        let open = self.open_trials();
        let is_kernel_known = self.known.kernel.is_some();
        let are_sets_done = self.are_sets_done();
        let status = |place: usize| {
            let is_dropped = self.is_dropped[place];
            let mut job = match self.job(place) {
                Job::Search(lane) => self.search_status(lane, &open),
                Job::ClassKernels => self.class_kernels_status(),
                Job::ActiveSet(class) => self.set_status(class, is_kernel_known && self.has_class_kernels),
                Job::Last => self.last_status(are_sets_done && is_kernel_known),
            };
            if is_dropped && job.state == JobState::Ready {
                job.state = JobState::Done;
            }
            job
        };
        (0..self.is_dropped.len()).map(status).collect()
    }

    fn begin(&mut self, jobs: &[usize], effort: Effort) -> Step {
        match jobs.first().map(|&place| self.job(place)) {
            Some(Job::Search(_)) => self.begin_search(jobs, effort),
            Some(Job::ClassKernels) => self.begin_class_kernels(),
            Some(Job::ActiveSet(_)) => self.begin_sets(jobs, effort),
            Some(Job::Last) => match &self.last {
                Last::Regression(_) => self.begin_regression(effort),
                Last::Folds(tables) => self.begin_folds(tables.len(), effort),
                Last::Done(_) => Step::nothing::<Self>(),
            },
            None => Step::nothing::<Self>(),
        }
    }

    fn drop_job(&mut self, job: usize) {
        if let Some(is_dropped) = self.is_dropped.get_mut(job) {
            *is_dropped = true;
        }
        self.settle_kernel();
    }

    fn has_model(&self) -> bool {
        let mut wanted = self.rows.is_trained().into_iter().zip(&self.found).filter(|(is, _)| *is);
        self.known.kernel.is_some() && wanted.all(|(_, found)| found.is_some())
    }

    fn model(&self) -> Option<ModelTask<IvmClassifier>> {
        let make = self.outcome()?;
        let (data, params, preparation) = (self.data.clone(), self.params.clone(), self.preparation.clone());
        Some(ModelTask::new(move |training| {
            let Outcome { learnt, gains, ratings, validation } = make(training)?;
            let mut online = OnlineState::new(RetainedRows::unweighted(&data), gains, &params);
            online.forget(&params, &ratings);
            let model = IvmClassifier {
                n_classes: data.schema.n_classes(),
                preparation,
                learnt: Some(learnt),
                online: Some(online),
                params,
            };
            Ok(Candidate::new(model, Some(validation)))
        }))
    }

    fn hurry(&mut self, reason: StopReason) {
        self.finish_soon(reason == StopReason::Interrupted);
    }
}
