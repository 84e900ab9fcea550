//! The place in a stream, and the concept there.

use super::Schedule;
use super::draw::{Draw, chance};
use crate::rng::Rng;

/// Counts rows and says which concept each follows.
#[derive(Debug, Clone)]
pub(super) struct Cursor {
    schedule: Schedule,
    row: u64,
    mixing: Rng,
}

impl Cursor {
    pub(super) fn new(schedule: Schedule, seed: u64) -> Self {
        Self { schedule, row: 0, mixing: Draw::Mixing.rng(seed) }
    }

    /// The number of the concept that the next row follows; moves on to the row after it.
    pub(super) fn advance(&mut self) -> u64 {
        let mixture = self.schedule.mixture(self.row);
        self.row += 1;
        if mixture.old == mixture.new || chance(&mut self.mixing, mixture.share) {
            mixture.new
        } else {
            mixture.old
        }
    }

    /// The changes below row `n_rows`.
    pub(super) fn changes(&self, n_rows: u64) -> Vec<u64> {
        self.schedule.changes.below(n_rows)
    }
}
