//! ADWIN: a window that grows while its mean is steady and shrinks when it is not (Bifet and Gavaldà 2007).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::histogram::{Bucket, Histogram, total};
use crate::error::Result;
use crate::params::{Checked, Params, at_least, require};

/// How [`Adwin`] decides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AdwinParams {
    /// Confidence: the probability of a false alarm at one look is at most about this, above 0 and below 1.
    pub delta: f64,
    /// Values between two looks for a change, 1 or more.
    pub clock: u64,
    /// Fewest values in the window at which a change is looked for, 2 or more.
    pub min_window: u64,
    /// Fewest values on either side of a cut, 1 or more.
    pub min_part: u64,
    /// Buckets of one size, 2 or more: more cuts are tried, with more memory and time.
    pub max_buckets: usize,
}

impl Default for AdwinParams {
    fn default() -> Self {
        Self { delta: 0.002, clock: 32, min_window: 10, min_part: 5, max_buckets: 5 }
    }
}

impl Params for AdwinParams {
    fn rules(&self) -> Result<()> {
        require("delta", self.delta, self.delta > 0.0 && self.delta < 1.0, "above 0 and below 1")?;
        at_least("clock", self.clock, 1)?;
        at_least("min_window", self.min_window, 2)?;
        at_least("min_part", self.min_part, 1)?;
        at_least("max_buckets", self.max_buckets, 2)
    }
}

/// Which way a mean went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// The newer values are larger.
    Rose,
    /// The newer values are smaller.
    Fell,
}

/// A change that was found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Which way the mean went.
    pub direction: Direction,
    /// The mean of the older part of the window, cut where the parts differ most clearly.
    pub before: f64,
    /// The mean of the newer part there.
    pub after: f64,
    /// The length of the newer part there: how long ago the change was, as far as can be told.
    pub age: u64,
    /// How many of the newest values remain in the window. That may be many more than `age`: the window gives up no more
    /// than it must, and shrinks further as the change becomes clearer.
    pub width: u64,
}

/// Watches numbers from 0 to 1, such as the errors of a model, and tells when their mean has changed.
///
/// Two parts of the window whose means differ by more than chance explains mean that the older one is out of date, and it is
/// forgotten. A value costs O(1) and a look O(log n), where n is the width of the window; memory is O(log n). The
/// state is plain data: saved and restored it goes on exactly as it would have.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Adwin {
    params: AdwinParams,
    histogram: Histogram,
    width: u64,
    /// Values since the last look.
    unseen: u64,
}

impl Adwin {
    /// A detector that has seen nothing yet.
    pub fn new(params: &Checked<AdwinParams>) -> Self {
        Self { params: params.get().clone(), histogram: Histogram::default(), width: 0, unseen: 0 }
    }

    /// How many of the newest values are in the window: those since the last change, as far as is known.
    pub fn width(&self) -> u64 {
        self.width
    }

    /// The mean of the window; 0 where nothing has been seen. It costs O(log n).
    pub fn mean(&self) -> f64 {
        total(self.histogram.buckets()).mean()
    }

    /// Takes the next value in and says whether the mean is found to have changed. Values outside 0 to 1 count as the nearer
    /// of the two; one that is not a number is passed over.
    pub fn add(&mut self, value: f64) -> Option<Change> {
        if value.is_nan() {
            return None;
        }
        self.histogram.push(value.clamp(0.0, 1.0), self.params.max_buckets);
        self.width = self.width.saturating_add(1);
        self.unseen = self.unseen.saturating_add(1);
        if self.unseen < self.params.clock {
            return None;
        }
        self.unseen = 0;
        self.look()
    }

    /// Forgets the oldest values as long as some cut tells the rest apart.
    fn look(&mut self) -> Option<Change> {
        let buckets = self.histogram.buckets();
        let (mut first, mut n_forgotten, mut width) = (None, 0, self.width);
        while width > self.params.min_window
            && let Some(cut) = clearest_cut(&buckets[n_forgotten..], &self.params)
        {
            first.get_or_insert(cut);
            width = width.saturating_sub(buckets[n_forgotten].count);
            n_forgotten += 1;
        }
        let first = first?;
        self.histogram.forget(n_forgotten);
        self.width = width;
        Some(Change { width, ..first })
    }
}

/// Of the boundaries between buckets at which the means of the two parts differ by more than `epsilon_cut`, the one at which they do so
/// by the largest factor, as a change that has forgotten nothing yet.
fn clearest_cut(buckets: &[Bucket], params: &AdwinParams) -> Option<Change> {
    let window = total(buckets);
    let n = window.count as f64;
    let variance = window.scatter / n;
    // ln(2/δ') with δ' = δ / ln n, since the cuts tried are about ln n in number.
    let log_term = libm::log(2.0 * libm::log(n) / params.delta);
    let (mut n_old, mut sum_old) = (0_u64, 0.0);
    let (mut clearest, mut best_factor) = (None, 1.0);
    for bucket in buckets {
        n_old = n_old.saturating_add(bucket.count);
        sum_old += bucket.sum;
        let n_new = window.count.saturating_sub(n_old);
        if n_new < params.min_part.max(1) {
            break;
        }
        if n_old < params.min_part {
            continue;
        }
        let (before, after) = (sum_old / n_old as f64, (window.sum - sum_old) / n_new as f64);
        // 1/m = 1/n0 + 1/n1; ε_cut = √(2/m · σ² · ln(2/δ')) + 2/(3m) · ln(2/δ').
        let inverse_m = 1.0 / n_old as f64 + 1.0 / n_new as f64;
        let epsilon_cut =
            libm::sqrt(2.0 * inverse_m * variance * log_term) + 2.0 / 3.0 * inverse_m * log_term;
        let factor = (before - after).abs() / epsilon_cut;
        if factor > best_factor {
            best_factor = factor;
            let direction = if after > before { Direction::Rose } else { Direction::Fell };
            clearest = Some(Change { direction, before, after, age: n_new, width: window.count });
        }
    }
    clearest
}

#[cfg(test)]
mod tests;
