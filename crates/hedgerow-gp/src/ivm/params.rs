//! Parameters of the IVM.

use hedgerow_core::params::{at_least, require};
use hedgerow_core::{Params, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SecondPass;

/// How the Informative Vector Machine is trained.
#[expect(clippy::struct_excessive_bools, reason = "switches that a user sets one by one")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct IvmParams {
    /// Most rows in the active set of each one-vs-rest classifier.
    pub n_active: usize,
    /// Rows drawn at random that compete for each place; 0 lets all rows compete.
    pub n_candidates: usize,
    /// Length scale of the kernel, on prepared columns; 0 searches for it.
    pub length_scale: f64,
    /// Variance of the kernel; 0 searches for it.
    pub signal_variance: f64,
    /// Variance of the noise beside the likelihood's own; keeps the numbers sound.
    pub noise_variance: f64,
    /// How length scale and variance are searched for: `grid` tries a few, `cma` lets a population of them evolve, `gradient` climbs the log
    /// marginal likelihood of the active rows.
    pub search: SearchKind,
    /// What the search looks at: `loss` is the calibrated log-loss of out-of-sample predictions, `evidence` the log marginal
    /// likelihood of the active rows, `error` a mixture of that evidence and the mean error.
    pub objective: Objective,
    /// With `objective=error`: the weight of the errors among the rows of a class, between 0 and 1; those among the others have the rest.
    pub error_weight: f64,
    /// Pairs of length scale and variance that `cma` and `gradient` try at most.
    pub n_trials: usize,
    /// Let each class have a length scale and a variance of its own, near those found for all, where held-out rows show that this
    /// is better. With `refit` they only serve to choose active rows.
    pub class_kernels: bool,
    /// Rows like active ones of their class are chosen less readily.
    pub suppress: bool,
    /// Each active set has rows of its class and of the others in nearly equal numbers.
    pub balance: bool,
    /// What is done with the sites once the active rows are chosen: `none`, `reversed` or `ep`.
    pub second_pass: SecondPass,
    /// Fit scores to all rows once the active ones are known.
    pub refit: bool,
    /// Which rows a model that goes on learning forgets first: `inactive` draws them at random among those that are not active, then takes active ones by their
    /// rating; `rating` takes the lowest rating of all. It is the entropy that an active row's removal would give back, or that the label of another row
    /// would still take away.
    pub forget: Forget,
    /// Rows that a model which goes on learning retains, its active rows among them; 0 for 20 times `n_active`, but 2,000 at least.
    pub max_rows: usize,
    /// Seed of all random choices: same seed, same data, same model.
    pub seed: u64,
}

/// How length scale and variance are searched for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SearchKind {
    /// A few are tried.
    #[default]
    Grid,
    /// A population of them evolves (CMA-ES).
    Cma,
    /// The log marginal likelihood of the active rows is climbed by its gradient, and active rows chosen anew every few steps.
    Gradient,
}

/// What the search for length scale and variance looks at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Objective {
    /// The calibrated log-loss of out-of-sample predictions; without a refit, of predictions of rows that are not active.
    #[default]
    Loss,
    /// The log marginal likelihood of the active rows (assumed density filtering).
    Evidence,
    /// A mixture of that likelihood and the mean error.
    Error,
}

/// Which rows are forgotten first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Forget {
    /// Those that are not active, at random; then active ones by their rating.
    #[default]
    Inactive,
    /// Those of the lowest rating.
    Rating,
}

impl Default for IvmParams {
    fn default() -> Self {
        Self {
            n_active: 100,
            n_candidates: 0,
            length_scale: 0.0,
            signal_variance: 0.0,
            noise_variance: 1e-3,
            search: SearchKind::Grid,
            objective: Objective::Loss,
            error_weight: 0.5,
            n_trials: 60,
            class_kernels: false,
            suppress: false,
            balance: false,
            second_pass: SecondPass::None,
            refit: true,
            forget: Forget::Inactive,
            max_rows: 0,
            seed: 0,
        }
    }
}

impl IvmParams {
    /// Rows that a model which goes on learning retains.
    pub fn pool_rows(&self) -> usize {
        if self.max_rows > 0 { self.max_rows } else { 2000.max(20 * self.n_active) }
    }
}

impl Params for IvmParams {
    fn rules(&self) -> Result<()> {
        at_least("n_active", self.n_active, 1)?;
        at_least("n_trials", self.n_trials, 1)?;
        for (name, value) in [("length_scale", self.length_scale), ("signal_variance", self.signal_variance)]
        {
            require(name, value, (0.0..=1e12).contains(&value), "0, or a number up to 1e12")?;
        }
        let (weight, noise) = (self.error_weight, self.noise_variance);
        require("error_weight", weight, (0.0..=1.0).contains(&weight), "a number from 0 to 1")?;
        require("noise_variance", noise, noise > 0.0 && noise <= 1e6, "a number above 0, up to 1e6")
    }
}
