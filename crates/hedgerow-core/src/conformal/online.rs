//! Scores of the newest rows that a model has learnt, and the levels that keep the coverage.
//!
//! The scores of yesterday's rows promise nothing about tomorrow's where the concept drifts. So the level that is really used, ℓ, moves with every row:
//!
//! ```text
//! ℓ ← ℓ + γ (miss − (1 − level)),    miss = 1 if the class of the row was not in its set, else 0
//! ```
//!
//! (Gibbs & Candès, 2021, "Adaptive conformal inference under distribution shift"). As ℓ stays between −γ and 1 + γ, the misses of any T rows in a
//! row are off their share by (1 + 2γ) / (γ T) at most, whatever the rows are.

use serde::{Deserialize, Serialize};

use super::SetMethod;
use super::sample::Sample;
use super::score::Scores;
use super::thresholds::covers;
use crate::rng::{Purpose, Rng};
use crate::saved::{array, columns};

/// The newest rows whose scores count.
const WINDOW: usize = 1_000;
/// γ: how far a miss moves a level. With 0.025 any 1,000 rows in a row are off by 4.2 points at most.
const STEP: f64 = 0.025;
/// Levels that are followed; others lie between them.
const LEVELS: [f64; 5] = [0.5, 0.8, 0.9, 0.95, 0.99];

/// The newest rows learnt, and the levels in use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Online {
    /// In the order they came, once round.
    #[serde(with = "columns")]
    rows: Vec<Scores>,
    /// The place of the oldest, which the next one takes.
    oldest: usize,
    /// For each method, for each of [`LEVELS`].
    #[serde(with = "array")]
    levels: Vec<f64>,
    /// The same rows in rising order.
    #[serde(skip)]
    sample: Sample,
}

impl Default for Online {
    fn default() -> Self {
        let levels = SetMethod::ALL.iter().flat_map(|_| LEVELS).collect();
        Self { rows: Vec::new(), oldest: 0, levels, sample: Sample::default() }
    }
}

impl Online {
    /// Goes on from the scores of a fit, which give way to those of new rows one by one.
    pub(super) fn after(fitted: &Sample) -> Self {
        let mut rows = fitted.rows(WINDOW);
        // One class after the other would go.
        Rng::new(0, Purpose::Sample, 3).shuffle(&mut rows);
        rows.truncate(WINDOW);
        let mut online = Self { rows, ..Self::default() };
        online.sort();
        online
    }

    fn sort(&mut self) {
        self.sample = Sample::default();
        self.rows.iter().for_each(|row| self.sample.insert(*row));
    }

    pub(super) fn sample(&self) -> &Sample {
        &self.sample
    }

    /// The level to use for a wanted one.
    pub(super) fn level(&self, method: SetMethod, wanted: f64) -> f64 {
        let own = &self.levels[place(method)..][..LEVELS.len()];
        let known = LEVELS.into_iter().zip(own.iter().copied());
        let (mut below, mut above) = ((0.0, 0.0), (1.0, 1.0));
        for (level, used) in known {
            if level <= wanted {
                below = (level, used);
            } else if level < above.0 {
                above = (level, used);
            }
        }
        let share = (wanted - below.0) / (above.0 - below.0);
        below.1 + share * (above.1 - below.1)
    }

    /// Learns a row that was predicted.
    pub(super) fn learn(&mut self, proba: &[f64], class: usize) {
        let row = Scores::new(proba, class);
        for method in SetMethod::ALL {
            let own = &mut self.levels[place(method)..][..LEVELS.len()];
            for (used, wanted) in own.iter_mut().zip(LEVELS) {
                let miss = f64::from(u8::from(!covers(&self.sample, method, *used, row)));
                *used += STEP * (miss - (1.0 - wanted));
                if method == SetMethod::Adaptive {
                    // The most probable class is always in: more rows may be covered than are wanted, for good.
                    *used = used.max(0.0);
                }
            }
        }
        self.sample.insert(row);
        if self.rows.len() < WINDOW {
            self.rows.push(row);
            return;
        }
        let oldest = std::mem::replace(&mut self.rows[self.oldest], row);
        self.sample.remove(oldest);
        self.oldest = (self.oldest + 1) % WINDOW;
    }

    /// Whether what was read is possible for so many classes; makes what was not written.
    pub(super) fn complete(&mut self, n_classes: usize) -> bool {
        let is_level = |level: &f64| (-STEP..=1.0 + STEP).contains(level);
        let fits = self.rows.len() <= WINDOW
            && self.rows.iter().all(|row| row.is_valid(n_classes))
            && (self.oldest == 0 || self.rows.len() == WINDOW && self.oldest < WINDOW)
            && self.levels.len() == SetMethod::ALL.len() * LEVELS.len()
            && self.levels.iter().all(is_level);
        if fits {
            self.sort();
        }
        fits
    }

    pub(super) fn bytes(&self) -> usize {
        size_of::<Scores>() * self.rows.len() + self.sample.bytes()
    }
}

/// Where the levels of a method begin.
fn place(method: SetMethod) -> usize {
    SetMethod::ALL.iter().position(|other| *other == method).unwrap_or(0) * LEVELS.len()
}
