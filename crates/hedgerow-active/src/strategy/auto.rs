//! The default: coverage at first, margin later.

use hedgerow_core::Result;

use super::{Coverage, Strategy};
use crate::situation::Situation;

/// Labels at which half of a column's weight comes from its importance, and at which coverage counts by its root.
const LEARN_AFTER: f64 = 25.0;
const FADE_AFTER: f64 = 50.0;
/// How much the model's certainty is doubted where no label is near.
const NOVELTY: f64 = 0.5;
/// The contrast of distances up to which coverage counts less.
const CONTRAST: f64 = 0.7;

/// [`Coverage`] whose distances learn which columns matter, and which hands over to [`Margin`](super::Margin) as labels come.
#[derive(Debug, Clone)]
pub struct Auto(Coverage);

impl Default for Auto {
    fn default() -> Self {
        let mut coverage = Coverage::new(LEARN_AFTER, FADE_AFTER, NOVELTY);
        coverage.contrast = CONTRAST;
        Self(coverage)
    }
}

impl Strategy for Auto {
    fn utilities(&mut self, situation: &Situation<'_>) -> Result<Vec<f64>> {
        self.0.utilities(situation)
    }

    fn reason(&self, situation: &Situation<'_>, place: usize) -> String {
        self.0.reason(situation, place)
    }
}
