//! How prediction sets do while rows are learnt.

use serde::{Deserialize, Serialize};

use super::score::Scores;
use super::thresholds::{covers, size_of_balanced};
use super::{Conformal, Scored, SetMethod};

/// How the set of a row came out that was predicted before it was learnt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SetOutcome {
    /// Whether the class of the row was in its set.
    pub is_covered: bool,
    /// How many classes the set had.
    pub size: usize,
}

/// The level whose sets are followed while rows are learnt.
pub const TRACKED_LEVEL: f64 = 0.9;

impl Conformal {
    /// How the set of a row comes out, by the default method at [`TRACKED_LEVEL`]: the same as that of [`Self::sets`], in less time.
    pub fn outcome(&self, proba: &[f64], class: usize) -> SetOutcome {
        let method = SetMethod::Balanced;
        let level = match &self.0 {
            Scored::Fitted(_) => TRACKED_LEVEL,
            Scored::Online(online) => online.level(method, TRACKED_LEVEL),
        };
        let is_covered =
            class < proba.len() && covers(self.sample(), method, level, Scores::new(proba, class));
        SetOutcome { is_covered, size: size_of_balanced(self.sample(), level, proba) }
    }
}

/// Coverage and sizes of the sets of rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct SetTally {
    rows: u64,
    covered: u64,
    in_sets: u64,
}

impl SetTally {
    /// Adds a row.
    pub fn add(&mut self, outcome: SetOutcome) {
        self.rows += 1;
        self.covered += u64::from(outcome.is_covered);
        self.in_sets += outcome.size as u64;
    }

    /// Adds what another has counted.
    pub fn merge(&mut self, other: &Self) {
        self.rows += other.rows;
        self.covered += other.covered;
        self.in_sets += other.in_sets;
    }

    /// The share of rows whose class was in its set; none if there were no rows.
    pub fn coverage(&self) -> Option<f64> {
        (self.rows > 0).then(|| self.covered as f64 / self.rows as f64)
    }

    /// Classes in a set, the mean over rows; none if there were no rows.
    pub fn mean_size(&self) -> Option<f64> {
        (self.rows > 0).then(|| self.in_sets as f64 / self.rows as f64)
    }
}
