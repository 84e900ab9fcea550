//! Stop when the next labels cost more than the errors they avoid.
//!
//! Pullar-Strecker, Dost, Frank and Wicker, 2022, Hitting the target: stopping active learning at the cost-based optimum: labels cost a price
//! each, and so does each wrong prediction of the final model on the rows it will ever predict.

use super::gain::Gain;
use super::history::History;
use super::rule::{Finding, StoppingRule};

/// Labels that are weighed against the errors they avoid.
const AHEAD: usize = 10;

/// Stops when the expected saving of ten more labels falls below their price.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// What a label costs.
    pub label_price: f64,
    /// What a wrong prediction costs.
    pub error_price: f64,
    /// How many rows will be predicted by the final model.
    pub horizon: u64,
    /// Labels between the models whose predictions are compared.
    pub lag: usize,
    /// Comparisons are averaged over so many labels.
    pub window: usize,
}

impl StoppingRule for Cost {
    fn name(&self) -> &'static str {
        "cost"
    }

    fn find(&self, history: &History) -> Finding {
        let Some(gain) = Gain::estimate(history, self.lag, self.window, AHEAD) else {
            return Finding::unknown(format!("models {} labels apart have not been compared yet", self.lag));
        };
        let saved = gain.mean * self.error_price * self.horizon as f64;
        let price = self.label_price * AHEAD as f64;
        let stop = saved < price;
        let side = if stop { "less than" } else { "at least" };
        let reason = format!(
            "{AHEAD} more labels cost {price:.4} and are expected to save {saved:.4} in errors, {side} that"
        );
        Finding::new(stop, saved - price, reason)
    }
}
