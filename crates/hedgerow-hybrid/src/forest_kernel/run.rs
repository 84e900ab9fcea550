//! The training run of a GP with the kernel of a forest.
//!
//! ```text
//! trees -> calibration of the forest -> gp
//! folds ------------------------------^
//! ```
//!
//! Each arrow is a wait. A forest that grows without end is not waited for: the GP is trained once there are enough trees, and again whenever they have
//! doubled. Until there is a GP the forest predicts alone.

use std::sync::Arc;
use std::time::Instant;

use hedgerow_core::{
    Budget, Candidate, Checked, Dataset, Effort, Error, JobState, JobStatus, ModelTask, OutOfSample,
    Params as _, Result, Step, StopReason, Task, Training, TrainingRun,
};
use hedgerow_forest::{Forest, ForestModel, ForestRun};

use super::limits::{bytes_needed, draw_rows, half, most_rows};
use super::online::OnlineState;
use super::scores::LeafScores;
use super::training::KernelTraining;
use super::validation::{FOLDS, FoldTraining, Validated};
use super::{ForestKernelClassifier, ForestKernelParams};

/// Trees that a GP is trained on, at least, while the forest grows without end.
pub(super) const ENOUGH_TREES: usize = 30;

/// The jobs after those of the forest.
const CALIBRATION: usize = 0;
const FOLDS_JOB: usize = 1;
const GP: usize = 2;

/// A GP with the kernel of a forest in training.
pub struct ForestKernelRun {
    data: Dataset,
    /// The rows that folds and GP are trained on, and their places among the data; none if they are all.
    rows: Dataset,
    origin: Option<Vec<usize>>,
    params: ForestKernelParams,
    lanes: usize,
    /// When the forest must be done.
    forest_end: Option<Instant>,
    forest: ForestState,
    /// The folds, unless a step has them.
    folds: Option<FoldTraining>,
    fold_progress: [usize; 2],
    validated: Option<Arc<Validated>>,
    /// The GP in training, unless a step has it.
    gp: Option<GpTraining>,
    trained: Option<Arc<TrainedGp>>,
    /// Which of the jobs after those of the forest will do no more.
    is_closed: [bool; 3],
}

enum ForestState {
    Growing(Box<ForestRun>),
    /// All trees are there, and calibrated by their out-of-bag predictions.
    Calibrated {
        forest: Arc<Forest>,
        validation: Option<OutOfSample>,
        jobs: Vec<JobStatus>,
        stop: StopReason,
    },
}

struct GpTraining {
    forest: Arc<Forest>,
    kernel: KernelTraining,
}

/// A GP and the forest it belongs to.
#[derive(Clone)]
struct TrainedGp {
    forest: Arc<Forest>,
    scores: LeafScores,
}

impl ForestKernelRun {
    /// Makes rows ready. `lanes` trees may be grown side by side. Row weights count in the forest, not in the GP.
    pub fn new(
        data: &Dataset,
        params: &Checked<ForestKernelParams>,
        lanes: usize,
        training: &Training<'_>,
    ) -> Result<Self> {
        data.check_trainable(Task::Classification)?;
        let params = params.get().clone();
        let most = most_rows(&params, &data.schema, training.budget)?;
        let origin = draw_rows(data.n_rows(), most, params.seed);
        let budget = half(training.budget);
        let of_forest = Training { budget: &budget, ..*training };
        let forest = ForestRun::new(data, &params.forest_params().check()?, lanes, &of_forest)?;
        Ok(Self {
            rows: origin.as_ref().map_or_else(|| data.clone(), |rows| data.select(rows)),
            data: data.clone(),
            origin,
            params,
            lanes: lanes.max(1),
            forest_end: budget.deadline,
            forest: ForestState::Growing(Box::new(forest)),
            folds: None,
            fold_progress: [0, FOLDS],
            validated: None,
            gp: None,
            trained: None,
            is_closed: [false; 3],
        })
    }

    fn calibration_state(&self) -> JobState {
        let ForestState::Growing(run) = &self.forest else { return JobState::Done };
        let is_grown = run.jobs().iter().all(|job| job.state == JobState::Done);
        JobState::new(self.is_closed[CALIBRATION] || (is_grown && !run.has_model()), is_grown)
    }

    fn gp_state(&self) -> JobState {
        let n_trained = self.trained.as_ref().map_or(0, |gp| gp.forest.trees().len());
        let is_due = match &self.forest {
            ForestState::Calibrated { forest, .. } => forest.trees().len() != n_trained,
            ForestState::Growing(run) => {
                self.params.forest.n_trees == 0 && run.n_trees() >= ENOUGH_TREES.max(2 * n_trained)
            }
        };
        match (self.is_closed[GP], &self.validated) {
            (true, _) => JobState::Done,
            (_, None) if self.is_closed[FOLDS_JOB] => JobState::Done,
            (_, None) => JobState::Waiting,
            _ if is_due || self.gp.is_some() => JobState::Ready,
            _ if self.calibration_state() == JobState::Done => JobState::Done,
            _ => JobState::Waiting,
        }
    }

    /// The making of the forest as it is now.
    fn forest_task(&self) -> Option<ModelTask<Arc<Forest>>> {
        match &self.forest {
            ForestState::Growing(run) => {
                run.model().map(|task| task.map(|model| Arc::new(model.into_forest())))
            }
            ForestState::Calibrated { forest, validation, .. } => {
                let made = Candidate::new(Arc::clone(forest), validation.clone());
                Some(ModelTask::new(move |_| Ok(made)))
            }
        }
    }

    fn begin_trees(&mut self, jobs: &[usize], effort: Effort) -> Step {
        let ForestState::Growing(run) = &mut self.forest else { return Step::nothing::<Self>() };
        let (step, end) = (run.begin(jobs, effort), self.forest_end);
        Step::new(move |training: &Training<'_>| {
            let budget = Budget { deadline: end.or(training.budget.deadline), ..training.budget.clone() };
            let delta = step.run(&Training { budget: &budget, ..*training });
            move |run: &mut Self| match &mut run.forest {
                ForestState::Growing(forest) => forest.merge(delta),
                ForestState::Calibrated { .. } => Ok(()),
            }
        })
    }

    fn begin_calibration(&self) -> Step {
        let Some(task) = self.forest_task() else { return Step::nothing::<Self>() };
        Step::new(move |training: &Training<'_>| {
            let made = task.run(training);
            move |run: &mut Self| {
                let Candidate { model: forest, validation, .. } = made?;
                let (jobs, stop) = (run.forest_jobs(), run.stop());
                // Prepared rows and the single trees are not needed any more.
                run.forest = ForestState::Calibrated { forest, validation, jobs, stop };
                Ok(())
            }
        })
    }

    fn begin_folds(&mut self, effort: Effort) -> Step {
        let (begun, origin) = (self.folds.take(), self.origin.clone());
        let (rows, params) = (self.rows.clone(), self.params.clone());
        Step::new(move |training: &Training<'_>| {
            let mut folds = begun.unwrap_or_else(|| FoldTraining::new(&rows, &params, training.budget));
            let outcome = folds.train(effort, training);
            let (progress, is_done) = (folds.progress(), folds.is_done());
            let (rest, mut validated) =
                if is_done { (None, folds.choose(training.par)) } else { (Some(folds), None) };
            if let (Some(validated), Some(origin)) = (&mut validated, origin) {
                validated.predictions.renumber(|row| origin[row]);
            }
            move |run: &mut Self| {
                unless_interrupted(outcome)?;
                (run.folds, run.fold_progress) = (rest, progress);
                run.is_closed[FOLDS_JOB] |= is_done;
                run.validated = validated.map(Arc::new);
                Ok(())
            }
        })
    }

    fn begin_gp(&mut self, effort: Effort) -> Step {
        let (Some(validated), Some(task)) = (&self.validated, self.forest_task()) else {
            return Step::nothing::<Self>();
        };
        let (noise, begun) = (validated.choice.noise, self.gp.take());
        let (rows, params) = (self.rows.clone(), self.params.clone());
        Step::new(move |training: &Training<'_>| {
            let par = training.par.until(&training.budget.stop);
            let training = Training { par: &par, ..*training };
            let begin = || {
                let forest = task.run(&training)?.model;
                let kernel = KernelTraining::new(&forest, &rows, &params, &[noise], &training)?;
                Ok(GpTraining { forest, kernel })
            };
            let begun = begun.map_or_else(begin, Ok);
            let made = begun.map(|mut gp| {
                let outcome = gp.kernel.train(effort, &training);
                (gp, outcome)
            });
            move |run: &mut Self| {
                let (mut gp, outcome) = match made {
                    Err(Error::Interrupted) => return Ok(()),
                    made => made?,
                };
                unless_interrupted(outcome)?;
                if gp.kernel.is_done() {
                    let scores = gp.kernel.found.pop();
                    run.trained = scores.map(|scores| Arc::new(TrainedGp { forest: gp.forest, scores }));
                } else {
                    run.gp = Some(gp);
                }
                Ok(())
            }
        })
    }

    fn forest_jobs(&self) -> Vec<JobStatus> {
        match &self.forest {
            ForestState::Growing(run) => run.jobs(),
            ForestState::Calibrated { jobs, .. } => jobs.clone(),
        }
    }
}

impl TrainingRun for ForestKernelRun {
    type Model = ForestKernelClassifier;

    fn jobs(&self) -> Vec<JobStatus> {
        let mut jobs = self.forest_jobs();
        let state = self.calibration_state();
        jobs.push(JobStatus { kind: "calibration", state, ..JobStatus::default() });
        let accuracy = self.validated.as_ref().map(|found| found.predictions.accuracy(None));
        let [points, goal] = self.fold_progress;
        let state = if self.is_closed[FOLDS_JOB] { JobState::Done } else { JobState::Ready };
        jobs.push(JobStatus { kind: "folds", state, accuracy, points, goal, ..JobStatus::default() });
        let trained = self.trained.as_ref();
        let of_trained = trained.map_or(0, |gp| gp.forest.bytes() + gp.scores.bytes()) as u64;
        let [of_row, fixed] = bytes_needed(&self.params, &self.rows.schema);
        let of_training = of_row * self.rows.n_rows() as u64 + fixed;
        jobs.push(JobStatus {
            kind: "gp",
            state: self.gp_state(),
            accuracy: accuracy.filter(|_| trained.is_some()),
            points: trained.map_or(0, |gp| gp.scores.n_rows),
            goal: self.rows.n_rows(),
            bytes: of_trained + if self.gp.is_some() { of_training } else { 0 },
            ..JobStatus::default()
        });
        jobs
    }

    fn begin(&mut self, jobs: &[usize], effort: Effort) -> Step {
        match jobs.first().map(|&job| job.checked_sub(self.lanes)) {
            Some(None) => self.begin_trees(jobs, effort),
            Some(Some(CALIBRATION)) => self.begin_calibration(),
            Some(Some(FOLDS_JOB)) => self.begin_folds(effort),
            _ => self.begin_gp(effort),
        }
    }

    fn drop_job(&mut self, job: usize) {
        if let Some(own) = job.checked_sub(self.lanes) {
            self.is_closed.get_mut(own).into_iter().for_each(|is_closed| *is_closed = true);
        } else if let ForestState::Growing(run) = &mut self.forest {
            run.drop_job(job);
        }
    }

    fn has_model(&self) -> bool {
        match &self.forest {
            ForestState::Growing(run) => run.has_model(),
            ForestState::Calibrated { .. } => true,
        }
    }

    fn model(&self) -> Option<ModelTask<ForestKernelClassifier>> {
        let (data, params, validated) = (self.data.clone(), self.params.clone(), self.validated.clone());
        let (choice, validation) =
            validated.map(|found| (found.choice.clone(), found.predictions.clone())).unzip();
        let task = match self.trained.clone() {
            Some(gp) => ModelTask::new(move |_| {
                let TrainedGp { forest, scores } = Arc::unwrap_or_clone(gp);
                Ok(Candidate::new((forest, Some(scores)), validation))
            }),
            None => self.forest_task()?.map(|forest| (forest, None)),
        };
        Some(task.map(move |(forest, scores)| {
            ForestKernelClassifier {
                n_classes: data.schema.n_classes(),
                online: Some(OnlineState::new(data.n_rows() as u64, data.schema.n_features())),
                // A forest that no run has any more is moved, otherwise it is copied.
                forest: ForestModel::fitted(Arc::unwrap_or_clone(forest), data),
                choice,
                scores,
                params,
            }
        }))
    }

    fn stop(&self) -> StopReason {
        match &self.forest {
            ForestState::Growing(run) => run.stop(),
            ForestState::Calibrated { stop, .. } => *stop,
        }
    }

    fn hurry(&mut self, reason: StopReason) {
        if let ForestState::Growing(run) = &mut self.forest {
            run.hurry(reason);
        }
        // A GP that is trained, if only in part, stays; else the forest predicts alone.
        self.is_closed = [true; 3];
    }
}

/// A step that was interrupted has changed nothing.
fn unless_interrupted(outcome: Result<()>) -> Result<()> {
    if matches!(outcome, Err(Error::Interrupted)) { Ok(()) } else { outcome }
}
