//! Parameters of kernel density classification.

use hedgerow_core::params::{at_least, require};
use hedgerow_core::{Params, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Kernels of densities.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DensityKernel {
    /// exp(−r²/2h²).
    #[default]
    Gaussian,
    /// All rows up to a distance count alike.
    Ball,
}

/// Parameters of kernel density classification.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct KdeParams {
    /// Kernel: gaussian, or ball, whose radius is such that it has the variance of the other.
    pub kernel: DensityKernel,
    /// Bandwidth h, on prepared columns; 0 for `bandwidth_scale` times the normal-reference rule.
    pub bandwidth: f64,
    /// Times the normal-reference bandwidth; 0 chooses it by the log-loss of leave-one-out predictions.
    pub bandwidth_scale: f64,
    /// What each class counts before any row does; 0 for one over the number of classes, which for two is Jeffreys' prior.
    pub prior: f64,
    /// Rows that are retained at most; those learnt longest ago are forgotten first, and a fit to more draws them at random.
    pub max_rows: usize,
    /// Seed of all random choices: same seed, same data, same model.
    pub seed: u64,
}

impl Default for KdeParams {
    fn default() -> Self {
        Self {
            kernel: DensityKernel::Gaussian,
            bandwidth: 0.0,
            bandwidth_scale: 0.0,
            prior: 0.0,
            max_rows: 20_000,
            seed: 0,
        }
    }
}

impl Params for KdeParams {
    fn rules(&self) -> Result<()> {
        for (name, value) in [("bandwidth", self.bandwidth), ("bandwidth_scale", self.bandwidth_scale)] {
            let holds = value == 0.0 || (1e-6..=1e6).contains(&value);
            require(name, value, holds, "0, or a number from 1e-6 to 1e6")?;
        }
        check_prior(self.prior)?;
        at_least("max_rows", self.max_rows, 2)
    }
}

/// Fails for a prior that does not compute.
pub(crate) fn check_prior(prior: f64) -> Result<()> {
    let holds = prior == 0.0 || (1e-6..=1e6).contains(&prior);
    require("prior", prior, holds, "0, or a number from 1e-6 to 1e6")
}
