//! The parameters of a query.

use hedgerow_core::params::{at_least, within};
use hedgerow_core::{Error, Params, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::strategy::StrategyName;

/// Parameters of a query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct QueryParams {
    /// How rows are chosen: `auto`, `random`, `margin` and so on.
    pub strategy: StrategyName,
    /// Candidates among the rows without labels, drawn afresh for each query; 0 leaves it to the strategy, which takes all rows up to a number that its cost allows.
    pub n_candidates: usize,
    /// Rows that stand for the whole pool where a strategy looks at how candidates lie among the others, drawn once; 10 or more.
    pub n_targets: usize,
    /// How much less a row counts that is like one chosen before it for the same batch, from 0 (not at all) to 1 (a copy counts nothing).
    pub diversity: f64,
    /// What it costs to take a row of each class for another one, in the order of the classes: rows whose decision costs most are asked for. Empty for 1 each.
    pub losses: Vec<f64>,
    /// Seed of all random choices: same seed, same rows, same labels, same query.
    pub seed: u64,
}

impl Default for QueryParams {
    fn default() -> Self {
        Self {
            strategy: StrategyName::Auto,
            n_candidates: 0,
            n_targets: 2_000,
            diversity: 1.0,
            losses: Vec::new(),
            seed: 0,
        }
    }
}

impl Params for QueryParams {
    fn rules(&self) -> Result<()> {
        at_least("n_targets", self.n_targets, 10)?;
        within("diversity", self.diversity, 0.0..=1.0)?;
        match self.losses.iter().find(|loss| !(loss.is_finite() && **loss > 0.0)) {
            Some(loss) => Err(Error::param("losses", "finite numbers above 0", loss)),
            None => Ok(()),
        }
    }
}
