//! The choice of the rows of a leaf and of background rows.
//!
//! Labels say nothing about places without rows, so accuracy cannot tell how many background rows there should be: but it can tell how many there
//! may be. The rows of a leaf are chosen without background rows, which can only take places (Röder, 2013, section 3.6).

use hedgerow_core::second_order::shared_prior;
use hedgerow_core::traits::largest;
use hedgerow_core::{Result, Training};
use serde::{Deserialize, Serialize};

use super::grow::{Grower, Growth, some_of};
use crate::bag::Bagging;
use crate::params::{BackgroundRows, ForestParams};

/// Rows of a leaf that are tried: with more of them, leaves would reach from rows to places far beyond all rows.
const LEAF_ROWS: [usize; 3] = [2, 3, 4];
/// Rows of a leaf where there is nothing to choose by.
const USUAL_LEAF_ROWS: usize = 4;
/// Background rows that are tried, for each row. Never none: evidence would not end where rows do.
const SHARES: [f64; 5] = [0.25, 0.5, 1.0, 2.0, 4.0];
/// Background rows for each row where there is nothing to choose by.
const USUAL_SHARE: f64 = 1.0;
/// Trees of a forest that is tried, and rows it is grown from.
const N_TREES: usize = 40;
const MOST_ROWS: usize = 2_000;
/// A choice by fewer than this share of the rows there are now is made again.
const OUTDATED: f64 = 0.5;
/// Rows that a choice is possible by.
const LEAST_ROWS: usize = 20;

/// What the trees of a confidence forest are grown with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Choice {
    /// Fewest rows in a leaf, k.
    pub(super) leaf_rows: usize,
    /// Background rows for each row, n₀/n.
    pub(super) background_share: f64,
    /// Rows that it was chosen by.
    pub(super) n_rows: usize,
}

impl Choice {
    /// Background rows beside so many rows.
    pub(super) fn n_background(&self, n_rows: usize) -> usize {
        libm::round(self.background_share * n_rows as f64) as usize
    }

    /// Whether there are so many rows now that it should be made again.
    pub(super) fn is_outdated(&self, n_rows: usize) -> bool {
        (self.n_rows as f64) < OUTDATED * n_rows as f64
    }

    /// Whether what was read can be.
    pub(super) fn is_valid(&self) -> bool {
        self.leaf_rows > 0 && (0.0..=1e9).contains(&self.background_share)
    }
}

/// Chooses what the parameters leave open, by trees that left a row out: the most rows of a leaf, then the most background rows with which the
/// accuracy is within a standard error of the best.
pub(super) fn choose(grower: &Grower<'_>, training: &Training<'_>) -> Result<Choice> {
    let (data, params) = (grower.data, grower.params);
    let n_rows = data.n_rows();
    let given = match params.background_rows {
        BackgroundRows::Auto => None,
        BackgroundRows::Count(n) => Some(n as f64 / n_rows.max(1) as f64),
    };
    let part = some_of(data, MOST_ROWS, params.seed);
    let data = part.as_ref().unwrap_or(data);
    let params = ForestParams { bagging: leaves_out(params.bagging), ..params.clone() };
    let counts = data.class_counts();
    let can_choose = data.n_rows() >= LEAST_ROWS && counts.iter().filter(|count| **count > 0).count() > 1;
    let grower = Grower::new(data, &params)?;
    let leaf_rows: Vec<usize> = match (params.confidence_rows, can_choose) {
        (0, true) => LEAF_ROWS.iter().copied().filter(|k| 4 * k <= data.n_rows()).collect(),
        (0, false) => vec![USUAL_LEAF_ROWS],
        (given, _) => vec![given],
    };
    let leaf_rows = most_within(&leaf_rows, |k| accuracy(&grower, *k, 0.0, training))?;
    let shares: Vec<f64> = match (given, can_choose) {
        (None, true) => SHARES.to_vec(),
        (None, false) => vec![USUAL_SHARE],
        (Some(given), _) => vec![given],
    };
    let background_share = most_within(&shares, |share| accuracy(&grower, leaf_rows, *share, training))?;
    Ok(Choice { leaf_rows, background_share, n_rows })
}

/// A bagging that leaves rows out.
fn leaves_out(bagging: Bagging) -> Bagging {
    if bagging == Bagging::All { Bagging::Fraction(0.8) } else { bagging }
}

/// The last of some settings, in rising order, whose accuracy is within a standard error of the best. Of a single one nothing is asked.
fn most_within<T: Copy>(settings: &[T], accuracy: impl Fn(&T) -> Result<(f64, usize)>) -> Result<T> {
    if let [only] = settings {
        return Ok(*only);
    }
    let found: Vec<(f64, usize)> = settings.iter().map(accuracy).collect::<Result<_>>()?;
    let (best, n) = found.iter().copied().fold((0.0, 1), |most, of| if of.0 > most.0 { of } else { most });
    let error = libm::sqrt(best * (1.0 - best) / n.max(1) as f64);
    let place = found.iter().rposition(|(accuracy, _)| *accuracy >= best - error).unwrap_or(0);
    Ok(settings[place])
}

/// The share of rows that trees predict rightly that left them out, and how many rows these are.
fn accuracy(
    grower: &Grower<'_>,
    leaf_rows: usize,
    share: f64,
    training: &Training<'_>,
) -> Result<(f64, usize)> {
    let n = grower.data.n_rows();
    let n_background = libm::round(share * n as f64) as usize;
    let n_trees = N_TREES.min(grower.n_trees());
    let Growth { shares, n_votes, .. } = grower.grow(leaf_rows, n_background, n_trees, training)?;
    let prior = shared_prior(1.0 / grower.data.schema.n_classes().max(1) as f64, &grower.class_weights());
    let (mut right, mut all, mut rows) = (0.0, 0.0, 0);
    for (row, class) in grower.data.labels().iter().enumerate() {
        let weight = grower.weight(row);
        if n_votes[row] == 0 || weight == 0.0 {
            continue;
        }
        let scale = leaf_rows as f64 / f64::from(n_votes[row]);
        let sums: Vec<f64> = shares.row(row).iter().zip(&prior).map(|(s, p)| s * scale + p).collect();
        right += if largest(&sums) == Some(class.index()) { weight } else { 0.0 };
        all += weight;
        rows += 1;
    }
    Ok((if all > 0.0 { right / all } else { 0.0 }, rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_within_a_standard_error_is_taken() {
        let taken = |accuracies: &'static [f64]| {
            let settings: Vec<usize> = (0..accuracies.len()).collect();
            most_within(&settings, |at| Ok((accuracies[*at], 100))).unwrap()
        };
        // The standard error of 0.9 by 100 rows is 0.03.
        assert_eq!(taken(&[0.8, 0.9, 0.88, 0.86, 0.5]), 2);
        assert_eq!(taken(&[0.9, 0.5]), 0);
        assert_eq!(taken(&[0.9, 0.5, 0.89]), 2);
    }
}
