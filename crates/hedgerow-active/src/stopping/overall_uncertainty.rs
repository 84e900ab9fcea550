//! Stop when the model is certain of the stop set (Zhu, Wang and Hovy, 2008, Multi-criteria-based strategy to stop active learning for data
//! annotation).

use super::history::History;
use super::rule::{Finding, StoppingRule};

/// Stops when the mean entropy, as a share of that of equal probabilities, falls below a threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OverallUncertainty {
    /// The threshold.
    pub threshold: f64,
}

impl StoppingRule for OverallUncertainty {
    fn name(&self) -> &'static str {
        "overall_uncertainty"
    }

    fn find(&self, history: &History) -> Finding {
        let Some(last) = history.last() else { return Finding::unknown("nothing was observed yet") };
        let stop = last.entropy < self.threshold;
        let side = if stop { "below" } else { "at least" };
        let reason = format!("the mean normalized entropy is {:.3}, {side} {}", last.entropy, self.threshold);
        Finding::new(stop, last.entropy, reason)
    }
}
