//! How a forest and the machines that help it are trained.

use hedgerow_core::{Error, Params, Result};
use hedgerow_forest::{Bagging, ForestParams};
use hedgerow_gp::IvmParams;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::LEAST_WRONG;

/// Which rows machines have a say about (spec 000, A26 and A27).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Combine {
    /// One machine, about all rows.
    #[default]
    Pool,
    /// One machine, about rows that the forest can hardly decide.
    Gate,
    /// A machine for each class that the forest is often wrong with, about rows that it answers with that class.
    Route,
}

/// How a forest and the machines that help it are trained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ForestIvmParams {
    /// Which rows machines have a say about: pool (all), gate (those that the forest can hardly decide) or route (those that it answers with a
    /// class it is often wrong with).
    pub combine: Combine,
    /// With `combine=gate`: how far apart the forest's two best classes must be for it to decide alone, from 0 to 1; 0 searches for it.
    pub margin: f64,
    /// With `combine=route`: an answer of the forest that is right more often than this needs no machine, from 0 to 1.
    pub purity: f64,
    /// With `combine=route`: fewest rows that a machine is made for.
    pub min_rows: usize,
    /// The forest: its parameters, which may be set by their own names.
    pub forest: ForestParams,
    /// The machines: parameters of the ivm, which may be set by their own names.
    pub ivm: IvmParams,
    /// Seed of all random choices: same seed, same data, same model.
    pub seed: u64,
}

impl Default for ForestIvmParams {
    fn default() -> Self {
        Self {
            combine: Combine::Pool,
            margin: 0.0,
            purity: 0.95,
            min_rows: 200,
            forest: ForestParams::default(),
            ivm: IvmParams { n_active: 400, ..IvmParams::default() },
            seed: 0,
        }
    }
}

impl ForestIvmParams {
    /// With `combine=route`: whether rows that the forest answers with one class need a machine, by their number and how many of them it is wrong about.
    pub fn needs_machine(&self, n_rows: usize, n_wrong: usize) -> bool {
        let n_right = n_rows.saturating_sub(n_wrong) as f64;
        n_rows >= self.min_rows && n_wrong >= LEAST_WRONG && n_right < self.purity * n_rows as f64
    }

    /// Parameters of the forest, with the seed of all.
    pub fn forest_params(&self) -> ForestParams {
        ForestParams { seed: self.seed, ..self.forest.clone() }
    }

    /// Parameters of machines, with the seed of all.
    pub fn ivm_params(&self) -> IvmParams {
        IvmParams { seed: self.seed, ..self.ivm.clone() }
    }
}

impl Params for ForestIvmParams {
    fn rules(&self) -> Result<()> {
        for (name, value) in [("margin", self.margin), ("purity", self.purity)] {
            if !(0.0..=1.0).contains(&value) {
                return Err(Error::param(name, "a number from 0 to 1", value));
            }
        }
        if self.min_rows < 10 {
            return Err(Error::param("min_rows", "10 or more", self.min_rows));
        }
        if self.forest.bagging == Bagging::All {
            let expected = "a bagging that leaves rows out: what the forest says about them decides what machines are for";
            return Err(Error::param("bagging", expected, "all"));
        }
        self.forest.rules()?;
        self.ivm.rules()
    }
}
