//! How a GP with the kernel of a forest is trained.

use hedgerow_core::params::{at_least, require};
use hedgerow_core::{Params, Result};
use hedgerow_forest::ForestParams;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What learns with the kernel of the forest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KernelLearner {
    /// A Gaussian process with all rows.
    #[default]
    Gp,
    /// All rows through the active sets of IVMs.
    Ivm,
}

/// How a Gaussian process with the kernel of a forest is trained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ForestKernelParams {
    /// What learns with the kernel: gp (a Gaussian process with all rows) or ivm (all rows through the active sets of IVMs).
    pub learner: KernelLearner,
    /// With `learner=ivm`: active rows of each class, at most.
    pub n_active: usize,
    /// Blend the predictions of the GP with those of the forest, by out-of-fold predictions.
    pub blend: bool,
    /// Noise variance of labels of ±1, the kernel of a row with itself being 1; 0 searches for it.
    pub noise_variance: f64,
    /// Rows that the GP is trained on when the model goes on learning, at most: drawn from those that the forest retains. A fit takes all rows.
    pub max_rows: usize,
    /// The forest whose leaves are compared: its parameters, which may be set by their own names.
    pub forest: ForestParams,
    /// Seed of all random choices: same seed, same data, same model.
    pub seed: u64,
}

impl Default for ForestKernelParams {
    fn default() -> Self {
        Self {
            learner: KernelLearner::Gp,
            n_active: 100,
            blend: true,
            noise_variance: 0.0,
            max_rows: 20_000,
            forest: ForestParams::default(),
            seed: 0,
        }
    }
}

impl ForestKernelParams {
    /// Parameters of the forest, with the seed of all.
    pub fn forest_params(&self) -> ForestParams {
        ForestParams { seed: self.seed, ..self.forest.clone() }
    }
}

impl Params for ForestKernelParams {
    fn rules(&self) -> Result<()> {
        at_least("n_active", self.n_active, 1)?;
        let noise = self.noise_variance;
        require("noise_variance", noise, (0.0..=1e6).contains(&noise), "0, or a number up to 1e6")?;
        at_least("max_rows", self.max_rows, 100)?;
        self.forest.check_plain()?;
        self.forest.rules()
    }
}
