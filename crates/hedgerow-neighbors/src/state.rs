//! What these classifiers need to go on learning.

use hedgerow_core::saved::require;
use hedgerow_core::{Pause, Prequential, Result, RetainedRows, Schedule, Schema};
use serde::{Deserialize, Serialize};

/// Log odds that cannot come up: a class that was not known yet has the lowest of them.
pub(crate) const ODDS: std::ops::RangeInclusive<f64> = -800.0..=800.0;
/// The log odds of a class for rows that came before it.
pub(crate) const LATE: f64 = -30.0;

/// Rows between two times that something is due.
pub(crate) fn pause(max_rows: usize) -> Pause {
    Pause { share: 8, least: 16, most: (max_rows as u64 / 8).clamp(16, 1024) }
}

/// A bounded number of rows, the newest ones, and what was predicted of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct OnlineState {
    pub(crate) rows: RetainedRows,
    pub(crate) schedule: Schedule,
    /// The summed weights of all rows learnt.
    pub(crate) weight_seen: f64,
    pub(crate) prequential: Prequential,
}

impl OnlineState {
    /// After a fit to `n_seen` rows, of which these are retained.
    pub(crate) fn new(rows: RetainedRows, n_seen: usize, max_rows: usize) -> Self {
        let schedule = Schedule::new(n_seen as u64, pause(max_rows));
        let weights = rows.weights().into_iter().flatten().map(|w| f64::from(*w));
        let mean =
            if rows.weights().is_some() { weights.sum::<f64>() / rows.len().max(1) as f64 } else { 1.0 };
        let weight_seen = mean * n_seen as f64;
        Self { rows, schedule, weight_seen, prequential: Prequential::default() }
    }

    /// Whether settings are to be chosen anew: twice as many rows were learnt as when they were chosen, or all retained rows are others.
    pub(crate) fn is_outdated(&self, max_rows: usize) -> bool {
        let since = self.schedule.since_search();
        self.schedule.has_doubled() || since >= max_rows as u64
    }

    pub(crate) fn bytes(&self) -> usize {
        self.rows.bytes() + self.prequential.bytes()
    }

    /// Fails unless what was read fits together and the schema.
    pub(crate) fn check(&self, schema: &Schema) -> Result<()> {
        self.rows.check(schema)?;
        let is_weight = self.weight_seen >= 0.0 && self.weight_seen.is_finite();
        let fits = is_weight
            && self.schedule.is_valid(self.rows.len())
            && self.prequential.is_valid(schema.n_classes(), ODDS);
        require(fits, || "retained rows, the schedule and prequential predictions do not fit together")
    }
}
