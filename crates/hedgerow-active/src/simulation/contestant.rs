//! Who takes part in a simulation.

use std::sync::Arc;

use crate::model::Trainer;
use crate::strategy::{Strategy, StrategyName};

/// Makes a strategy for models of a trainer.
type Make = dyn Fn(&Arc<dyn Trainer>) -> Box<dyn Strategy> + Send + Sync;

/// A query strategy under a name, made anew for each run.
#[derive(Clone)]
pub struct Contestant {
    /// Its name in results.
    pub name: String,
    make: Arc<Make>,
}

impl Contestant {
    /// One of one's own.
    pub fn new(
        name: impl Into<String>,
        make: impl Fn() -> Box<dyn Strategy> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), make: Arc::new(move |_| make()) }
    }

    /// The strategy, for a run with models of this trainer.
    pub(super) fn strategy(&self, trainer: &Arc<dyn Trainer>) -> Box<dyn Strategy> {
        (self.make)(trainer)
    }
}

/// One of ours with its defaults. Those that look ahead train the models of the simulation.
impl From<StrategyName> for Contestant {
    fn from(strategy: StrategyName) -> Self {
        let make = move |trainer: &Arc<dyn Trainer>| strategy.strategy_with(Some(trainer.clone()));
        Self { name: strategy.name().into(), make: Arc::new(make) }
    }
}

impl std::fmt::Debug for Contestant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Contestant").field("name", &self.name).finish_non_exhaustive()
    }
}
