//! A model that is trained in the background while it predicts.
//!
//! An [`Engine`] is given rows at any time and works on its model in the background. Rows become a training run ([`TrainingRun`](hedgerow_core::TrainingRun)), whose jobs are done
//! step by step; the one that should gain most goes first (`hedgerow_trainer`, `docs/math/trainer.md`). Predictions come from a published [`Snapshot`], which is
//! never changed. It is replaced by the model of a complete run, and on the way by models that are no worse out of sample.
//!
//! Nothing here knows a kind of model. `rows` keeps what was given, `host` has the run and makes models of it, `observe` reads a store.
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
//! engine.append(&data.schema, Rows::new(x.view(), data.labels(), None))?;
//! let early = engine.predict_proba(x.view())?; // whatever is known now
//! engine.wait();
//! let finished = engine.finish()?;
//! assert_eq!(finished.model.n_seen(), Some(400));
//! # assert_eq!(early.nrows(), 400);
//! # Ok::<(), hedgerow::core::Error>(())
//! ```

mod host;
#[cfg(feature = "store")]
mod observe;
mod rows;
mod snapshot;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use hedgerow_core::{
    Budget, ClassId, DataProblem, Dataset, Error, Features, Normals, Par, Quality, Result, Rows, Schema,
    StopFlag, StopReason, Task,
};
use hedgerow_trainer::{JobReport, Options, Published, Trainer};
use ndarray::{Array2, ArrayView2};

use crate::kinds::ModelParams;
use crate::model::Model;
use host::EngineHost;
#[cfg(feature = "store")]
pub use observe::Observed;
pub use snapshot::Snapshot;

/// Snapshots that are held at a time: the published one, and the one that is being made or saved.
const SNAPSHOTS: u64 = 2;

/// How an engine runs its jobs: threads, policy, lanes, budget.
pub type EngineOptions = Options;

/// A model in training. See the [module](self).
pub struct Engine {
    trainer: Trainer<EngineHost>,
    published: Arc<Published<Snapshot>>,
    /// Ends steps under way.
    stop: StopFlag,
    #[cfg(feature = "store")]
    observation: std::sync::Mutex<Option<observe::Observation>>,
}

/// What an engine has left behind, for another one to go on from with the same rows.
#[derive(Debug, Clone)]
pub struct Earlier {
    /// The model.
    pub model: Model,
    /// How good it was out of sample, where that is known.
    pub validation: Option<Quality>,
}

/// What an engine leaves behind.
#[derive(Debug, Clone)]
pub struct Finished {
    /// The best model, with the rows it needs to go on learning.
    pub model: Model,
    /// How good its out-of-sample predictions were; none if nothing was learnt.
    pub validation: Option<Quality>,
    /// Rows that were given.
    pub n_rows: u64,
    /// How all jobs stood.
    pub jobs: Vec<JobReport>,
    /// Why training ended.
    pub stop: StopReason,
}

impl Engine {
    /// Starts an engine. It waits for rows.
    pub fn start(schema: Schema, params: &ModelParams, options: &EngineOptions) -> Result<Self> {
        let prior = Model::new(schema.clone(), &params.clone().with_a_prior())?;
        Self::begin(schema, params, options, Snapshot::new(prior))
    }

    /// The same, but predictions come from an earlier engine's model until there is a better one.
    pub fn start_from(
        schema: Schema,
        params: &ModelParams,
        options: &EngineOptions,
        earlier: Earlier,
    ) -> Result<Self> {
        let Earlier { model, validation } = earlier;
        if model.kind() != params.kind() {
            return Err(Error::param("model", params.kind().name(), model.kind()));
        }
        let n_rows = model.n_retained().unwrap_or(1).max(1);
        let first = Snapshot { validation, n_rows, ..Snapshot::new(model) };
        Self::begin(schema, params, options, first)
    }

    fn begin(schema: Schema, params: &ModelParams, options: &EngineOptions, first: Snapshot) -> Result<Self> {
        params.rules()?;
        params.kind().check_task(schema.task())?;
        if first.model.task() != schema.task() {
            let (expected, got) = (schema.task(), first.model.task());
            return Err(DataProblem::WrongTask { expected, got }.into());
        }
        let stop = options.budget.stop.child();
        let budget = Budget { stop: stop.clone(), rounds: None, copies: SNAPSHOTS, ..options.budget.clone() };
        let host = EngineHost::new(schema, params, options.lanes, budget, first);
        let published = Arc::clone(&host.published);
        Ok(Self {
            trainer: Trainer::start(host, options)?,
            published,
            stop,
            #[cfg(feature = "store")]
            observation: std::sync::Mutex::default(),
        })
    }

    /// Gives it rows to learn, with classes or numbers as targets. `schema` is that of earlier calls, grown by the classes and categories that have come since. Returns at once, with the place of the first
    /// row in the order in which rows come.
    pub fn append(&self, schema: &Schema, rows: Rows<'_>) -> Result<u64> {
        let (targets, weights) = (rows.targets.to_targets(), rows.weights.map(<[f32]>::to_vec));
        self.append_data(Dataset::new(schema.clone(), Features::from_view(rows.x), targets, weights)?)
    }

    /// The same for a data set.
    pub fn append_data(&self, data: Dataset) -> Result<u64> {
        data.schema.check_sizes()?;
        self.trainer.with(|host| {
            host.inbox.schema.check_growth(&data.schema)?;
            Ok(host.inbox.append(data))
        })
    }

    /// Gives rows other labels, by their places in the order in which they came. Everything begins anew with these, while the published model goes on
    /// predicting. Fails for a regression.
    pub fn relabel(&self, schema: &Schema, labels: &[(u64, ClassId)]) -> Result<()> {
        schema.check_sizes()?;
        self.trainer.with(|host| {
            host.inbox.schema.check_growth(schema)?;
            if schema.task() == Task::Regression {
                let (expected, got) = (Task::Classification, schema.task());
                return Err(DataProblem::WrongTask { expected, got }.into());
            }
            let check = |what, n: u64, got: u64| {
                if got < n { Ok(()) } else { Err(Error::param(what, format!("a number below {n}"), got)) }
            };
            for (place, class) in labels {
                check("row", host.inbox.n_rows, *place)?;
                check("class", schema.n_classes() as u64, class.index() as u64)?;
            }
            host.inbox.relabel(schema, labels.to_vec());
            Ok(())
        })
    }

    /// The newest model with what is known about it. It stays as it is, however long it is kept.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.published.get()
    }

    /// A probability for every class of every row, from the newest snapshot, on the calling thread. Never waits for training.
    pub fn predict_proba(&self, x: ArrayView2<'_, f32>) -> Result<Array2<f64>> {
        self.snapshot().model.predict_proba_par(x, &Par::sequential())
    }

    /// A number with its variance for every row, from the newest snapshot, on the calling thread. Never waits for training. Fails for a classifier, as
    /// [`Self::predict_proba`] does for a regression model.
    pub fn predict_values(&self, x: ArrayView2<'_, f32>) -> Result<Normals> {
        self.snapshot().model.predict_values_par(x, &Par::sequential())
    }

    /// How all jobs stand.
    pub fn jobs(&self) -> Vec<JobReport> {
        self.trainer.jobs()
    }

    /// Rounds done, where the budget is in rounds.
    pub fn rounds_done(&self) -> usize {
        self.trainer.rounds_done()
    }

    /// No slice is begun until [`Self::resume`].
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

    /// Asks the work to end after the slices under way. Predictions go on.
    pub fn stop(&self) {
        self.stop.stop();
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
        drop(self.observation);
        let jobs = self.trainer.jobs();
        self.stop.stop();
        let Some(mut host) = self.trainer.finish() else { return Err(Error::StillRunning) };
        host.make_last()?;
        let n_rows = host.inbox.n_rows;
        drop(host);
        let snapshot = self.published.get();
        let (model, validation) = (snapshot.model.clone(), snapshot.validation.clone());
        Ok(Finished { model, validation, n_rows, jobs, stop })
    }
}

/// Whether the work has ended for good.
fn is_end(reason: StopReason) -> bool {
    matches!(reason, StopReason::Time | StopReason::Interrupted)
}
