//! How many labels may be asked for by now.

use serde::{Deserialize, Serialize};

/// Counts rows and labels, so that there is never more than a share of labels; what was not spent is kept for a while.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Allowance {
    /// Rows so far.
    seen: u64,
    /// Labels asked for so far.
    queried: u64,
    /// Labels that were not asked for and no longer may be.
    lapsed: u64,
}

impl Allowance {
    /// Rows have come.
    pub(super) fn add(&mut self, n_rows: usize, rate: f64, window: usize) {
        self.seen += n_rows as u64;
        let kept = (rate * window as f64).max(1.0) as u64;
        self.lapsed += self.left(rate).saturating_sub(kept);
    }

    /// Labels that may be asked for now.
    pub(super) fn left(&self, rate: f64) -> u64 {
        // Shares such as 0.05 have no exact binary form: a product that should be whole may fall just short.
        let allowed = (rate * self.seen as f64 * (1.0 + 1e-12)) as u64;
        allowed.saturating_sub(self.queried + self.lapsed)
    }

    /// Labels are asked for.
    pub(super) fn spend(&mut self, n_labels: usize) {
        self.queried += n_labels as u64;
    }

    pub(super) fn n_seen(&self) -> u64 {
        self.seen
    }

    pub(super) fn n_queried(&self) -> u64 {
        self.queried
    }
}
