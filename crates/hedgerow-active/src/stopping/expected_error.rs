//! Stop when the model expects few errors (Zhu, Wang and Hovy, 2008, Multi-criteria-based strategy to stop active learning for data
//! annotation).

use super::history::History;
use super::rule::{Finding, StoppingRule};

/// Stops when the mean of 1 less the largest probability falls below a threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExpectedError {
    /// The threshold.
    pub threshold: f64,
}

impl StoppingRule for ExpectedError {
    fn name(&self) -> &'static str {
        "expected_error"
    }

    fn find(&self, history: &History) -> Finding {
        let Some(last) = history.last() else { return Finding::unknown("nothing was observed yet") };
        let stop = last.expected_error < self.threshold;
        let side = if stop { "below" } else { "at least" };
        let [error, threshold] = [last.expected_error, self.threshold].map(|share| 100.0 * share);
        let reason = format!("the model expects {error:.1} % errors, {side} {threshold:.1} %");
        Finding::new(stop, last.expected_error, reason)
    }
}
