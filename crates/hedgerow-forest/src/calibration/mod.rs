//! Calibration: from the votes of the trees to probabilities that match observed frequencies.
//!
//! A forest of deep trees is under-confident about the classes it votes for (one with 85 % of the votes may be right 99 times in 100) and
//! over-confident about classes without votes (probability 0). One formula corrects both:
//!
//! ```text
//! q_c ∝ (s_c + a)^β        s_c = votes for class c out of m trees (shares summed over trees)
//! ```
//!
//! The pseudo-vote `a` keeps every class possible and fades as trees are added, so that what is fitted to the third of
//! the trees that did not see a row holds for the whole forest. `β` sharpens (above 1) or flattens (below 1). Both are
//! found by minimizing the log-loss of out-of-bag rows, and are used only if that is lower than without them.

mod choice;
pub(crate) mod prior_shift;
mod votes;

use hedgerow_core::calibration::softmax;
use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{ClassId, Par};
use serde::{Deserialize, Serialize};

use crate::train::OutOfBag;
use votes::Votes;

pub(crate) use choice::{MOST_ROWS as MOST_DECIDING, WeightedPredictions, choose};

/// The two numbers of the formula above.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The pseudo-vote `a`, above 0.
    pub pseudo_votes: f64,
    /// The exponent `β`, above 0.
    pub sharpness: f64,
}

/// Most rows that the parameters are fitted to.
const MOST_ROWS: usize = 10_000;
/// Rows for a coarse search.
const FEW_ROWS: usize = 2_000;
/// Fewest rows to calibrate on.
const LEAST_ROWS: usize = 30;

impl Calibration {
    /// Turns the summed shares of `m` trees (`m` tells how far a row of an unfinished sum is scaled) into probabilities.
    pub(crate) fn apply(&self, row: &mut [f64], m: f64) {
        let sum: f64 = row.iter().sum();
        // Shares sum to the number of trees; a merged forest of other class sets keeps that.
        let scale = if sum > 0.0 { m / sum } else { 0.0 };
        row.iter_mut().for_each(|s| *s = self.sharpness * libm::log(*s * scale + self.pseudo_votes));
        softmax(row, 1.0, 0.0);
    }

    /// The numbers that suit the out-of-bag rows best; none if there are too few, or plain shares do as well. The search is
    /// shorter where it can start from numbers that suited earlier rows.
    pub(crate) fn fit(
        oob: &OutOfBag,
        labels: &[ClassId],
        weight: impl Fn(usize) -> f64,
        earlier: Option<Self>,
        seed: u64,
        par: &Par,
    ) -> Option<Self> {
        let is_predicted = |row: &usize| oob.n_trees[*row] > 0 && weight(*row) > 0.0;
        let mut rows: Vec<usize> = (0..labels.len()).filter(is_predicted).collect();
        if rows.len() < LEAST_ROWS {
            return None;
        }
        Rng::new(seed, Purpose::Sample, 0).shuffle(&mut rows);
        rows.truncate(MOST_ROWS);
        let near = earlier.unwrap_or_else(|| {
            // A few rows find the neighborhood, all of them the place.
            let few = Votes::new(oob, labels, &weight, &rows[..rows.len().min(FEW_ROWS)]);
            few.search_nearby([0.0; 2], 1.0..0.2, par)
        });
        let votes = Votes::new(oob, labels, &weight, &rows);
        let found = votes.search_nearby(near.logs(), 0.25..0.04, par);
        let (best, plain) = (votes.loss(Some(found), par), votes.loss(None, par));
        (best < plain).then(|| votes.most_cautious(found, best, plain, par))
    }

    fn logs(self) -> [f64; 2] {
        [libm::log(self.pseudo_votes), libm::log(self.sharpness)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_by_hand() {
        let calibration = Calibration { pseudo_votes: 1.0, sharpness: 2.0 };
        let mut row = [7.0, 2.0, 0.0, 1.0];
        calibration.apply(&mut row, 10.0);
        for (p, expected) in row.iter().zip([64.0, 9.0, 1.0, 4.0]) {
            assert!((p - expected / 78.0).abs() < 1e-12);
        }
    }
}
