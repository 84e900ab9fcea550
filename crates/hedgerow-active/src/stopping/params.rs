//! The parameters of stopping advice.

use hedgerow_core::params::{at_least, require, within};
use hedgerow_core::{Params, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Labels before which stopping is never advised, however the parameters are set.
const LEAST_LABELS: usize = 20;

/// Parameters of stopping advice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StoppingParams {
    /// When to stop: `relative_stability`, `stabilizing_predictions`, `classification_change`, `posterior_change` (Gaussian processes), `overall_uncertainty`, `expected_error` or `cost`.
    pub rule: RuleName,
    /// Labels before which stopping is never advised, 20 or more.
    pub min_labels: usize,
    /// The threshold of the rule, above 0 to 1; 0 is the rule's own: kappa 0.99 for `stabilizing_predictions`, a share of 0.05 for `posterior_change`, 0.05 for `overall_uncertainty`, 0.01 for `expected_error`.
    pub threshold: f64,
    /// Labels between the two models that `relative_stability`, `cost` and the expected gain compare, 1 or more.
    pub lag: usize,
    /// Labels over which they take the mean of such comparisons, 1 or more.
    pub window: usize,
    /// How much kappa may be lower between models `lag` labels apart than between two seeds, for `relative_stability`, 0 to 1.
    pub tolerance: f64,
    /// What a label costs, for `cost`, above 0.
    pub label_price: f64,
    /// What a wrong prediction costs, for `cost`, above 0.
    pub error_price: f64,
    /// How many rows will be predicted by the final model, for `cost`, 1 or more.
    pub horizon: u64,
}

impl Default for StoppingParams {
    fn default() -> Self {
        Self {
            rule: RuleName::RelativeStability,
            min_labels: 50,
            threshold: 0.0,
            lag: 30,
            window: 60,
            tolerance: 0.0025,
            label_price: 1.0,
            error_price: 1.0,
            horizon: 10_000,
        }
    }
}

impl Params for StoppingParams {
    fn rules(&self) -> Result<()> {
        at_least("min_labels", self.min_labels, LEAST_LABELS)?;
        within("threshold", self.threshold, 0.0..=1.0)?;
        at_least("lag", self.lag, 1)?;
        at_least("window", self.window, 1)?;
        within("tolerance", self.tolerance, 0.0..=1.0)?;
        for (name, price) in [("label_price", self.label_price), ("error_price", self.error_price)] {
            require(name, price, price.is_finite() && price > 0.0, "a number above 0")?;
        }
        at_least("horizon", self.horizon, 1)
    }
}

impl StoppingParams {
    /// The threshold, or the one of a rule where none is given.
    pub(super) fn threshold_or(&self, own: f64) -> f64 {
        if self.threshold > 0.0 { self.threshold } else { own }
    }
}

/// When to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RuleName {
    /// Predictions change no more with labels than with the seed.
    RelativeStability,
    /// Kappa between successive models stays high.
    StabilizingPredictions,
    /// No prediction changed.
    ClassificationChange,
    /// The bound on the change of a Gaussian process's risk has fallen.
    PosteriorChange,
    /// Predictions are certain.
    OverallUncertainty,
    /// The model expects few errors.
    ExpectedError,
    /// The next labels cost more than the errors they avoid.
    Cost,
}
