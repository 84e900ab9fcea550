//! Parameters of a forest blended with IVMs.

use hedgerow_core::params::{at_least, require};
use hedgerow_core::{Params, Result};
use hedgerow_forest::{Bagging, ForestParams};
use hedgerow_gp::IvmParams;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::LEAST_WRONG;

/// Which predictions of the forest are blended with those of an IVM.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Combine {
    /// One IVM for all rows.
    #[default]
    Pool,
    /// One IVM, for rows where the margin of the forest's prediction is small.
    Gate,
    /// An IVM for each class that the forest often predicts wrongly, for rows where it predicts that class.
    Route,
}

/// Parameters of a forest blended with IVMs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ForestIvmParams {
    /// Which predictions of the forest are blended with those of an IVM: pool (all), gate (those with a small margin) or route (those of a class
    /// that the forest often predicts wrongly).
    pub combine: Combine,
    /// With `combine=gate`: the difference of the forest's two largest probabilities from which on it predicts alone, from 0 to 1; 0 searches for it.
    pub margin: f64,
    /// With `combine=route`: a class that the forest predicts with a higher precision than this gets no IVM, from 0 to 1.
    pub purity: f64,
    /// With `combine=route`: fewest rows that an IVM is trained on.
    pub min_rows: usize,
    /// The forest: its parameters, which may be set by their own names.
    pub forest: ForestParams,
    /// The IVMs: parameters of the `ivm`, which may be set by their own names.
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
    /// With `combine=route`: whether the rows for which the forest predicts one class get an IVM, by their number and the number of wrong predictions.
    pub fn needs_ivm(&self, n_rows: usize, n_wrong: usize) -> bool {
        let n_right = n_rows.saturating_sub(n_wrong) as f64;
        n_rows >= self.min_rows && n_wrong >= LEAST_WRONG && n_right < self.purity * n_rows as f64
    }

    /// Parameters of the forest, with the seed of all.
    pub fn forest_params(&self) -> ForestParams {
        ForestParams { seed: self.seed, ..self.forest.clone() }
    }

    /// Parameters of the IVMs, with the seed of all.
    pub fn ivm_params(&self) -> IvmParams {
        IvmParams { seed: self.seed, ..self.ivm.clone() }
    }
}

impl Params for ForestIvmParams {
    fn rules(&self) -> Result<()> {
        for (name, value) in [("margin", self.margin), ("purity", self.purity)] {
            require(name, value, (0.0..=1.0).contains(&value), "a number from 0 to 1")?;
        }
        at_least("min_rows", self.min_rows, 10)?;
        let expected =
            "a bagging that leaves rows out: out-of-bag predictions decide what IVMs are trained for";
        require("bagging", "all", self.forest.bagging != Bagging::All, expected)?;
        self.forest.check_plain()?;
        self.forest.rules()?;
        self.ivm.rules()
    }
}
