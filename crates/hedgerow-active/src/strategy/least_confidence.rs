//! Uncertainty sampling by least confidence (Lewis and Gale, 1994, A sequential algorithm for training text classifiers).

use hedgerow_core::Result;

use super::Strategy;
use crate::situation::Situation;

/// Rows whose most probable class is least probable: 1 − p₁. For two classes, ½ − |p − ½|. Where classes have losses, rows whose best decision is
/// expected to cost most.
#[derive(Debug, Clone, Copy, Default)]
pub struct LeastConfidence;

impl Strategy for LeastConfidence {
    fn utilities(&mut self, situation: &Situation<'_>) -> Result<Vec<f64>> {
        Ok(situation.by_probabilities(|proba| situation.expected_loss(proba)))
    }
}
