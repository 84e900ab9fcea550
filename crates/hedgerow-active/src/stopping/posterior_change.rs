//! Stop when the posterior of a Gaussian process hardly moves any more.
//!
//! Ishibashi and Hino, 2020, Stopping criterion for active learning based on deterministic generalization bounds: r = exp(W₀((KL − 1)/e) + 1) − 1
//! bounds the change of the risk, and labelling stops when r has fallen to a share λ of what the first label gave.

use super::gaussian::Divergence;
use super::history::History;
use super::rule::{Finding, StoppingRule};

/// Stops when the bound falls to a share of the first one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PosteriorChange {
    /// The share λ.
    pub threshold: f64,
    /// How many bounds make the mean: one label alone may happen to change nothing.
    pub checks: usize,
}

impl StoppingRule for PosteriorChange {
    fn name(&self) -> &'static str {
        "posterior_change"
    }

    fn find(&self, history: &History) -> Finding {
        let bounds: Vec<f64> = history
            .checkpoints()
            .iter()
            .filter_map(|check| check.divergence)
            .map(Divergence::bound)
            .collect();
        let Some(first) = bounds.iter().copied().find(|bound| *bound > 0.0) else {
            return Finding::unknown(
                "this rule needs the posteriors of a Gaussian process, and two of them that differ",
            );
        };
        let recent = &bounds[bounds.len().saturating_sub(self.checks)..];
        if recent.len() < self.checks {
            return Finding::unknown(format!(
                "{} of {} changes of the posterior so far",
                recent.len(),
                self.checks
            ));
        }
        let share = recent.iter().sum::<f64>() / (recent.len() as f64 * first);
        let stop = share < self.threshold;
        let side = if stop { "below" } else { "at least" };
        let reason = format!(
            "the bound on the change of the risk is {share:.3} of the first one, {side} {}",
            self.threshold
        );
        Finding::new(stop, share, reason)
    }
}
