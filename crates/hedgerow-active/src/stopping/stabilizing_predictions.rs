//! Stop when predictions have stabilized: kappa between successive models stays high.
//!
//! Bloodgood and Vijay-Shanker, 2009, A method for stopping active learning based on stabilizing predictions and the need for user-adjustable
//! stopping; Bloodgood and Grothendieck, 2013, Analysis of stopping active learning based on stabilizing predictions.

use super::history::History;
use super::rule::{Finding, StoppingRule};

/// Stops when the mean of the last kappas reaches a threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StabilizingPredictions {
    /// The threshold, 0.99 as published.
    pub threshold: f64,
    /// How many kappas make the mean, 3 as published.
    pub checks: usize,
}

/// The most by which the F measure can differ between two models whose predictions have a kappa above `threshold`: 4(1 − T)/T.
/// It is a bound on change, not on error.
pub fn bound_on_f(threshold: f64) -> f64 {
    if threshold > 0.0 { (4.0 * (1.0 - threshold) / threshold).clamp(0.0, 1.0) } else { 1.0 }
}

impl StoppingRule for StabilizingPredictions {
    fn name(&self) -> &'static str {
        "stabilizing_predictions"
    }

    fn find(&self, history: &History) -> Finding {
        let kappas: Vec<f64> =
            history.checkpoints().iter().rev().map_while(|check| check.kappa).take(self.checks).collect();
        if kappas.len() < self.checks {
            return Finding::unknown(format!(
                "{} of {} comparisons of successive models so far",
                kappas.len(),
                self.checks
            ));
        }
        let mean = kappas.iter().sum::<f64>() / kappas.len() as f64;
        let bound = 100.0 * bound_on_f(mean);
        let reason = format!(
            "the mean of the last {} kappas between successive models is {mean:.3}, {} {}; F changed by {bound:.1} points at most",
            self.checks,
            if mean >= self.threshold { "at least" } else { "below" },
            self.threshold,
        );
        Finding::new(mean >= self.threshold, mean, reason)
    }
}
