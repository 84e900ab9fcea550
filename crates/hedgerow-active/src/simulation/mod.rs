//! Active learning simulated on a table whose labels are all known: which strategy learns fastest?
//!
//! Every strategy and model runs on the same splits and starts, one a seed, so that differences are of pairs. The labels of the start count. The area under a
//! learning curve is its mean accuracy, from the first label on.
//!
//! ```
//! use std::sync::Arc;
//!
//! use hedgerow_active::simulation::{Simulation, SimulationParams};
//! use hedgerow_active::{QueryModel, StrategyName, Trainer};
//! use hedgerow_core::testing::blobs;
//! use hedgerow_core::{Dataset, Par, Params as _, Result};
//! use ndarray::{Array2, ArrayView2};
//!
//! /// Predicts how often each class came.
//! struct Frequencies(Vec<usize>);
//!
//! impl QueryModel for Frequencies {
//!     fn n_classes(&self) -> usize {
//!         self.0.len()
//!     }
//!
//!     fn predict_proba(&self, x: ArrayView2<'_, f32>, _par: &Par) -> Result<Array2<f64>> {
//!         let sum: usize = self.0.iter().sum();
//!         let share = |(_, class): (usize, usize)| self.0[class] as f64 / sum as f64;
//!         Ok(Array2::from_shape_fn((x.nrows(), self.0.len()), share))
//!     }
//! }
//!
//! struct Count;
//!
//! impl Trainer for Count {
//!     fn train(&self, data: &Dataset, _seed: u64, _par: &Par) -> Result<Box<dyn QueryModel>> {
//!         Ok(Box::new(Frequencies(data.class_counts())))
//!     }
//! }
//!
//! let params = SimulationParams { labels: 10, seeds: 3, ..SimulationParams::default() };
//! let simulation = Simulation::new(params.check()?)
//!     .strategy(StrategyName::Margin)
//!     .strategy(StrategyName::Random)
//!     .model("frequencies", Arc::new(Count));
//! let result = simulation.run(&blobs(60, 2, 2, 1), &Par::sequential())?;
//! assert_eq!(result.outcomes.len(), 2);
//! # Ok::<(), hedgerow_core::Error>(())
//! ```

mod contestant;
mod curve;
mod params;
mod result;
mod run;
mod split;

use std::sync::Arc;

use hedgerow_core::{Checked, Dataset, Par, Params as _, Result, Task};

pub use contestant::Contestant;
pub use curve::{CurvePoint, Estimate, Outcome};
pub use params::SimulationParams;
pub use result::SimulationResult;

use crate::model::Trainer;
use crate::params::QueryParams;
use run::{Run, full_accuracy};
use split::Split;

/// Strategies and models that are to be compared.
pub struct Simulation {
    params: SimulationParams,
    query: QueryParams,
    strategies: Vec<Contestant>,
    models: Vec<(String, Arc<dyn Trainer>)>,
}

impl Simulation {
    /// Without any strategy or model yet.
    pub fn new(params: Checked<SimulationParams>) -> Self {
        let (strategies, models) = (Vec::new(), Vec::new());
        Self { params: params.get().clone(), query: QueryParams::default(), strategies, models }
    }

    /// With one more strategy.
    #[must_use]
    pub fn strategy(mut self, strategy: impl Into<Contestant>) -> Self {
        self.strategies.push(strategy.into());
        self
    }

    /// With one more model, under a name.
    #[must_use]
    pub fn model(mut self, name: impl Into<String>, trainer: Arc<dyn Trainer>) -> Self {
        self.models.push((name.into(), trainer));
        self
    }

    /// With other parameters of queries; their strategy and seed do not count.
    #[must_use]
    pub fn query(self, params: Checked<QueryParams>) -> Self {
        Self { query: params.get().clone(), ..self }
    }

    /// Runs all strategies with all models, runs side by side: their results are the same for any number of threads.
    pub fn run(&self, data: &Dataset, par: &Par) -> Result<SimulationResult> {
        self.run_watched(data, par, &|| {})
    }

    /// The same, told when a run ends.
    pub fn run_watched(
        &self,
        data: &Dataset,
        par: &Par,
        ended: &(dyn Fn() + Send + Sync),
    ) -> Result<SimulationResult> {
        data.check_trainable(Task::Classification)?;
        let params = &self.params;
        let splits = (0..params.seeds as u64)
            .map(|seed| Split::new(data, params, params.seed.wrapping_add(seed)))
            .collect::<Result<Vec<_>>>()?;
        let (n_seeds, n_strategies) = (splits.len(), self.strategies.len());
        let alone = par.alone();
        let runs = par.map(self.models.len() * n_strategies * n_seeds, |job| {
            let (split, rest) = (&splits[job % n_seeds], job / n_seeds);
            let (strategy, (_, trainer)) =
                (&self.strategies[rest % n_strategies], &self.models[rest / n_strategies]);
            let query = QueryParams { seed: split.seed, ..self.query.clone() }.check()?;
            let run = Run::new(split, strategy.strategy(trainer), trainer, params, query, &alone);
            ended();
            run
        });
        let runs = runs.into_iter().collect::<Result<Vec<Run>>>()?;
        let mut outcomes = Vec::new();
        for (place, (model, trainer)) in self.models.iter().enumerate() {
            let full = if params.share_of_full > 0.0 {
                let all = par.map(n_seeds, |seed| full_accuracy(&splits[seed], trainer, &alone));
                Some(all.into_iter().collect::<Result<Vec<f64>>>()?)
            } else {
                None
            };
            for (i, strategy) in self.strategies.iter().enumerate() {
                let first = (place * n_strategies + i) * n_seeds;
                let own = &runs[first..first + n_seeds];
                let share = params.share_of_full;
                outcomes.push(Outcome::new(&strategy.name, model, own, full.as_deref(), share));
            }
        }
        SimulationResult::new(params.clone(), outcomes)
    }

    /// How many runs there are.
    pub fn n_runs(&self) -> usize {
        self.params.seeds * self.strategies.len() * self.models.len()
    }
}
