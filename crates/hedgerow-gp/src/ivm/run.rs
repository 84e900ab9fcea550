//! The training run of an IVM classifier: a kernel, active sets of all classes, then scores fitted to all rows.
//!
//! ```text
//! search (a few kernels at a time) -> class kernels -> active set of each class -> regression, or folds
//! ```
//!
//! Each arrow is a wait for all jobs before it. Without a regression the posterior of each class predicts; folds then give the
//! out-of-sample scores that calibrate it.

use std::sync::Arc;
use std::time::Instant;

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{
    Budget, Candidate, Checked, Dataset, Delta, Effort, Folds, JobState, JobStatus, ModelTask, OutOfSample,
    Progress, Result, Source, Step, StopReason, Task, Training, TrainingRun,
};
use ndarray::Array2;

use super::class_kernels;
use super::classifier::{IvmClassifier, check_room};
use super::kernel_search::{KernelSearch, half_of_time};
use super::learnt::{Learnt, Outcome, Scores};
use super::one_vs_rest::{ActiveSet, OneVsRest, bytes_needed, fold_scores};
use super::retained::RetainedRows;
use super::rows::{TrainingRows, union};
use super::{IvmOptions, IvmParams};
use crate::prepare::Preparation;
use crate::refit::{Freedom, RIDGES, RegressionSearch};

/// Active rows that a slice adds.
const SLICE: usize = 16;
/// Folds that score the posterior where there is no regression.
const FOLDS: usize = 4;
/// Fewest rows that are cut into folds.
const LEAST_CUT: usize = 100;
/// Rows of a model that must be made at once, when the time is up and when it is interrupted; and active rows of a class in it.
const ROWS_IN_HURRY: [usize; 2] = [2000, 400];
const ACTIVE_IN_HURRY: usize = 50;

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
    tried: Vec<Option<f64>>,
    has_class_kernels: bool,
    /// The training of each class; none while a step has it, for a class without one, and when it is done.
    sets: Vec<Option<ActiveSet>>,
    is_set_done: Vec<bool>,
    found: Vec<Option<Arc<OneVsRest>>>,
    last: Last,
    is_dropped: Vec<bool>,
}

/// The last stage.
enum Last {
    /// A regression, which a step may have at the moment.
    Regression(Option<Box<RegressionSearch>>),
    /// The out-of-fold scores so far, fold by fold.
    Folds(Vec<Array2<f64>>),
    Done(Option<Box<RegressionSearch>>),
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
    /// Prepares columns. `lanes` kernels may be tried side by side. Row weights are not used.
    pub fn new(
        data: &Dataset,
        params: &Checked<IvmParams>,
        lanes: usize,
        training: &Training<'_>,
    ) -> Result<Self> {
        data.check_trainable(Task::Classification)?;
        let params = params.get().clone();
        check_room(data, &params, training)?;
        let preparation = Preparation::until(&training.budget.stop, &data.schema, &data.features);
        Ok(Self::on_prepared(data, params, preparation, Known::default(), lanes, training))
    }

    /// The same for rows of the same columns with the kernel of an earlier classifier, if it has one.
    pub fn after(
        earlier: &IvmClassifier,
        data: &Dataset,
        params: &Checked<IvmParams>,
        lanes: usize,
        training: &Training<'_>,
    ) -> Result<Self> {
        let Some(learnt) = &earlier.learnt else { return Self::new(data, params, lanes, training) };
        data.check_trainable(Task::Classification)?;
        check_room(data, params.get(), training)?;
        let known =
            Known { kernel: Some(learnt.kernel), class_kernels: learnt.class_kernels.clone(), refit: None };
        let preparation = earlier.preparation.clone();
        Ok(Self::on_prepared(data, params.get().clone(), preparation, known, lanes, training))
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
            options: params.options(),
            noise: params.noise_variance,
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
            search_end: half_of_time(training.budget).deadline,
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
            false if self.is_hurried || self.rows.n_rows() < LEAST_CUT => Last::Done(None),
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

    /// Kernels that have not been tried, by their places.
    fn open_trials(&self) -> Vec<usize> {
        let Some(search) = self.search.as_ref().filter(|_| self.known.kernel.is_none()) else {
            return Vec::new();
        };
        let is_open =
            |at: &usize| self.tried.get(*at).is_none_or(Option::is_none) && !self.is_dropped[at % self.lanes];
        (0..search.kernels(&self.tried).len()).filter(is_open).collect()
    }

    /// Settles the kernel when nothing is left to try.
    fn settle_kernel(&mut self) {
        let Some(search) = &self.search else { return };
        if self.known.kernel.is_none() && (search.is_done(&self.tried) || self.open_trials().is_empty()) {
            self.known.kernel = Some(search.best(&self.tried));
            self.search = None;
            self.make_sets();
        }
    }

    fn make_sets(&mut self) {
        let kernels = self.kernels();
        let set = |class: usize| (!self.is_set_done[class]).then(|| ActiveSet::new(class, kernels[class]));
        self.sets = (0..kernels.len()).map(set).collect();
    }

    fn are_sets_done(&self) -> bool {
        let first = self.lanes + 1;
        (0..self.is_set_done.len()).all(|class| self.is_set_done[class] || self.is_dropped[first + class])
    }

    /// What may be tried for the regression, and where it begins.
    fn freedom(&self) -> (f64, Vec<f64>, Freedom) {
        let kernel = self.known.kernel.unwrap_or([1.0, 1.0]);
        if let Some((length, ridge)) = self.known.refit {
            return (length, vec![ridge], Freedom { wants_folds: self.wants_folds, ..Freedom::default() });
        }
        let n_trained = self.rows.is_trained().iter().filter(|is_trained| **is_trained).count();
        let freedom = if self.is_hurried {
            Freedom::default()
        } else {
            let n_rows = n_trained * self.rows.options.n_active;
            let may_move = self.params.length_scale == 0.0;
            Freedom { n_rows, may_move, wants_folds: self.wants_folds }
        };
        (kernel[0], RIDGES.to_vec(), freedom)
    }

    fn begin_search(&self, jobs: &[usize], effort: Effort) -> Step {
        let open = self.open_trials();
        let mine = |lane: usize| open.iter().copied().find(|at| at % self.lanes == lane);
        let chosen: Vec<usize> = match effort {
            Effort::Whole => open.clone(),
            Effort::Slice => jobs.iter().filter_map(|&lane| mine(lane)).collect(),
        };
        let Some(search) = self.search.clone() else { return nothing() };
        let all = search.kernels(&self.tried);
        let kernels: Vec<[f64; 2]> = chosen.iter().map(|&at| all[at]).collect();
        let (end, n_before, total) = (self.search_end, self.tried.iter().flatten().count(), all.len());
        Step::new(move |training: &Training<'_>| {
            let budget = Budget { deadline: end, ..training.budget.clone() };
            let done = std::sync::atomic::AtomicUsize::new(n_before);
            let alone = training.par.until(&budget.stop).alone();
            let one = Training { par: &alone, budget: &budget, observer: training.observer };
            let values = training.par.map(kernels.len(), |i| {
                let value = search.objective(kernels[i], &one);
                let done = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
                training.observer.progress(Progress { done, total: Some(total), accuracy: None });
                value
            });
            move |run: &mut Self| {
                for (at, value) in chosen.into_iter().zip(values) {
                    if run.tried.len() <= at {
                        run.tried.resize(at + 1, None);
                    }
                    match value? {
                        Some(value) => run.tried[at] = Some(value),
                        // The time of the search is over.
                        None => run.is_dropped[..run.lanes].fill(true),
                    }
                }
                run.settle_kernel();
                Ok(())
            }
        })
    }

    fn begin_class_kernels(&self) -> Step {
        let (rows, params) = (Arc::clone(&self.rows), self.params.clone());
        let (Some(kernel), end) = (self.known.kernel, self.search_end) else { return nothing() };
        Step::new(move |training: &Training<'_>| {
            let budget = Budget { deadline: end, ..training.budget.clone() };
            let found =
                class_kernels::find(&rows, &params, kernel, &Training { budget: &budget, ..*training });
            move |run: &mut Self| {
                run.has_class_kernels = true;
                run.known.class_kernels = found?;
                run.make_sets();
                Ok(())
            }
        })
    }

    fn begin_sets(&mut self, jobs: &[usize], effort: Effort) -> Step {
        let first = self.lanes + 1;
        let mut sets: Vec<(usize, ActiveSet)> = Vec::new();
        for class in jobs.iter().map(|job| job - first) {
            sets.extend(self.sets[class].take().map(|set| (class, set)));
        }
        let (rows, kernels, is_hurried) = (Arc::clone(&self.rows), self.kernels(), self.is_hurried);
        Step::new(move |training: &Training<'_>| {
            let (par, open) = (training.par.until(&training.budget.stop), Budget::open());
            let until = if is_hurried {
                Training { budget: &open, ..*training }
            } else {
                Training { par: &par, ..*training }
            };
            let made = if effort == Effort::Whole && sets.iter().all(|(_, set)| set.n_active() == 0) {
                let classes: Vec<usize> = sets.iter().map(|(class, _)| *class).collect();
                let found = rows.train_each(&classes, &kernels, &until);
                found.map(|all| all.into_iter().map(|one| (one, None)).collect())
            } else {
                let mut slice = |(_, mut set): (usize, ActiveSet)| loop {
                    let one = set.slice(&rows, SLICE, until.par)?;
                    if effort == Effort::Slice || set.is_done || until.budget.spent().is_some() {
                        let rest = (!set.is_done).then_some(set);
                        return Ok((one, rest));
                    }
                };
                sets.into_iter().map(&mut slice).collect::<Result<Vec<_>>>()
            };
            // What was being done when the switch was thrown is good for nothing, errors included.
            let is_lost = until.par.is_stopped();
            move |run: &mut Self| {
                if is_lost {
                    return Ok(());
                }
                for (one, rest) in made? {
                    let class = one.class;
                    run.is_set_done[class] = rest.is_none();
                    run.sets[class] = rest;
                    run.found[class] = Some(Arc::new(one));
                }
                Ok(())
            }
        })
    }

    fn begin_regression(&mut self, effort: Effort) -> Step {
        let Last::Regression(search) = &mut self.last else { return nothing() };
        let search = search.take();
        let rows = Arc::clone(&self.rows);
        let (length, ridges, freedom) = self.freedom();
        let (start, is_hurried) = (union(&self.found), self.is_hurried);
        Step::new(move |training: &Training<'_>| {
            let (par, open) = (training.par.until(&training.budget.stop), Budget::open());
            let until = if is_hurried {
                Training { budget: &open, ..*training }
            } else {
                Training { par: &par, ..*training }
            };
            let fitter = rows.fitter(&until);
            let mut search = search
                .unwrap_or_else(|| Box::new(RegressionSearch::new(&fitter, start, length, &ridges, freedom)));
            let mut advance = || {
                search.advance(&fitter)?;
                while effort == Effort::Whole && !search.is_done() && !par.is_stopped() {
                    search.advance(&fitter)?;
                }
                Ok(())
            };
            let outcome: Result<()> = advance();
            let is_lost = until.par.is_stopped();
            move |run: &mut Self| {
                if is_lost {
                    run.last = Last::Done(None);
                    return Ok(());
                }
                outcome?;
                let is_done = search.is_done();
                let search = Some(search);
                run.last = if is_done { Last::Done(search) } else { Last::Regression(search) };
                Ok(())
            }
        })
    }

    fn begin_folds(&self, n_done: usize, effort: Effort) -> Step {
        let (rows, kernels) = (Arc::clone(&self.rows), self.kernels());
        let folds = self.folds();
        let n = if effort == Effort::Whole { FOLDS - n_done } else { 1 };
        Step::new(move |training: &Training<'_>| {
            let par = training.par.until(&training.budget.stop);
            let until = Training { par: &par, ..*training };
            let tables: Result<Vec<Array2<f64>>> = (n_done..n_done + n)
                .map(|fold| fold_scores(&rows, &kernels, &folds.cut(fold), &until))
                .collect();
            let is_lost = training.budget.spent().is_some();
            move |run: &mut Self| {
                if is_lost {
                    run.last = Last::Done(None);
                } else if let Last::Folds(found) = &mut run.last {
                    found.extend(tables?);
                }
                Ok(())
            }
        })
    }

    fn folds(&self) -> Folds {
        Folds::new(self.rows.n_rows(), FOLDS, Rng::new(self.params.seed, Purpose::Validation, 4))
    }

    /// Out-of-fold scores of the posterior, once all folds are done.
    fn fold_scores(&self) -> Option<OutOfSample> {
        let Last::Folds(tables) = &self.last else { return None };
        if tables.len() < FOLDS {
            return None;
        }
        let (folds, n) = (self.folds(), self.rows.n_rows());
        let mut values = Array2::zeros((n, self.rows.n_classes));
        for (fold, table) in tables.iter().enumerate() {
            let [_, left] = folds.cut(fold);
            left.iter().zip(table.rows()).for_each(|(&row, from)| values.row_mut(row).assign(&from));
        }
        let (rows, labels) = ((0..n).collect(), self.rows.labels.clone());
        Some(OutOfSample { source: Source::OutOfFold, rows, values, labels })
    }

    /// The making of what has been learnt so far; none before every class has begun.
    pub(super) fn outcome(&self) -> Option<impl FnOnce(&Training<'_>) -> Result<Outcome> + Send + use<>> {
        if !self.has_model() {
            return None;
        }
        let kernel = self.known.kernel?;
        let (rows, found) = (Arc::clone(&self.rows), self.found.clone());
        let (class_kernels, origin) = (self.known.class_kernels.clone(), self.origin.clone());
        let (folds, n) = (self.fold_scores(), self.data.n_rows());
        let regression = match &self.last {
            Last::Regression(Some(search)) | Last::Done(Some(search)) => search.best(),
            _ => None,
        };
        Some(move |training: &Training<'_>| {
            // A model is made whatever the budget.
            let open = Training { budget: &Budget::open(), ..*training };
            let scores = match regression {
                Some(best) => Scores::Regression(Box::new(best(&rows.fitter(&open))?)),
                None => Scores::Posterior(folds.unwrap_or_else(|| rows.inactive_scores(&found))),
            };
            let mut made = Learnt::assemble(&rows, kernel, &class_kernels, &found, scores, &open)?;
            if let Some(origin) = origin {
                let mut gains = vec![0.0; n];
                origin.iter().zip(&made.gains).for_each(|(&row, gain)| gains[row] = *gain);
                made.gains = gains;
                made.validation.rows.iter_mut().for_each(|row| *row = origin[*row]);
            }
            Ok(made)
        })
    }
}

fn nothing() -> Step {
    Step::new(|_: &Training<'_>| |_: &mut IvmRun| Ok(()))
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
                Job::Search(lane) => {
                    let is_open = open.iter().any(|at| at % self.lanes == lane);
                    let own = self.tried.iter().enumerate().filter(|(at, _)| at % self.lanes == lane);
                    JobStatus {
                        kind: "kernel search",
                        name: format!("{}", lane + 1),
                        state: if is_open { JobState::Ready } else { JobState::Done },
                        points: own.filter(|(_, value)| value.is_some()).count(),
                        bytes: self.search.as_ref().map_or(0, |search| search.bytes() as u64),
                        priority: 1,
                        ..JobStatus::default()
                    }
                }
                Job::ClassKernels => JobStatus {
                    kind: "class kernels",
                    state: match (self.has_class_kernels, is_kernel_known) {
                        (true, _) => JobState::Done,
                        (false, true) => JobState::Ready,
                        (false, false) => JobState::Waiting,
                    },
                    priority: 1,
                    ..JobStatus::default()
                },
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
                Last::Done(_) => nothing(),
            },
            None => nothing(),
        }
    }

    fn merge(&mut self, delta: Delta) -> Result<()> {
        delta.apply(self)
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
            let Outcome { learnt, gains, validation } = make(training)?;
            let retained = RetainedRows::of(&data, gains, params.pool_rows(), params.seed);
            let model = IvmClassifier {
                n_classes: data.schema.n_classes(),
                preparation,
                learnt: Some(learnt),
                retained: Some(retained),
                params,
            };
            Ok(Candidate::new(model, Some(validation)))
        }))
    }

    fn hurry(&mut self, reason: StopReason) {
        self.is_hurried = true;
        self.is_dropped[..self.lanes].fill(true);
        self.has_class_kernels = true;
        self.settle_kernel();
        let is_interrupted = reason == StopReason::Interrupted;
        if self.has_model() {
            // Active sets stay as they are. If there is time for nothing else, the posterior predicts.
            self.is_set_done.fill(true);
            let keeps = matches!(&self.last, Last::Regression(Some(_)));
            if is_interrupted || keeps || matches!(self.last, Last::Folds(_)) {
                self.last = match std::mem::replace(&mut self.last, Last::Done(None)) {
                    Last::Regression(search) | Last::Done(search) => Last::Done(search),
                    Last::Folds(_) => Last::Done(None),
                };
            }
            return;
        }
        let n = self.rows.n_rows();
        let rows: Vec<usize> =
            (0..n).step_by(n.div_ceil(ROWS_IN_HURRY[usize::from(is_interrupted)]).max(1)).collect();
        let most = ACTIVE_IN_HURRY.min(rows.len() / (2 * self.rows.n_classes.max(1))).max(1);
        let options =
            IvmOptions { n_active: self.rows.options.n_active.min(most), ..self.rows.options.clone() };
        // Rows may not have been prepared to the end.
        let x = self
            .preparation
            .map_all_narrow(&self.data.features.select(&rows), &hedgerow_core::Par::sequential());
        self.rows = Arc::new(TrainingRows { x, ..self.rows.select(&rows, options) });
        self.origin = Some(rows);
        self.known.class_kernels.clear();
        self.begin_anew();
        self.make_sets();
    }
}

impl IvmRun {
    fn set_status(&self, class: usize, is_open: bool) -> JobStatus {
        let name = self.data.schema.labels.names().get(class).cloned().unwrap_or_default();
        let found = self.found[class].as_ref();
        let n_active = self.rows.options.n_active;
        JobStatus {
            kind: "active set",
            name,
            state: match (self.is_set_done[class], is_open) {
                (true, _) => JobState::Done,
                (false, true) => JobState::Ready,
                (false, false) => JobState::Waiting,
            },
            accuracy: found.map(|one| one.accuracy(&self.rows)),
            points: found.map_or(0, |one| one.active.len()),
            goal: n_active.min(self.rows.n_rows()),
            bytes: found.map_or(0, |_| bytes_needed(self.rows.n_rows(), n_active)),
            ..JobStatus::default()
        }
    }

    fn last_status(&self, is_open: bool) -> JobStatus {
        let (kind, points, goal, is_done) = match &self.last {
            Last::Regression(search) => {
                ("regression", search.as_ref().map_or(0, |search| search.n_tried), 0, false)
            }
            Last::Folds(tables) => ("folds", tables.len(), FOLDS, tables.len() == FOLDS),
            Last::Done(search) => {
                let n = search.as_ref().map_or(0, |search| search.n_tried);
                (if self.params.refit { "regression" } else { "folds" }, n, n, true)
            }
        };
        let state = match (is_done, is_open) {
            (true, _) => JobState::Done,
            (false, true) => JobState::Ready,
            (false, false) => JobState::Waiting,
        };
        JobStatus { kind, state, points, goal, ..JobStatus::default() }
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::testing::blobs;
    use hedgerow_core::{Classifier as _, Par, Params as _, Silent};

    use super::super::{SearchKind, SecondPass};
    use super::*;

    /// A slice for each ready job in turn, the last job first.
    fn in_slices(run: &mut IvmRun, training: &Training<'_>) {
        loop {
            let jobs = run.jobs();
            let ready = |place: &usize| jobs[*place].state == JobState::Ready;
            let Some(job) = (0..jobs.len()).rev().find(ready) else { return };
            let step = run.begin(&[job], Effort::Slice);
            run.merge(step.run(training)).unwrap();
        }
    }

    #[test]
    fn slices_give_the_classifier_of_a_fit() {
        let data = blobs(600, 3, 3, 5);
        let (par, budget) = (Par::sequential(), Budget::open());
        let training = Training { par: &par, budget: &budget, observer: &Silent };
        let base = IvmParams { n_active: 20, length_scale: 0.8, signal_variance: 9.0, ..Default::default() };
        let each = [
            IvmParams { length_scale: 0.0, ..base.clone() },
            IvmParams { search: SearchKind::Cma, n_trials: 12, length_scale: 0.0, ..base.clone() },
            IvmParams { refit: false, balance: true, ..base.clone() },
            IvmParams { refit: false, second_pass: SecondPass::Ep, ..base.clone() },
            IvmParams { class_kernels: true, length_scale: 0.0, ..base },
        ];
        for params in each {
            let checked = params.clone().check().unwrap();
            let fitted = IvmClassifier::fit(&data, &checked, &training).unwrap();
            let mut run = IvmRun::new(&data, &checked, 3, &training).unwrap();
            assert!(run.model().is_none() && !run.has_model());
            in_slices(&mut run, &training);
            assert_eq!(run.kernel(), Some(fitted.kernel), "{params:?}");
            let made = run.model().unwrap().run(&training).unwrap();
            let x = data.features.to_array(0..600);
            let [a, b] = [&made.model, &fitted.classifier].map(|m| m.predict_proba(x.view(), &par).unwrap());
            let worst = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(worst < 1e-6, "{worst} {params:?}");
            let quality = made.validation.unwrap().quality();
            assert!(quality.accuracy > 0.9, "{quality:?}");
        }
    }

    #[test]
    fn classes_are_jobs_and_one_that_is_dropped_stays_unknown() {
        let data = blobs(400, 3, 3, 1);
        let training = Training { par: &Par::sequential(), budget: &Budget::open(), observer: &Silent };
        let params =
            IvmParams { n_active: 30, length_scale: 1.0, signal_variance: 8.0, ..Default::default() };
        let mut run = IvmRun::new(&data, &params.check().unwrap(), 1, &training).unwrap();
        let sets: Vec<usize> =
            (0..run.jobs().len()).filter(|job| run.jobs()[*job].kind == "active set").collect();
        assert_eq!(sets.len(), 3);
        let step = run.begin(&sets[..1], Effort::Slice);
        run.merge(step.run(&training)).unwrap();
        assert_eq!(run.jobs()[sets[0]].points, SLICE.min(8), "the first slice looks ahead by a few");
        run.drop_job(sets[1]);
        in_slices(&mut run, &training);
        assert!(!run.has_model(), "a class has no classifier");
        assert_eq!((run.jobs()[sets[0]].points, run.jobs()[sets[1]].points), (30, 0));
    }

    #[test]
    fn out_of_fold_validation_is_there_where_it_is_wanted() {
        let data = blobs(400, 3, 2, 1);
        let training = Training { par: &Par::sequential(), budget: &Budget::open(), observer: &Silent };
        let params =
            IvmParams { n_active: 30, length_scale: 1.0, signal_variance: 8.0, ..Default::default() };
        for (refit, wants, source) in [
            (true, false, Source::LeaveOneOut),
            (true, true, Source::OutOfFold),
            (false, false, Source::OutOfFold),
        ] {
            let params = IvmParams { refit, ..params.clone() }.check().unwrap();
            let run = IvmRun::new(&data, &params, 1, &training).unwrap();
            let run = if wants { run.with_folds() } else { run };
            let fitted = super::super::FittedIvm::of(run, &training).unwrap();
            assert_eq!(fitted.validation.source, source);
        }
    }
}
