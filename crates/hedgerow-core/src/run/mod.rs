//! One resumable training run behind every kind of model.
//!
//! A [`TrainingRun`] trains one model on a fixed set of rows. It lists its jobs, takes out what a piece of work on them needs ([`TrainingRun::begin`]),
//! and merges what comes of it ([`TrainingRun::merge`]); in between, the [`Step`] owns all it needs and runs on any thread. A driver decides
//! what is worked on next and knows no model: [`drive`] runs everything to its end or to the end of the budget, which is what fitting is;
//! the engine schedules the same steps in the background and publishes the models on the way.
//!
//! A step takes its input by value or shared, never by reference into the run. So steps of different jobs can run side by side, and what
//! they make depends on their input alone: merged in the same order they give the same model, whatever drives the run.

mod drive;
mod status;
mod whole;

use std::any::Any;

pub use drive::drive;
pub use status::{JobState, JobStatus};
pub use whole::WholeRun;

use crate::budget::StopReason;
use crate::conformal::Conformal;
use crate::error::Result;
use crate::learn::Training;
use crate::scores::OutOfSample;

/// How much of a job a step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// A small piece, so that others get their turn soon.
    Slice,
    /// As much as can be done before something must be decided.
    Whole,
}

/// The resumable training of one model on a fixed set of rows.
pub trait TrainingRun: Send + 'static {
    /// What comes of it.
    type Model;

    /// The jobs, each known by its place. The list only grows.
    fn jobs(&self) -> Vec<JobStatus>;

    /// Takes out what the next piece of work on some jobs needs. They are ready, of one kind, and none of them is being worked on.
    fn begin(&mut self, jobs: &[usize], effort: Effort) -> Step;

    /// Takes in what came of a step. Quick: other threads may be waiting.
    fn merge(&mut self, delta: Delta) -> Result<()> {
        delta.apply(self)
    }

    /// A job was cancelled, or its step failed: nothing more will come of it, not even of a step under way.
    fn drop_job(&mut self, job: usize);

    /// Whether there is a model to be made.
    fn has_model(&self) -> bool;

    /// The making of the best model of what has been done so far; none if nothing can predict yet. Like a step, it owns all it needs, and the run can
    /// go on meanwhile.
    fn model(&self) -> Option<ModelTask<Self::Model>>;

    /// Why no job is ready any more.
    fn stop(&self) -> StopReason {
        StopReason::Done
    }

    /// The budget is spent, for this reason: what is left is cut down to the least that gives a model, and done whatever the budget says.
    fn hurry(&mut self, reason: StopReason);
}

/// A model that a run has come to, and how good it is.
#[derive(Debug, Clone)]
pub struct Candidate<M> {
    /// The model.
    pub model: M,
    /// Out-of-sample predictions of the model, where there are some.
    pub validation: Option<OutOfSample>,
    /// The log marginal likelihood, where the model has one.
    pub log_evidence: Option<f64>,
    /// What a user should know about the training, in words; empty if all is well.
    pub notes: Vec<String>,
    /// For each training row the trees that had it out of bag, where there are such trees.
    pub oob_votes: Option<Vec<u32>>,
    /// What prediction sets are made from, where that is not the out-of-sample predictions.
    pub conformal: Option<Conformal>,
}

impl<M> Candidate<M> {
    /// A model with its out-of-sample predictions.
    pub fn new(model: M, validation: Option<OutOfSample>) -> Self {
        Self { model, validation, log_evidence: None, notes: Vec::new(), oob_votes: None, conformal: None }
    }

    /// The same with another model.
    pub fn map<N>(self, change: impl FnOnce(M) -> N) -> Candidate<N> {
        let Self { model, validation, log_evidence, notes, oob_votes, conformal } = self;
        Candidate { model: change(model), validation, log_evidence, notes, oob_votes, conformal }
    }
}

type Make<M> = dyn FnOnce(&Training<'_>) -> Result<Candidate<M>> + Send;

/// The making of a model.
pub struct ModelTask<M>(Box<Make<M>>);

impl<M: 'static> ModelTask<M> {
    /// Work that returns a model.
    pub fn new(work: impl FnOnce(&Training<'_>) -> Result<Candidate<M>> + Send + 'static) -> Self {
        Self(Box::new(work))
    }

    /// Does the work.
    pub fn run(self, training: &Training<'_>) -> Result<Candidate<M>> {
        (self.0)(training)
    }

    /// The same with another type of model.
    #[must_use]
    pub fn map<N: 'static>(self, change: impl FnOnce(M) -> N + Send + 'static) -> ModelTask<N> {
        ModelTask::new(move |training| Ok(self.run(training)?.map(change)))
    }
}

/// A piece of work that owns everything it needs.
pub struct Step(Box<dyn FnOnce(&Training<'_>) -> Delta + Send>);

/// What came of a step: a change of the run it belongs to.
pub struct Delta(Box<dyn Any + Send>);

type Change<R> = Box<dyn FnOnce(&mut R) -> Result<()> + Send>;

impl Step {
    /// Work that returns how the run changes.
    pub fn new<R, C>(work: impl FnOnce(&Training<'_>) -> C + Send + 'static) -> Self
    where
        R: 'static,
        C: FnOnce(&mut R) -> Result<()> + Send + 'static,
    {
        Self(Box::new(move |training| Delta::new(work(training))))
    }

    /// A step of a run that changes nothing.
    pub fn nothing<R: 'static>() -> Self {
        Self::new(|_: &Training<'_>| |_: &mut R| Ok(()))
    }

    /// Does the work.
    pub fn run(self, training: &Training<'_>) -> Delta {
        (self.0)(training)
    }

    /// The same step for a run that has the run of this step as a part.
    #[must_use]
    pub fn within<Outer: 'static, Inner: 'static>(
        self,
        part: impl FnOnce(&mut Outer) -> Option<&mut Inner> + Send + 'static,
    ) -> Self {
        Self::new(move |training: &Training<'_>| {
            let delta = self.run(training);
            move |outer: &mut Outer| part(outer).map_or(Ok(()), |inner| delta.apply(inner))
        })
    }
}

impl Delta {
    fn new<R: 'static>(change: impl FnOnce(&mut R) -> Result<()> + Send + 'static) -> Self {
        let change: Change<R> = Box::new(change);
        Self(Box::new(change))
    }

    /// Changes the run. A step of another type of run changes nothing.
    pub fn apply<R: ?Sized + 'static>(self, run: &mut R) -> Result<()> {
        let change = self.0.downcast::<Change<R>>();
        debug_assert!(change.is_ok(), "a step was merged into another type of run");
        change.map_or(Ok(()), |change| change(run))
    }
}
