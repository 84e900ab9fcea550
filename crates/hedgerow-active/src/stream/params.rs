//! The parameters of queries in a stream.

use hedgerow_core::params::{at_least, require, within};
use hedgerow_core::{Params, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of queries in a stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StreamQueryParams {
    /// The share of rows whose labels are asked for at most, above 0 to 1. At no time have there been more.
    pub rate: f64,
    /// The share of these labels that is asked for at random, so that drift is seen where the model is certain, 0 to 1; 1 is random sampling.
    pub random_share: f64,
    /// How quickly the threshold of uncertainty follows the stream: a query raises its logarithm by about this much, above 0 to 10.
    pub step: f64,
    /// Labels that were not asked for may be asked for later, but not those of more than so many rows, 1 or more.
    pub window: usize,
    /// Rows that are looked at together: the labels of the most uncertain ones among them are asked for, at their end; 1 decides about each row when it
    /// comes.
    pub batch: usize,
    /// Uncertainty below which no label of a batch is asked for but at random, 0 to 1: it is 1 less the difference of the two largest probabilities.
    pub threshold: f64,
    /// Seed of all random choices.
    pub seed: u64,
}

impl Default for StreamQueryParams {
    fn default() -> Self {
        Self { rate: 0.05, random_share: 0.2, step: 0.3, window: 1_000, batch: 1, threshold: 0.0, seed: 0 }
    }
}

impl Params for StreamQueryParams {
    fn rules(&self) -> Result<()> {
        require("rate", self.rate, self.rate > 0.0 && self.rate <= 1.0, "a share above 0, up to 1")?;
        within("random_share", self.random_share, 0.0..=1.0)?;
        require("step", self.step, self.step > 0.0 && self.step <= 10.0, "a number above 0, up to 10")?;
        at_least("window", self.window, 1)?;
        at_least("batch", self.batch, 1)?;
        within("threshold", self.threshold, 0.0..=1.0)
    }
}
