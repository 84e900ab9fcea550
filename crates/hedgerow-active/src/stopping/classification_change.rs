//! Stop when no prediction changes (Zhu, Wang and Hovy, 2008, Multi-criteria-based strategy to stop active learning for data annotation).

use super::history::History;
use super::rule::{Finding, StoppingRule};

/// Stops when the predictions of the stop set were the same over some rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClassificationChange {
    /// Successive comparisons without a change, 2 as published.
    pub checks: usize,
}

impl StoppingRule for ClassificationChange {
    fn name(&self) -> &'static str {
        "classification_change"
    }

    fn find(&self, history: &History) -> Finding {
        let changes: Vec<usize> =
            history.checkpoints().iter().rev().map_while(|check| check.n_changed).take(self.checks).collect();
        if changes.len() < self.checks {
            return Finding::unknown(format!(
                "{} of {} comparisons of successive models so far",
                changes.len(),
                self.checks
            ));
        }
        let rows = history.last().map_or(0, |last| last.predictions.len());
        let most = changes.iter().copied().max().unwrap_or(0);
        let reason = format!(
            "in the last {} rounds, at most {most} of {rows} predictions changed in one",
            self.checks
        );
        Finding::new(most == 0, most as f64 / rows as f64, reason)
    }
}
