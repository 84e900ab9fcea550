//! Where the parts of an engine come together: rows that were given, the training run on them, and the published model.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use hedgerow_core::{
    Budget, Candidate, Dataset, Delta, Effort, Error, JobState, JobStatus, Par, Quality, Result, Schema,
    Silent, StopReason, Training,
};
use hedgerow_trainer::{Host, Published, Task};

use super::rows::Inbox;
use super::snapshot::Snapshot;
use crate::kinds::ModelParams;
use crate::run::Run;

/// A model is made when this many times as many steps have been done as for the last one.
const GROWTH: f64 = 1.15;
/// Rows are taken up when they are this share of those taken up before, or when nothing else is to be done: a run begins anew with them.
const SHARE: usize = 4;
/// Hyper-parameters are searched for anew with this many times the rows.
const MORE_ROWS: usize = 2;
/// The jobs before those of the run.
const ROWS: usize = 0;
const MODEL: usize = 1;
const FIRST: usize = 2;

/// What an engine has.
pub(super) struct EngineHost {
    pub(super) inbox: Inbox,
    params: ModelParams,
    lanes: usize,
    budget: Budget,
    pub(super) published: Arc<Published<Snapshot>>,
    start: Instant,
    current: Option<Current>,
    n_runs: u64,
    /// Rows when hyper-parameters were last searched for.
    n_searched: usize,
    steps: u64,
    dropped: BTreeSet<usize>,
    /// Why rows could not be taken up, and how many there were.
    rows_problem: Option<(String, u64)>,
}

/// The training run under way.
struct Current {
    number: u64,
    data: Dataset,
    run: Run,
    steps: u64,
    /// Steps when a model was last made.
    made_at: u64,
    /// Jobs that have a step under way.
    running: BTreeSet<usize>,
    problems: Vec<(usize, String)>,
}

/// How a host takes in what came of some work.
type Change = Box<dyn FnOnce(&mut EngineHost) + Send>;

/// Work of an engine. It owns all it needs.
pub(super) struct EngineTask(Box<dyn FnOnce() -> Change + Send>);

impl EngineTask {
    fn new(budget: &Budget, work: impl FnOnce(&Training<'_>) -> Change + Send + 'static) -> Self {
        let budget = budget.clone();
        Self(Box::new(move || train(&budget, work)))
    }

    fn nothing() -> Self {
        Self(Box::new(|| Box::new(|_| {})))
    }
}

impl Task for EngineTask {
    type Delta = Change;

    fn run(self) -> Change {
        (self.0)()
    }
}

/// Does work on the calling thread.
fn train<T>(budget: &Budget, work: impl FnOnce(&Training<'_>) -> T) -> T {
    work(&Training { par: &Par::sequential(), budget, observer: &Silent })
}

impl EngineHost {
    pub(super) fn new(
        schema: Schema,
        params: &ModelParams,
        lanes: usize,
        budget: Budget,
        first: Snapshot,
    ) -> Self {
        Self {
            inbox: Inbox::new(schema),
            params: params.clone(),
            lanes: lanes.max(1),
            budget,
            published: Arc::new(Published::new(first)),
            start: Instant::now(),
            current: None,
            n_runs: 0,
            n_searched: 0,
            steps: 0,
            dropped: BTreeSet::new(),
            rows_problem: None,
        }
    }

    fn rows_status(&self, is_at_rest: bool) -> JobStatus {
        let (n_waiting, n_taken) = (self.inbox.n_waiting(), self.inbox.n_taken());
        let is_refused = self.rows_problem.as_ref().is_some_and(|(_, n_rows)| *n_rows == self.inbox.n_rows);
        let is_due = n_waiting > 0 && (is_at_rest || SHARE * n_waiting >= n_taken) && !is_refused;
        JobStatus {
            kind: "rows",
            state: if is_due { JobState::Ready } else { JobState::Done },
            priority: 3,
            points: n_taken,
            goal: self.inbox.n_rows as usize,
            problem: self.rows_problem.as_ref().map(|(problem, _)| problem.clone()),
            ..JobStatus::default()
        }
    }

    fn model_status(&self, is_at_rest: bool) -> JobStatus {
        let is_due = self.current.as_ref().is_some_and(|current| {
            let due = (GROWTH * current.made_at as f64) as u64 + 1;
            current.has_news() && (current.steps >= due || is_at_rest)
        });
        let newest = self.published.get();
        JobStatus {
            kind: "model",
            state: if is_due { JobState::Ready } else { JobState::Done },
            priority: 2,
            accuracy: newest.validation.as_ref().and_then(Quality::accuracy),
            points: newest.steps as usize,
            goal: self.steps as usize,
            ..JobStatus::default()
        }
    }

    /// The making of a model of what there is now, which is published if it is better than the published one.
    fn model_maker(&mut self) -> Option<impl FnOnce(&Training<'_>) -> Result<()> + Send + use<>> {
        let (steps, elapsed, published) = (self.steps, self.start.elapsed(), Arc::clone(&self.published));
        let current = self.current.as_mut()?;
        current.made_at = current.steps;
        let (n_rows, is_complete) = (current.data.n_rows(), current.is_at_rest());
        let task = current.run.model()?;
        Some(move |training: &Training<'_>| {
            let Candidate { model, validation, .. } = task.run(training)?;
            let validation = validation.map(|validation| validation.quality());
            let snapshot = Snapshot { model, validation, n_rows, is_complete, steps, elapsed };
            if snapshot.replaces(&published.get()) {
                published.set(snapshot);
            }
            Ok(())
        })
    }

    fn begin_model(&mut self) -> EngineTask {
        let Some(make) = self.model_maker() else { return EngineTask::nothing() };
        EngineTask::new(&self.budget, |training| {
            let made = make(training);
            Box::new(|host| {
                if let (Err(error), Some(current)) = (made, &mut host.current) {
                    current.fail(MODEL, &error);
                }
            })
        })
    }

    fn begin_rows(&self) -> EngineTask {
        let newest = self.published.get();
        let n_rows = self.inbox.n_taken() + self.inbox.n_waiting();
        let is_known = newest.is_complete
            && n_rows < MORE_ROWS * self.n_searched
            && newest.model.schema == self.inbox.schema;
        let previous = is_known.then_some(newest);
        let (inbox, params, lanes) = (self.inbox.clone(), self.params.clone(), self.lanes);
        EngineTask::new(&self.budget, move |training| {
            let (n_given, is_fresh) = (inbox.n_given(), previous.is_none());
            let known = previous.as_ref().map(|snapshot| snapshot.model.learner());
            let run = inbox.joined().and_then(|data| {
                data.check_trainable(inbox.schema.task())?;
                Ok((params.start_run(&data, known, lanes, training)?, data))
            });
            Box::new(move |host| match run {
                Ok((run, data)) => host.begin_run(run, data, n_given, is_fresh),
                Err(error) => host.rows_problem = Some((error.to_string(), host.inbox.n_rows)),
            })
        })
    }

    fn begin_step(&mut self, job: usize) -> EngineTask {
        let Some(current) = &mut self.current else { return EngineTask::nothing() };
        current.running.insert(job);
        let step = current.run.begin(&[job - FIRST], Effort::Slice);
        let run = current.number;
        EngineTask::new(&self.budget, move |training| {
            let delta = step.run(training);
            Box::new(move |host| host.merge_step(job, run, delta))
        })
    }

    fn merge_step(&mut self, job: usize, run: u64, delta: Delta) {
        // What an earlier run has begun is of no use any more.
        let Some(current) = self.current.as_mut().filter(|current| current.number == run) else { return };
        current.running.remove(&job);
        current.steps += 1;
        if let Err(error) = current.run.merge(delta) {
            current.fail(job, &error);
        }
    }

    /// A run begins in the place of the one there was.
    fn begin_run(&mut self, mut run: Run, data: Dataset, n_given: usize, is_fresh: bool) {
        for job in self.dropped.iter().filter(|job| **job >= FIRST) {
            run.drop_job(job - FIRST);
        }
        self.n_runs += 1;
        if is_fresh {
            self.n_searched = data.n_rows();
        }
        self.inbox.take(data.clone(), n_given);
        self.rows_problem = None;
        self.current = Some(Current {
            number: self.n_runs,
            data,
            run,
            steps: 0,
            made_at: 0,
            running: BTreeSet::new(),
            problems: Vec::new(),
        });
    }

    /// Makes a model of what there is now, on the calling thread, and publishes it if it is better than the published one.
    pub(super) fn make_last(&mut self) -> Result<()> {
        match self.current.as_ref().is_some_and(Current::has_news).then(|| self.model_maker()).flatten() {
            Some(make) => train(&Budget::open(), make),
            None => Ok(()),
        }
    }
}

impl Current {
    /// Whether nothing is under way, and nothing is ready.
    fn is_at_rest(&self) -> bool {
        self.running.is_empty() && self.run.jobs().iter().all(|job| job.state != JobState::Ready)
    }

    fn fail(&mut self, job: usize, error: &Error) {
        self.problems.push((job, error.to_string()));
        self.drop_job(job);
    }

    fn drop_job(&mut self, job: usize) {
        self.running.remove(&job);
        if job >= FIRST {
            self.run.drop_job(job - FIRST);
        }
    }

    /// Whether steps were done since a model was last made.
    fn has_news(&self) -> bool {
        self.steps > self.made_at && self.run.has_model()
    }
}

impl Host for EngineHost {
    type Task = EngineTask;

    fn jobs(&self) -> Vec<JobStatus> {
        let is_at_rest = self.current.as_ref().is_none_or(Current::is_at_rest);
        let mut jobs = vec![self.rows_status(is_at_rest), self.model_status(is_at_rest)];
        let Some(current) = &self.current else { return jobs };
        jobs.extend(current.run.jobs());
        for (job, problem) in &current.problems {
            if let Some(status) = jobs.get_mut(*job) {
                status.problem = Some(problem.clone());
            }
        }
        jobs
    }

    fn begin(&mut self, job: usize) -> EngineTask {
        match job {
            ROWS => self.begin_rows(),
            MODEL => self.begin_model(),
            _ => self.begin_step(job),
        }
    }

    fn merge(&mut self, _: usize, change: Change) {
        self.steps += 1;
        change(self);
    }

    fn drop_job(&mut self, job: usize) {
        self.dropped.insert(job);
        if let Some(current) = &mut self.current {
            current.drop_job(job);
        }
    }

    fn stop(&self) -> StopReason {
        self.current.as_ref().map_or(StopReason::Done, |current| current.run.stop())
    }
}
