//! The run of a model that is trained in one go: a single job.

use std::sync::Arc;

use super::{Candidate, Effort, JobState, JobStatus, ModelTask, Step, TrainingRun};
use crate::budget::StopReason;
use crate::error::Result;
use crate::learn::Training;

/// Training as one function.
type Train<M> = dyn Fn(&Training<'_>) -> Result<(Candidate<M>, StopReason)> + Send + Sync;

/// A training run with one job, which is done in one step.
pub struct WholeRun<M> {
    kind: &'static str,
    train: Arc<Train<M>>,
    made: Option<(Arc<Candidate<M>>, StopReason)>,
    is_dropped: bool,
}

impl<M: Clone + Send + Sync + 'static> WholeRun<M> {
    /// A run whose job, of this kind, is to call a function.
    pub fn new(
        kind: &'static str,
        train: impl Fn(&Training<'_>) -> Result<(Candidate<M>, StopReason)> + Send + Sync + 'static,
    ) -> Self {
        Self { kind, train: Arc::new(train), made: None, is_dropped: false }
    }
}

impl<M: Clone + Send + Sync + 'static> TrainingRun for WholeRun<M> {
    type Model = M;

    fn jobs(&self) -> Vec<JobStatus> {
        let is_done = self.made.is_some() || self.is_dropped;
        let state = if is_done { JobState::Done } else { JobState::Ready };
        let points = usize::from(self.made.is_some());
        vec![JobStatus { kind: self.kind, state, points, goal: 1, ..JobStatus::default() }]
    }

    fn begin(&mut self, _: &[usize], _: Effort) -> Step {
        let train = Arc::clone(&self.train);
        Step::new(move |training: &Training<'_>| {
            let made = train(training);
            move |run: &mut Self| {
                let (candidate, stop) = made?;
                run.made = Some((Arc::new(candidate), stop));
                Ok(())
            }
        })
    }

    fn drop_job(&mut self, _: usize) {
        self.is_dropped = true;
    }

    fn has_model(&self) -> bool {
        self.made.is_some()
    }

    fn model(&self) -> Option<ModelTask<M>> {
        let (candidate, _) = self.made.as_ref()?;
        let candidate = Arc::clone(candidate);
        Some(ModelTask::new(move |_| Ok(Arc::unwrap_or_clone(candidate))))
    }

    fn stop(&self) -> StopReason {
        self.made.as_ref().map_or(StopReason::Done, |(_, stop)| *stop)
    }

    /// The function itself looks at the budget.
    fn hurry(&mut self, _: StopReason) {}
}
