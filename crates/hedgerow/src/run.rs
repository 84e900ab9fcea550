//! Training runs of all kinds of model behind one type.

use hedgerow_core::{
    Candidate, Dataset, Delta, Effort, JobStatus, ModelTask, Params as _, Result, Schema, Step, StopReason,
    Training, TrainingRun, WholeRun,
};
use hedgerow_forest::ForestRun;
use hedgerow_gp::ivm::IvmRun;
use hedgerow_hybrid::{ForestIvmParams, ForestIvmRun, ForestKernelParams, ForestKernelRun, LeafGpRun};

use crate::model::{Fitted, Learner, Model};
use crate::params::ModelParams;

/// A training run of any kind.
pub(crate) type Run = Box<dyn TrainingRun<Model = Model>>;

impl Model {
    /// A training run of the kind that the parameters are of. `lanes` of its jobs may be worked on side by side. Hyper-parameters are taken over from a
    /// `previous` model, where there is one that still fits.
    pub(crate) fn start_run(
        data: &Dataset,
        params: &ModelParams,
        previous: Option<&Self>,
        lanes: usize,
        training: &Training<'_>,
    ) -> Result<Run> {
        let previous = previous.map(|model| &model.learner);
        Ok(match params {
            ModelParams::Forest(params) => {
                let run = ForestRun::new(data, &params.clone().check()?, lanes, training)?;
                of_kind(run, data, Learner::Forest)
            }
            ModelParams::Ivm(params) => {
                let params = params.clone().check()?;
                let run = match previous {
                    Some(Learner::Ivm(ivm)) => IvmRun::after(ivm, data, &params, lanes, training)?,
                    _ => IvmRun::new(data, &params, lanes, training)?,
                };
                of_kind(run, data, |ivm| Learner::Ivm(Box::new(ivm)))
            }
            ModelParams::ForestIvm(params) => {
                let params = ForestIvmParams::clone(params).check()?;
                let run = ForestIvmRun::new(data, &params, lanes, training)?;
                of_kind(run, data, |model| Learner::ForestIvm(Box::new(model)))
            }
            ModelParams::LeafGp(params) => {
                let run = LeafGpRun::new(data, &params.clone().check()?, lanes, training)?;
                of_kind(run, data, |model| Learner::LeafGp(Box::new(model)))
            }
            ModelParams::ForestKernel(params) => {
                let params = ForestKernelParams::clone(params).check()?;
                let run = ForestKernelRun::new(data, &params, lanes, training)?;
                of_kind(run, data, |model| Learner::ForestKernel(Box::new(model)))
            }
            ModelParams::Gp(_) | ModelParams::Rvm(_) => {
                let (data, params) = (data.clone(), params.clone());
                Box::new(WholeRun::new("fit", move |training: &Training<'_>| {
                    let Fitted { model, stop, .. } = Self::fit(&data, &params, training)?;
                    Ok((Candidate { model, validation: None }, stop))
                }))
            }
        })
    }
}

/// The run of one kind.
struct OfKind<R, W> {
    run: R,
    schema: Schema,
    wrap: W,
}

fn of_kind<R, W>(run: R, data: &Dataset, wrap: W) -> Run
where
    R: TrainingRun + 'static,
    R::Model: 'static,
    W: Fn(R::Model) -> Learner + Clone + Send + 'static,
{
    Box::new(OfKind { run, schema: data.schema.clone(), wrap })
}

impl<R, W> TrainingRun for OfKind<R, W>
where
    R: TrainingRun,
    R::Model: 'static,
    W: Fn(R::Model) -> Learner + Clone + Send + 'static,
{
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
        let (schema, wrap) = (self.schema.clone(), self.wrap.clone());
        Some(self.run.model()?.map(move |model| Model { schema, learner: wrap(model) }))
    }

    fn stop(&self) -> StopReason {
        self.run.stop()
    }

    fn hurry(&mut self, reason: StopReason) {
        self.run.hurry(reason);
    }
}
