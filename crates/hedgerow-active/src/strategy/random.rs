//! Rows drawn at random: what every other strategy has to beat.

use hedgerow_core::Result;
use hedgerow_core::rng::{Purpose, Rng};

use super::Strategy;
use crate::situation::Situation;

/// Rows drawn at random.
#[derive(Debug, Clone, Copy, Default)]
pub struct Random;

impl Strategy for Random {
    fn utilities(&mut self, situation: &Situation<'_>) -> Result<Vec<f64>> {
        let index = (1 << 32) + situation.pool().labelled().len() as u64;
        let mut rng = Rng::new(situation.seed(), Purpose::Query, index);
        Ok(situation.candidates().iter().map(|_| rng.unit()).collect())
    }

    fn reason(&self, _situation: &Situation<'_>, _place: usize) -> String {
        "drawn at random".into()
    }
}
