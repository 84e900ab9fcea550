//! What is simulated.

use hedgerow_core::params::{at_least, require, within};
use hedgerow_core::{Error, Params, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How active learning is simulated on a table whose labels are all known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SimulationParams {
    /// Labels at the end of a run, those at its start among them.
    pub labels: usize,
    /// Labels of rows drawn at random that a run starts with: the same rows for every strategy and model.
    pub start: usize,
    /// Rows that are labelled together.
    pub batch: usize,
    /// Runs of each strategy and model. Runs of one seed share their split and their start.
    pub seeds: usize,
    /// The share of the rows that are held out to test on.
    pub test_share: f64,
    /// Rows to test on at most.
    pub most_test: usize,
    /// Rows of the pool at most, drawn at random; 0 takes all.
    pub most_pool: usize,
    /// The share of the accuracy with all labels of the pool that is to be reached; 0 does not train on all labels.
    pub share_of_full: f64,
    /// Seed of the first run; the next one has the next seed.
    pub seed: u64,
}

impl Default for SimulationParams {
    fn default() -> Self {
        Self {
            labels: 100,
            start: 0,
            batch: 1,
            seeds: 10,
            test_share: 0.33,
            most_test: 2_000,
            most_pool: 2_000,
            share_of_full: 0.95,
            seed: 0,
        }
    }
}

impl Params for SimulationParams {
    fn rules(&self) -> Result<()> {
        at_least("labels", self.labels, 2)?;
        if self.start > self.labels {
            let expected = format!("at most as many as labels, {}", self.labels);
            return Err(Error::param("start", expected, self.start));
        }
        at_least("batch", self.batch, 1)?;
        at_least("seeds", self.seeds, 1)?;
        let test_share = self.test_share;
        require("test_share", test_share, test_share > 0.0 && test_share < 1.0, "a number between 0 and 1")?;
        at_least("most_test", self.most_test, 1)?;
        within("share_of_full", self.share_of_full, 0.0..=1.0)
    }
}
