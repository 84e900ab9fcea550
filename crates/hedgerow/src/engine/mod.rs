//! A model that is trained while it answers.
//!
//! An [`Engine`] is given rows at any time and works on its model in the background: trees, a machine for each class, processes in leaves, the search for a kernel and
//! the regression on all rows are jobs in slices, of which the one that should gain most goes first (`hedgerow_trainer`, `docs/math/trainer.md`). Answers come from a published [`Snapshot`], which is
//! never changed and is replaced when rows that nobody learnt say that something no worse exists.
//!
//! `rows` takes rows in, `jobs` does the work (`search`, `route`, `process` and `leaves` parts of it), `host` merges it, `held` is what is known of rows while it goes on, `combine` makes models of what there is.
//!
//! ```
//! use hedgerow::Engine;
//! use hedgerow::core::testing::blobs;
//! use hedgerow::core::{Budget, Rows};
//! use hedgerow::engine::EngineOptions;
//! use hedgerow::forest::ForestParams;
//!
//! let data = blobs(400, 3, 3, 1);
//! let params = ForestParams { n_trees: 20, ..Default::default() }.into();
//! let engine = Engine::start(data.schema.clone(), &params, &EngineOptions::default())?;
//! let x = data.features.to_array(0..400);
//! engine.append(&data.schema, Rows { x: x.view(), labels: &data.labels, weights: None })?;
//! let early = engine.predict_proba(x.view())?; // whatever is known now
//! engine.wait();
//! let finished = engine.finish()?;
//! assert_eq!(finished.model.n_seen(), Some(400));
//! # assert_eq!(early.nrows(), 400);
//! # Ok::<(), hedgerow::core::Error>(())
//! ```

mod combine;
mod held;
mod host;
mod jobs;
mod leaves;
mod look;
#[cfg(feature = "store")]
mod observe;
mod process;
mod route;
mod rows;
mod search;
mod snapshot;
#[cfg(test)]
mod tests;
mod view;

use std::sync::Arc;

use hedgerow_core::{
    ClassId, Classifier as _, Dataset, Error, Features, Par, Params as _, Result, Rows, Schema, StopReason,
};
use hedgerow_hybrid::KernelLearner;
use hedgerow_trainer::{Options, Published, Seen, Trainer};
use ndarray::{Array2, ArrayView2};

use crate::kind::Kind;
use crate::model::{Model, check_growth};
use crate::params::ModelParams;
use host::EngineHost;
#[cfg(feature = "store")]
pub use observe::Observed;
pub use snapshot::{Evidence, Judges, Snapshot};

/// How an engine runs its jobs: threads, policy, lanes, budget.
pub type EngineOptions = Options;

/// A model in training. See the [module](self).
pub struct Engine {
    trainer: Trainer<EngineHost>,
    published: Arc<Published<Snapshot>>,
    #[cfg(feature = "store")]
    observation: std::sync::Mutex<Option<observe::Observation>>,
}

/// What an engine has left behind, for another one to go on from with the same rows in the same order.
#[derive(Debug, Clone)]
pub struct Earlier {
    /// The model.
    pub model: Model,
    /// How good it was.
    pub evidence: Evidence,
    /// Which rows it did not learn: they go on judging.
    pub judges: Judges,
}

/// What an engine leaves behind.
#[derive(Debug, Clone)]
pub struct Finished {
    /// The best model, with the rows it needs to go on learning.
    pub model: Model,
    /// How good it was on rows that it had not learnt; none if nothing was learnt.
    pub evidence: Option<Evidence>,
    /// How all jobs stood.
    pub jobs: Vec<Seen>,
    /// Which rows the model has not learnt.
    pub judges: Judges,
    /// Why training ended.
    pub stop: StopReason,
}

impl Engine {
    /// Starts an engine for a kind of model that can be trained in slices. It waits for rows.
    pub fn start(schema: Schema, params: &ModelParams, options: &EngineOptions) -> Result<Self> {
        Self::begin(schema, params, options, None)
    }

    /// The same, but answers come from an earlier engine's model until there is a better one. Rows are to be given in the same order as then; those that judged go on
    /// judging, so that both models are asked about rows that neither has learnt.
    pub fn start_from(
        schema: Schema,
        params: &ModelParams,
        options: &EngineOptions,
        earlier: Earlier,
    ) -> Result<Self> {
        if earlier.model.kind() != params.kind() {
            return Err(Error::param("model", params.kind().name(), earlier.model.kind()));
        }
        Self::begin(schema, params, options, Some(earlier))
    }

    fn begin(
        schema: Schema,
        params: &ModelParams,
        options: &EngineOptions,
        earlier: Option<Earlier>,
    ) -> Result<Self> {
        params.rules()?;
        let kind = params.kind();
        if !kind.trains_in_slices() {
            return Err(kind.unable("be trained in slices", Kind::trains_in_slices));
        }
        if let ModelParams::LeafGp(params) = params {
            params.forest_params().check()?;
        }
        if let ModelParams::ForestIvm(params) = params {
            params.forest_params().check()?;
        }
        if let ModelParams::ForestKernel(params) = params {
            params.forest_params().check()?;
            if params.learner != KernelLearner::Gp {
                let expected =
                    "gp in slices: rows for an ivm over a forest are chosen in one go, which `fit` does";
                return Err(Error::param("learner", expected, "ivm"));
            }
        }
        let first = match &earlier {
            Some(earlier) => Snapshot::earlier(earlier.model.clone(), earlier.evidence.clone()),
            None => Snapshot::new(Model::new(schema.clone(), &known(params))?),
        };
        let published = Arc::new(Published::new(first));
        let mut host = EngineHost::new(schema, params.clone(), options, Arc::clone(&published));
        if let Some(earlier) = earlier {
            host.let_judge(earlier.judges.flags());
        }
        let jobs = host.first_jobs();
        Ok(Self {
            trainer: Trainer::start(host, jobs, options)?,
            published,
            #[cfg(feature = "store")]
            observation: std::sync::Mutex::default(),
        })
    }

    /// Gives it rows to learn. `schema` is that of earlier calls, grown by the classes and categories that have come since. Returns at once, with the place of the first
    /// row in the order in which rows come.
    pub fn append(&self, schema: &Schema, rows: Rows<'_>) -> Result<u64> {
        hedgerow_core::data::check_rows(schema, rows.x, rows.labels, rows.weights)?;
        let data = Dataset {
            schema: schema.clone(),
            features: Features::from_view(rows.x),
            labels: rows.labels.to_vec(),
            weights: rows.weights.map(<[f32]>::to_vec),
        };
        self.append_data(data)
    }

    /// The same for a data set.
    pub fn append_data(&self, data: Dataset) -> Result<u64> {
        data.schema.check_sizes()?;
        self.trainer.with(|host| {
            check_growth(host.schema(), &data.schema)?;
            Ok(host.append(data))
        })
    }

    /// Gives rows other labels, by their places in the order in which they came. Everything begins anew with these, while the published model goes on answering.
    pub fn relabel(&self, schema: &Schema, labels: &[(u64, ClassId)]) -> Result<()> {
        schema.check_sizes()?;
        self.trainer.with(|host| {
            check_growth(host.schema(), schema)?;
            for (place, class) in labels {
                if *place >= host.n_appended() {
                    let (expected, got) = (host.n_appended() as usize, *place as usize);
                    return Err(Error::Shape { what: "a row below", expected, got });
                }
                if class.index() >= schema.n_classes() {
                    let (expected, got) = (schema.n_classes(), class.index());
                    return Err(Error::Shape { what: "a class below", expected, got });
                }
            }
            host.relabel(schema, labels.to_vec());
            Ok(())
        })
    }

    /// The newest model with what is known about it. It stays as it is, however long it is kept.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.published.get()
    }

    /// What another engine needs to go on from a snapshot of this one, while this one goes on: the model gets copies of all rows, on the calling thread. None for a
    /// model that knows nothing yet. Of a model that [`Self::start_from`] was given, it is what was given.
    pub fn earlier(&self, snapshot: &Snapshot) -> Result<Option<Earlier>> {
        let Some(evidence) = snapshot.evidence.clone() else { return Ok(None) };
        // Taken after the snapshot: whatever it has not learnt is among the rows that judge, or came later than all of them.
        let held = self.trainer.with(|host| host.held());
        let model = snapshot.clone().with_rows(held.all_rows()?, held.n_dropped());
        Ok(Some(Earlier { model, evidence, judges: held.judges() }))
    }

    /// A probability for every class of every row, from the newest snapshot, on the calling thread. Never waits for training.
    pub fn predict_proba(&self, x: ArrayView2<'_, f32>) -> Result<Array2<f64>> {
        self.snapshot().model.predict_proba(x, &Par::sequential())
    }

    /// How all jobs stand.
    pub fn jobs(&self) -> Vec<Seen> {
        self.trainer.jobs()
    }

    /// Rounds done, where the budget is in rounds.
    pub fn rounds_done(&self) -> usize {
        self.trainer.rounds_done()
    }

    /// Nobody begins a slice until [`Self::resume`].
    pub fn pause(&self) {
        self.trainer.pause();
    }

    /// Goes on after [`Self::pause`].
    pub fn resume(&self) {
        self.trainer.resume();
    }

    /// Pauses one of the jobs, or lets it go on. Says whether there is such a job.
    pub fn set_job_paused(&self, job: usize, is_paused: bool) -> bool {
        self.trainer.set_paused(job, is_paused)
    }

    /// Drops one of the jobs: what it has made stays. Says whether there is such a job.
    pub fn cancel_job(&self, job: usize) -> bool {
        self.trainer.cancel(job)
    }

    /// Asks the work to end after the slices under way. Answers go on.
    pub fn stop(&self) {
        self.trainer.stop();
    }

    /// Waits until nothing is left to do or the budget is spent, and says why. New rows set it going again, unless the work has ended. What is in an observed store counts
    /// as something to do.
    pub fn wait(&self) -> StopReason {
        loop {
            self.catch_up();
            let reason = self.trainer.wait();
            if self.rest().is_some() || is_end(reason) {
                return reason;
            }
        }
    }

    /// Why nothing is being done; none while there is work.
    pub fn rest(&self) -> Option<StopReason> {
        // In this order: what is read from the store meanwhile is work for the trainer.
        let is_behind = self.is_behind();
        self.trainer.rest().filter(|reason| is_end(*reason) || !is_behind)
    }

    #[cfg(not(feature = "store"))]
    fn catch_up(&self) {}

    #[cfg(not(feature = "store"))]
    fn is_behind(&self) -> bool {
        false
    }

    /// Ends the work and returns the best model, with its rows.
    pub fn finish(self) -> Result<Finished> {
        let stop = self.rest().unwrap_or(StopReason::Interrupted);
        #[cfg(feature = "store")]
        self.leave_store();
        let jobs = self.trainer.jobs();
        let Some(mut host) = self.trainer.finish() else { return Err(Error::NoRows) };
        host.combine_last()?;
        let snapshot = self.published.get();
        let evidence = snapshot.evidence.clone();
        let snapshot = Arc::unwrap_or_clone(snapshot);
        let held = host.held();
        let model = snapshot.with_rows(held.all_rows()?, held.n_dropped());
        Ok(Finished { model, evidence, jobs, judges: held.judges(), stop })
    }
}

/// Whether the work has ended for good.
fn is_end(reason: StopReason) -> bool {
    matches!(reason, StopReason::Time | StopReason::Interrupted)
}

/// Parameters of the model that knows nothing yet: a forest without an end has a tree at least.
fn known(params: &ModelParams) -> ModelParams {
    let mut params = params.clone();
    match &mut params {
        ModelParams::Forest(params) => params.n_trees = params.n_trees.max(1),
        ModelParams::ForestIvm(params) => params.forest.n_trees = params.forest.n_trees.max(1),
        ModelParams::ForestKernel(params) => params.forest.n_trees = params.forest.n_trees.max(1),
        _ => {}
    }
    params
}
