//! Where the parts of an engine come together: rows that were given, the training run on them, and the published model.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use hedgerow_core::{
    Budget, Candidate, Dataset, Delta, Effort, JobState, JobStatus, ModelTask, Par, Result, Silent, Step,
    StopReason, Training,
};
use hedgerow_trainer::{Host, Options, Published, Task};

use super::rows::Inbox;
use super::snapshot::Snapshot;
use crate::kinds::ModelParams;
use crate::model::Model;
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
    published: Arc<Published<Snapshot>>,
    start: Instant,
    current: Option<Current>,
    n_runs: u64,
    /// Rows when hyper-parameters were last searched for.
    n_searched: usize,
    steps: u64,
    /// Jobs of the run that have a step under way.
    running: BTreeSet<usize>,
    dropped: BTreeSet<usize>,
    problems: Vec<(usize, String)>,
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
}

/// A run that can begin.
pub(super) struct Started {
    run: Run,
    data: Dataset,
    n_given: usize,
    is_fresh: bool,
}

/// Work of an engine.
pub(super) struct EngineTask {
    budget: Budget,
    work: Work,
}

/// What a run is to be made of.
struct NewRun {
    inbox: Inbox,
    params: ModelParams,
    previous: Option<Arc<Snapshot>>,
    lanes: usize,
}

enum Work {
    Rows(Box<NewRun>),
    Step {
        run: u64,
        step: Step,
    },
    Model {
        task: ModelTask<Model>,
        snapshot: Box<dyn FnOnce(Candidate<Model>) -> Snapshot + Send>,
        published: Arc<Published<Snapshot>>,
    },
    Nothing,
}

/// What came of it.
pub(super) enum Outcome {
    Started(Result<Started>),
    Step { run: u64, delta: Delta },
    Made(Result<()>),
    Nothing,
}

impl Task for EngineTask {
    type Delta = Outcome;

    fn run(self) -> Outcome {
        let par = Par::sequential();
        let training = Training { par: &par, budget: &self.budget, observer: &Silent };
        match self.work {
            Work::Rows(new) => {
                let NewRun { inbox, params, previous, lanes } = *new;
                let (data, n_given) = (inbox.joined(), inbox.n_given());
                let start = || {
                    data.check_trainable(hedgerow_core::Task::Classification)?;
                    // Parts of the run are limited in time and memory, not in rounds of the engine.
                    let known = previous.as_ref().map(|snapshot| &snapshot.model);
                    params.start_run(&data, known.map(Model::learner), lanes, &training)
                };
                let is_fresh = previous.is_none();
                Outcome::Started(start().map(|run| Started { run, data, n_given, is_fresh }))
            }
            Work::Step { run, step } => Outcome::Step { run, delta: step.run(&training) },
            Work::Model { task, snapshot, published } => {
                Outcome::Made(task.run(&training).map(|candidate| {
                    let snapshot = snapshot(candidate);
                    if snapshot.replaces(&published.get()) {
                        published.set(snapshot);
                    }
                }))
            }
            Work::Nothing => Outcome::Nothing,
        }
    }
}

impl EngineHost {
    pub(super) fn new(
        inbox: Inbox,
        params: ModelParams,
        options: &Options,
        budget: Budget,
        published: Arc<Published<Snapshot>>,
    ) -> Self {
        Self {
            inbox,
            params,
            lanes: options.lanes.max(1),
            budget: Budget { rounds: None, ..budget },
            published,
            start: Instant::now(),
            current: None,
            n_runs: 0,
            n_searched: 0,
            steps: 0,
            running: BTreeSet::new(),
            dropped: BTreeSet::new(),
            problems: Vec::new(),
            rows_problem: None,
        }
    }

    /// Whether nothing of the run is under way, and nothing is ready.
    fn is_at_rest(&self) -> bool {
        let Some(current) = &self.current else { return true };
        self.running.is_empty() && current.run.jobs().iter().all(|job| job.state != JobState::Ready)
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
            let has_more = current.steps > current.made_at && (current.steps >= due || is_at_rest);
            has_more && current.run.has_model()
        });
        let newest = self.published.get();
        JobStatus {
            kind: "model",
            state: if is_due { JobState::Ready } else { JobState::Done },
            priority: 2,
            accuracy: newest.validation.as_ref().map(|quality| quality.accuracy),
            points: newest.steps as usize,
            goal: self.steps as usize,
            ..JobStatus::default()
        }
    }

    /// The making of a model of what there is now.
    fn begin_model(&mut self) -> Work {
        let is_complete = self.is_at_rest();
        let (steps, elapsed) = (self.steps, self.start.elapsed());
        let Some(current) = &mut self.current else { return Work::Nothing };
        current.made_at = current.steps;
        let n_rows = current.data.n_rows();
        let Some(task) = current.run.model() else { return Work::Nothing };
        let snapshot = Box::new(move |candidate: Candidate<Model>| Snapshot {
            model: candidate.model,
            validation: candidate.validation.map(|validation| validation.quality()),
            n_rows,
            is_complete,
            steps,
            elapsed,
        });
        Work::Model { task, snapshot, published: Arc::clone(&self.published) }
    }

    fn begin_rows(&self) -> Work {
        let newest = self.published.get();
        let n_rows = self.inbox.n_taken() + self.inbox.n_waiting();
        let is_known = newest.is_complete
            && n_rows < MORE_ROWS * self.n_searched
            && newest.model.schema == self.inbox.schema;
        Work::Rows(Box::new(NewRun {
            inbox: self.inbox.clone(),
            params: self.params.clone(),
            previous: is_known.then_some(newest),
            lanes: self.lanes,
        }))
    }

    /// A run begins in the place of the one there was.
    fn begin_run(&mut self, started: Started) {
        let Started { mut run, data, n_given, is_fresh } = started;
        for job in self.dropped.iter().filter(|job| **job >= FIRST) {
            run.drop_job(job - FIRST);
        }
        self.n_runs += 1;
        if is_fresh {
            self.n_searched = data.n_rows();
        }
        self.inbox.take(data.clone(), n_given);
        self.rows_problem = None;
        self.problems.clear();
        self.running.clear();
        self.current = Some(Current { number: self.n_runs, data, run, steps: 0, made_at: 0 });
    }

    fn fail(&mut self, job: usize, problem: String) {
        self.problems.push((job, problem));
        if let Some(current) = self.current.as_mut().filter(|_| job >= FIRST) {
            current.run.drop_job(job - FIRST);
        }
    }

    /// Makes a model of what there is now, on the calling thread, and publishes it if it is better than the published one.
    pub(super) fn make_last(&mut self) -> Result<()> {
        let is_new = self
            .current
            .as_ref()
            .is_some_and(|current| current.steps > current.made_at && current.run.has_model());
        if !is_new {
            return Ok(());
        }
        let task = EngineTask { budget: Budget::open(), work: self.begin_model() };
        match task.run() {
            Outcome::Made(made) => made,
            _ => Ok(()),
        }
    }
}

impl Host for EngineHost {
    type Task = EngineTask;

    fn jobs(&self) -> Vec<JobStatus> {
        let is_at_rest = self.is_at_rest();
        let mut jobs = vec![self.rows_status(is_at_rest), self.model_status(is_at_rest)];
        jobs.extend(self.current.iter().flat_map(|current| current.run.jobs()));
        for (job, problem) in &self.problems {
            if let Some(status) = jobs.get_mut(*job) {
                status.problem = Some(problem.clone());
            }
        }
        jobs
    }

    fn begin(&mut self, job: usize) -> EngineTask {
        let work = match (job, &mut self.current) {
            (ROWS, _) => self.begin_rows(),
            (MODEL, _) => self.begin_model(),
            (job, Some(current)) => {
                self.running.insert(job);
                let step = current.run.begin(&[job - FIRST], Effort::Slice);
                Work::Step { run: current.number, step }
            }
            (_, None) => Work::Nothing,
        };
        EngineTask { budget: self.budget.clone(), work }
    }

    fn merge(&mut self, job: usize, outcome: Outcome) {
        self.steps += 1;
        match outcome {
            Outcome::Started(Ok(started)) => self.begin_run(started),
            Outcome::Started(Err(error)) => {
                self.rows_problem = Some((error.to_string(), self.inbox.n_rows));
            }
            Outcome::Step { run, delta } => {
                // What an earlier run has begun is of no use any more.
                let Some(current) = self.current.as_mut().filter(|current| current.number == run) else {
                    return;
                };
                self.running.remove(&job);
                current.steps += 1;
                if let Err(error) = current.run.merge(delta) {
                    self.fail(job, error.to_string());
                }
            }
            Outcome::Made(Err(error)) => self.fail(job, error.to_string()),
            Outcome::Made(Ok(())) | Outcome::Nothing => {}
        }
    }

    fn drop_job(&mut self, job: usize) {
        self.dropped.insert(job);
        self.running.remove(&job);
        if let Some(current) = self.current.as_mut().filter(|_| job >= FIRST) {
            current.run.drop_job(job - FIRST);
        }
    }

    fn stop(&self) -> StopReason {
        self.current.as_ref().map_or(StopReason::Done, |current| current.run.stop())
    }
}
