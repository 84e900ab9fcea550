//! Parameters of nearest neighbours.

use hedgerow_core::params::{at_least, require, within};
use hedgerow_core::{Params, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::background::MOST_ROWS;
use crate::kde::check_prior;
use crate::metric::Metric;

/// Which rows count how much.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KnnMethod {
    /// The k nearest rows, each by the probability that it would still be among them if rows of no class were drawn everywhere.
    #[default]
    Probabilistic,
    /// Those of the k nearest rows that are left when artificial rows of no class are among them.
    DataDriven,
    /// All rows up to a distance.
    Epsilon,
}

/// Parameters of nearest neighbours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct KnnParams {
    /// Which rows count: probabilistic (confidence k-NN in closed form), data-driven (the same by artificial rows) or epsilon (all rows up to a distance).
    pub method: KnnMethod,
    /// How distances are measured on prepared columns: euclidean, manhattan or chebyshev.
    pub metric: Metric,
    /// Neighbors; 0 chooses among 3 to 60 by the log-loss of leave-one-out predictions.
    pub k: usize,
    /// probabilistic: a row counts half or so where its k-th neighbor is so many deviations farther away than the mean one of training rows.
    pub reach: f64,
    /// data-driven: artificial rows; 0 takes the most with which the leave-one-out accuracy is within a standard error of the best.
    pub n_artificial: usize,
    /// epsilon: the distance, on prepared columns; 0 chooses it by the log-loss of leave-one-out predictions.
    pub radius: f64,
    /// What each class counts before any row does; 0 for one over the number of classes, which for two is Jeffreys' prior.
    pub prior: f64,
    /// Rows that are retained at most; those learnt longest ago are forgotten first, and a fit to more draws them at random.
    pub max_rows: usize,
    /// Seed of all random choices: same seed, same data, same model.
    pub seed: u64,
}

impl Default for KnnParams {
    fn default() -> Self {
        Self {
            method: KnnMethod::Probabilistic,
            metric: Metric::Manhattan,
            k: 0,
            reach: 2.0,
            n_artificial: 0,
            radius: 0.0,
            prior: 0.0,
            max_rows: 20_000,
            seed: 0,
        }
    }
}

impl Params for KnnParams {
    fn rules(&self) -> Result<()> {
        within("k", self.k, 0..=10_000)?;
        within("n_artificial", self.n_artificial, 0..=MOST_ROWS)?;
        require("reach", self.reach, (0.0..=1e6).contains(&self.reach), "a number from 0 to 1e6")?;
        let is_radius = self.radius == 0.0 || (1e-6..=1e6).contains(&self.radius);
        require("radius", self.radius, is_radius, "0, or a number from 1e-6 to 1e6")?;
        check_prior(self.prior)?;
        at_least("max_rows", self.max_rows, 2)
    }
}
