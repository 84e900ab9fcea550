//! The choices among algorithms that parameters name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which columns are tried in which order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trainer {
    /// `whole` for few rows, `working_set` for more.
    #[default]
    Auto,
    /// All rows are candidates at once.
    Whole,
    /// The next candidates are the rows with the largest errors.
    WorkingSet,
    /// The next candidates come in random order.
    Incremental,
    /// Parts are solved side by side, their relevant rows merged in pairs.
    SplitMerge,
}

/// How the evidence of given candidates is maximised.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Solver {
    /// One candidate at a time (Tipping and Faul 2003).
    #[default]
    Fast,
    /// All candidates, of which those without use are dropped (Tipping 2001).
    Basic,
}

/// When a solve of the basic solver that is not the last ends early: with fewer candidates left than this.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaterMark {
    /// Half of the candidates that the solve began with.
    #[default]
    Current,
    /// Half of the partition size.
    Partition,
    /// Never.
    None,
}

/// Which rows the evidence of candidates is taken of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RowsUsed {
    /// All, but a sample where there are more rows than that has.
    #[default]
    Auto,
    /// All.
    All,
    /// Those that are candidates: least work and memory, at the price of accuracy.
    Active,
    /// A sample, except in the last solve.
    Sample,
}

/// From how sparse a probe is to how many candidates are added at a time (Ben-Shimon and Shmilovici 2006).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Heuristic {
    /// Shares of relevant rows up to which a probe is sparse, and half sparse.
    pub limits: [f64; 2],
    /// What the size of the probe is multiplied with: sparse, half sparse, not sparse.
    pub factors: [f64; 3],
}

impl Default for Heuristic {
    fn default() -> Self {
        Self { limits: [0.25, 0.75], factors: [0.2, 0.6, 1.0] }
    }
}

impl Heuristic {
    /// The size √(N d) of the probe, rounded up.
    pub fn probe_rows(n_rows: usize, n_features: usize) -> usize {
        (libm::ceil(libm::sqrt(n_rows as f64 * n_features as f64)) as usize).clamp(1, n_rows.max(1))
    }

    /// Candidates added at a time, given the share of the probed rows that were relevant. Rounds up.
    pub fn partition(&self, n_rows: usize, n_features: usize, share: f64) -> usize {
        let factor = match share {
            share if share <= self.limits[0] => self.factors[0],
            share if share <= self.limits[1] => self.factors[1],
            _ => self.factors[2],
        };
        (libm::ceil(factor * libm::sqrt(n_rows as f64 * n_features as f64)) as usize).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partition_sizes_are_those_published() {
        let heuristic = Heuristic::default();
        let partition = |n_rows, n_features, n_relevant: usize| {
            let share = n_relevant as f64 / Heuristic::probe_rows(n_rows, n_features) as f64;
            heuristic.partition(n_rows, n_features, share)
        };
        assert_eq!(partition(6144, 8, 38), 45);
        assert_eq!(partition(6144, 8, 82), 134);
        assert_eq!(partition(6144, 32, 78), 89);
        assert_eq!(partition(100, 4, 20), 20, "a probe that is not sparse");
    }
}
