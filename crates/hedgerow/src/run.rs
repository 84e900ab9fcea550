//! Training runs of all kinds of model behind one type.

use hedgerow_core::{
    About, Conformal, Dataset, Delta, Effort, JobStatus, ModelTask, ReferenceRows, Result, RetainedRows,
    RunStart, Step, StopReason, Task, Training, TrainingRun,
};

use crate::kinds::{InLearner, Learner};
use crate::model::Model;

/// A training run of any kind.
pub(crate) type Run = Box<dyn TrainingRun<Model = Model>>;

/// A training run of the kind that the parameters are of. `lanes` of its jobs may be worked on side by side. Hyper-parameters are taken over from a
/// `previous` model, where there is one of the same kind that still fits.
pub(crate) fn start<P: InLearner>(
    params: &P,
    data: &Dataset,
    previous: Option<&Learner>,
    lanes: usize,
    training: &Training<'_>,
) -> Result<Run> {
    let (params, previous) = (&params.clone().check()?, previous.and_then(P::unwrap));
    let run = P::start_run(&RunStart { data, params, previous, lanes, training })?;
    let seed = *params.get().clone().seed();
    let info = &P::INFO;
    let has_intervals =
        info.second_order.contains(&About::TrueProbability) && data.task() == Task::Classification;
    // Other kinds retain the rows that intervals are made from.
    let rows = (has_intervals && !info.learns).then(|| Box::new(RetainedRows::unweighted(data)));
    Ok(Box::new(OfKind { run, data: data.clone(), rows, seed, wrap: P::wrap }))
}

/// The run of one kind.
struct OfKind<M> {
    run: Box<dyn TrainingRun<Model = M>>,
    data: Dataset,
    seed: u64,
    rows: Option<Box<RetainedRows>>,
    wrap: fn(M) -> Learner,
}

impl<M: 'static> TrainingRun for OfKind<M> {
    type Model = Model;

    fn jobs(&self) -> Vec<JobStatus> {
        self.run.jobs()
    }

    fn begin(&mut self, jobs: &[usize], effort: Effort) -> Step {
        self.run.begin(jobs, effort)
    }

    fn merge(&mut self, delta: Delta) -> Result<()> {
        self.run.merge(delta)
    }

    fn drop_job(&mut self, job: usize) {
        self.run.drop_job(job);
    }

    fn has_model(&self) -> bool {
        self.run.has_model()
    }

    fn model(&self) -> Option<ModelTask<Model>> {
        let (data, rows, seed, wrap) = (self.data.clone(), self.rows.clone(), self.seed, self.wrap);
        let make = self.run.model()?;
        Some(ModelTask::new(move |training: &Training<'_>| {
            let made = make.run(training)?;
            let scored = || made.validation.as_ref().and_then(Conformal::of);
            let conformal = made.conformal.clone().or_else(scored).map(Box::new);
            let reference =
                ReferenceRows::of_fit(&data, made.validation.as_ref(), seed, training.budget.bytes);
            let reference = Some(Box::new(reference));
            Ok(made.map(|model| Model {
                conformal,
                reference,
                rows,
                ..Model::of(data.schema.clone(), wrap(model))
            }))
        }))
    }

    fn stop(&self) -> StopReason {
        self.run.stop()
    }

    fn hurry(&mut self, reason: StopReason) {
        self.run.hurry(reason);
    }
}
