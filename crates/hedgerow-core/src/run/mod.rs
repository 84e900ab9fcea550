//! One resumable training run behind every kind of model.
//!
//! A [`TrainingRun`] trains one model on a fixed set of rows. It lists its jobs, takes out what a piece of work on them needs ([`TrainingRun::begin`]),
//! and merges what comes of it ([`TrainingRun::merge`]); in between, the [`Step`] owns all it needs and runs on any thread. A driver decides
//! what is worked on next and knows no model: [`drive`] runs everything to its end or to the end of the budget, which is what fitting is;
//! the engine schedules the same steps in the background and publishes the models on the way.
//!
//! A step takes its input by value or shared, never by reference into the run. So steps of different jobs can run side by side, and what
//! they make depends on their input alone: merged in the same order they give the same model, whoever drives.

mod drive;
mod status;

use std::any::Any;

pub use drive::drive;
pub use status::{JobState, JobStatus};

use crate::budget::StopReason;
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
pub trait TrainingRun: Send {
    /// What comes of it.
    type Model;

    /// The jobs, each known by its place. The list only grows.
    fn jobs(&self) -> Vec<JobStatus>;

    /// Takes out what the next piece of work on some jobs needs. They are ready, of one kind, and none of them is being worked on.
    fn begin(&mut self, jobs: &[usize], effort: Effort) -> Step;

    /// Takes in what came of a step. Quick: other threads may be waiting.
    fn merge(&mut self, delta: Delta) -> Result<()>;

    /// A job was cancelled, or its step failed: nothing more will come of it.
    fn drop_job(&mut self, job: usize);

    /// Whether [`Self::model`] would return something.
    fn has_model(&self) -> bool;

    /// The best model that can be made of what has been done so far.
    fn model(&self, training: &Training<'_>) -> Result<Option<Candidate<Self::Model>>>;

    /// Why no job is ready any more.
    fn stop(&self) -> StopReason {
        StopReason::Done
    }

    /// The budget is spent, and there is no model yet: what is left is cut down to the least that gives one, whatever the budget says.
    fn hurry(&mut self) {}
}

/// A model that a run has come to, and how good it is.
#[derive(Debug, Clone)]
pub struct Candidate<M> {
    /// The model.
    pub model: M,
    /// Predictions for training rows by parts of the run that were not trained on them; none if every part has seen every row.
    pub validation: Option<OutOfSample>,
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
    pub fn apply<R: 'static>(self, run: &mut R) -> Result<()> {
        match self.0.downcast::<Change<R>>() {
            Ok(change) => change(run),
            Err(_) => {
                debug_assert!(false, "a step was merged into another type of run");
                Ok(())
            }
        }
    }
}
