//! Two candidate growth settings, the arms of a bandit, and which of them suits the stream.
//!
//! Exact trees split until their leaves are pure. Tolerant ones stop where noise may explain what is left. Labels that are right
//! need the first, noisy ones the second, and which they are is not known. So one tree in eight is grown with the arm that is not preferred
//! (one in 32 where it is clearly worse), and as many trees of either arm predict every row before they learn it: the rows that only
//! one of the two predicts right decide (`McNemar` 1947). A change takes four standard deviations, since all trees are grown anew then.

use hedgerow_core::traits::largest;
use serde::{Deserialize, Serialize};

/// Trees of either arm that are compared.
pub(super) const COMPARED: usize = 8;
/// One new tree in so many is grown with the arm that is not preferred.
const EXPLORE: u64 = 8;
/// Rows that decide, at most: older ones count less.
const MOST: f64 = 400.0;

/// The preferred arm, and the counts that decide.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Arms {
    favors_tolerant: bool,
    /// Whether the other arm is known to be worse: then fewer trees try it.
    is_clear: bool,
    only_exact_right: f64,
    only_tolerant_right: f64,
    /// The class of the last row.
    last: Option<u16>,
}

impl Arms {
    /// Whether the tree of a number is to be tolerant.
    pub(super) fn is_tolerant(&self, serial: u64) -> bool {
        let explores =
            if self.is_clear { serial.is_multiple_of(4 * EXPLORE) } else { serial.is_multiple_of(EXPLORE) };
        self.favors_tolerant != explores
    }

    /// Counts the predictions of the two arms, exact and tolerant, for a row of a class. Where labels come in runs, the rows of a run are right or
    /// wrong together: only the first one counts.
    pub(super) fn note(&mut self, exact: &[f64], tolerant: &[f64], class: u16) {
        if self.last.replace(class) == Some(class) {
            return;
        }
        let class = usize::from(class);
        match (largest(exact) == Some(class), largest(tolerant) == Some(class)) {
            (true, false) => self.only_exact_right += 1.0,
            (false, true) => self.only_tolerant_right += 1.0,
            _ => {}
        }
    }

    /// Whether the preferred arm has changed, by the counts.
    pub(super) fn decide(&mut self) -> bool {
        let n = self.only_exact_right + self.only_tolerant_right;
        let ahead = self.only_tolerant_right - self.only_exact_right;
        let ahead = if self.favors_tolerant { -ahead } else { ahead };
        if ahead > 4.0 * libm::sqrt(n) {
            *self = Self { favors_tolerant: !self.favors_tolerant, last: self.last, ..Self::default() };
            return true;
        }
        self.is_clear = -ahead > 4.0 * libm::sqrt(n) || (self.is_clear && ahead < 0.0);
        if n > MOST {
            self.only_exact_right /= 2.0;
            self.only_tolerant_right /= 2.0;
        }
        false
    }

    /// Whether the numbers are possible ones.
    pub(super) fn is_valid(&self) -> bool {
        let fits = |n: f64| (0.0..1e12).contains(&n);
        fits(self.only_exact_right) && fits(self.only_tolerant_right)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arm_that_is_right_more_often_wins_and_a_run_of_labels_counts_once() {
        let (right, wrong) = ([0.1, 0.9], [0.9, 0.1]);
        let mut arms = Arms::default();
        // One label a thousand times: the same mistake, over and over.
        (0..1_000).for_each(|_| arms.note(&wrong, &right, 1));
        assert!(!arms.decide() && !arms.is_tolerant(1));
        // Of labels that change with every row, a tenth is right by the tolerant trees alone.
        for row in 0..1_000_u16 {
            let class = row % 2;
            let of = |is_right: bool| if is_right == (class == 1) { right } else { wrong };
            arms.note(&of(row % 10 != 0), &of(true), class);
        }
        assert!(arms.decide() && arms.is_tolerant(1) && arms.is_valid());
    }
}
