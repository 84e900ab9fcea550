//! What is advised, in words.

use std::fmt;

use serde::Serialize;

use super::gain::Gain;

/// Whether to go on labelling.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Advice {
    /// Whether to stop.
    pub stop: bool,
    /// The rule that was asked.
    pub rule: &'static str,
    /// Labels so far.
    pub n_labels: usize,
    /// The figure that decided, where it could be computed.
    pub figure: Option<f64>,
    /// Why, in a sentence without its period.
    pub reason: String,
    /// What the next ten labels would gain in accuracy, where there is enough to estimate it by.
    pub gain: Option<Gain>,
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = if self.stop { "labelling may stop" } else { "not yet" };
        write!(f, "{head}: {}", self.reason)?;
        if let Some(gain) = &self.gain {
            let [mean, low, high] = [gain.mean, gain.low.max(0.0), gain.high].map(|share| 100.0 * share);
            write!(
                f,
                "; the next {} labels would gain about {mean:.2} points of accuracy ({low:.2} to {high:.2})",
                gain.labels
            )?;
        }
        Ok(())
    }
}
