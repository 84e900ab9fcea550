//! From the trees' shares to probabilities that mean what they say.
//!
//! A forest of deep trees is timid where it is right (a class with 85 % of the votes may be right 99 times in 100) and
//! reckless about classes nobody voted for (probability 0). One formula mends both:
//!
//! ```text
//! q_c ∝ (s_c + a)^β        s_c = votes for class c out of m trees (shares summed over trees)
//! ```
//!
//! The pseudo-vote `a` keeps every class possible and fades as trees are added, so that what is learnt from the third of
//! the trees that did not see a row carries over to the whole forest. `β` sharpens (above 1) or flattens (below 1). Both are
//! found by minimizing the log-loss of out-of-bag rows, and are used only if that is lower than without them.

use std::ops::Range;

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{ClassId, Par};
use serde::{Deserialize, Serialize};

use crate::train::OutOfBag;

/// The two numbers of the formula above.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The pseudo-vote `a`, above 0.
    pub pseudo_votes: f64,
    /// The exponent `β`, above 0.
    pub sharpness: f64,
}

/// Rows that the numbers are found on.
const MOST_ROWS: usize = 10_000;
/// Rows for a first look.
const FEW_ROWS: usize = 2_000;
/// Votes beside those for the true class that are looked at: with many classes, fewer rows.
const MOST_VOTES: usize = 60_000;
/// Fewest rows worth trusting.
const LEAST_ROWS: usize = 30;

impl Calibration {
    /// Turns the summed shares of `m` trees (`m` tells how far a row of an unfinished sum is scaled) into probabilities.
    pub(crate) fn apply(&self, row: &mut [f64], m: f64) {
        let sum: f64 = row.iter().sum();
        // Shares sum to the number of trees; a merged forest of other class sets keeps that.
        let scale = if sum > 0.0 { m / sum } else { 0.0 };
        let mut top = f64::NEG_INFINITY;
        for s in row.iter_mut() {
            *s = self.sharpness * libm::log(*s * scale + self.pseudo_votes);
            top = top.max(*s);
        }
        let mut total = 0.0;
        for s in row.iter_mut() {
            *s = libm::exp(*s - top);
            total += *s;
        }
        row.iter_mut().for_each(|p| *p /= total);
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
        let judged = |row: &usize| oob.n_trees[*row] > 0 && weight(*row) > 0.0;
        let mut rows: Vec<usize> = (0..labels.len()).filter(judged).collect();
        if rows.len() < LEAST_ROWS {
            return None;
        }
        Rng::new(seed, Purpose::Sample, 0).shuffle(&mut rows);
        rows.truncate(MOST_ROWS);
        let at = |x: [f64; 2]| Self { pseudo_votes: libm::exp(x[0]), sharpness: libm::exp(x[1]) };
        let near = earlier.map_or_else(
            || {
                // A few rows find the neighborhood, all of them the place.
                let few = Votes::new(oob, labels, &weight, &rows[..rows.len().min(FEW_ROWS)]);
                compass([0.0, 0.0], 1.0..0.2, |x| few.penalized(at(x), par)).0
            },
            |earlier| [libm::log(earlier.pseudo_votes), libm::log(earlier.sharpness)],
        );
        let votes = Votes::new(oob, labels, &weight, &rows);
        let (found, _) = compass(near, 0.25..0.04, |x| votes.penalized(at(x), par));
        let (best, plain) = (votes.loss(Some(at(found)), par), votes.loss(None, par));
        (best < plain).then(|| votes.most_cautious(at(found), best, plain, par))
    }
}

/// One row: how many trees had not seen it, the votes for its true class, where its entries in `others` end, its weight.
#[derive(Debug, Clone, Copy)]
struct RowVotes {
    n_trees: f64,
    own: f64,
    others_end: usize,
    weight: f64,
}

/// Out-of-bag rows prepared for the search: of each row only the classes somebody voted for.
struct Votes {
    n_classes: f64,
    rows: Vec<RowVotes>,
    /// Votes above 0 for the other classes.
    others: Vec<f64>,
    total_weight: f64,
}

impl Votes {
    /// The first rows, as many as keep the work small.
    fn new(oob: &OutOfBag, labels: &[ClassId], weight: impl Fn(usize) -> f64, rows: &[usize]) -> Self {
        let mut votes = Self {
            n_classes: oob.shares.ncols() as f64,
            rows: Vec::new(),
            others: Vec::new(),
            total_weight: 0.0,
        };
        for &row in rows {
            if votes.others.len() > MOST_VOTES {
                break;
            }
            let truth = labels[row].index();
            let shares = oob.shares.row(row);
            let others = shares.iter().enumerate().filter(|&(class, &s)| class != truth && s > 0.0);
            votes.others.extend(others.map(|(_, &s)| f64::from(s)));
            votes.total_weight += weight(row);
            votes.rows.push(RowVotes {
                n_trees: f64::from(oob.n_trees[row]),
                own: f64::from(shares[truth]),
                others_end: votes.others.len(),
                weight: weight(row),
            });
        }
        votes
    }

    /// Mean log-loss; without a calibration, that of the plain shares. Sums run in row order whatever the threads.
    fn loss(&self, calibration: Option<Calibration>, par: &Par) -> f64 {
        const CHUNK: usize = 1000;
        let sums = par.map(self.rows.len().div_ceil(CHUNK), |chunk| {
            let range = chunk * CHUNK..((chunk + 1) * CHUNK).min(self.rows.len());
            range.map(|i| self.rows[i].weight * self.row_loss(i, calibration)).sum::<f64>()
        });
        sums.iter().sum::<f64>() / self.total_weight
    }

    /// The loss with a slight preference for numbers near 1: `a` and `β` can make up for each other, and where the rows cannot
    /// tell them apart, extreme ones would carry over badly to another number of trees.
    fn penalized(&self, calibration: Calibration, par: &Par) -> f64 {
        let (a, b) = (libm::log(calibration.pseudo_votes), libm::log(calibration.sharpness));
        self.loss(Some(calibration), par) * (1.0 + 4.0 * (a * a + b * b) / self.rows.len() as f64)
    }

    /// The smallest sharpness whose loss can hardly be told from the best: within half a standard error of it, and nearer
    /// to the best than to the plain loss.
    ///
    /// Out-of-bag rows are often more like the training rows than what comes later (one writer, one day, one machine), so
    /// doubt is settled in favor of caution.
    fn most_cautious(&self, found: Calibration, best: f64, plain: f64, par: &Par) -> Calibration {
        let n = self.rows.len() as f64;
        let square = |i: usize| self.rows[i].weight * (self.row_loss(i, Some(found)) - best).powi(2);
        let variance = (0..self.rows.len()).map(square).sum::<f64>() / self.total_weight;
        let allowed = (best + 0.5 * libm::sqrt(variance / n)).min((best + plain) / 2.0);
        let with = |sharpness| Calibration { sharpness, ..found };
        let (mut low, mut high) = (found.sharpness / 2.0, found.sharpness);
        for _ in 0..6 {
            let middle = (low + high) / 2.0;
            if self.loss(Some(with(middle)), par) <= allowed {
                high = middle;
            } else {
                low = middle;
            }
        }
        with(high)
    }

    fn row_loss(&self, i: usize, calibration: Option<Calibration>) -> f64 {
        let RowVotes { n_trees: m, own, others_end: end, .. } = self.rows[i];
        let Some(Calibration { pseudo_votes: a, sharpness }) = calibration else {
            return -libm::log((own / m).max(1e-15));
        };
        // Votes as shares of the most there can be, so that no power overflows.
        let power = |votes: f64| libm::exp(sharpness * libm::log((votes + a) / (m + a)));
        let start = if i == 0 { 0 } else { self.rows[i - 1].others_end };
        let others = &self.others[start..end];
        let silent = self.n_classes - 1.0 - others.len() as f64;
        let own = power(own);
        let all = own + others.iter().map(|&votes| power(votes)).sum::<f64>() + silent * power(0.0);
        -libm::log((own / all).max(1e-15))
    }
}

/// Minimizes a smooth function of two logarithms: tries a step along each axis, keeps what helps, halves the step when
/// nothing does; from the first step down to the last.
fn compass(start: [f64; 2], steps: Range<f64>, f: impl Fn([f64; 2]) -> f64) -> ([f64; 2], f64) {
    let mut x = start;
    let mut best = f(x);
    let mut step = steps.start;
    while step > steps.end {
        let mut moved = false;
        for axis in 0..2 {
            for direction in [-step, step] {
                let mut y = x;
                y[axis] = (y[axis] + direction).clamp(-7.0, 4.0);
                let value = f(y);
                if value < best {
                    (x, best, moved) = (y, value, true);
                    break;
                }
            }
        }
        if !moved {
            step /= 2.0;
        }
    }
    (x, best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compass_finds_the_bottom() {
        let (x, value) =
            compass([-2.0, 0.0], 1.0..0.02, |[a, b]| (a - 1.0).powi(2) + 3.0 * (b + 2.0 - 0.3 * a).powi(2));
        assert!((x[0] - 1.0).abs() < 0.1 && (x[1] + 1.7).abs() < 0.1 && value < 0.02, "{x:?}");
    }

    #[test]
    fn the_quick_loss_is_the_loss_of_the_answers() {
        let oob = OutOfBag {
            shares: ndarray::array![[3.0, 0.5, 0.0, 0.5], [0.0, 0.0, 2.0, 0.0], [0.0, 6.0, 1.0, 0.0]],
            n_trees: vec![4, 2, 7],
        };
        let labels = [ClassId(0), ClassId(3), ClassId(1)];
        let calibration = Calibration { pseudo_votes: 0.7, sharpness: 1.9 };
        let naive: f64 = (0..3)
            .map(|row| {
                let mut answer: Vec<f64> = oob.shares.row(row).iter().map(|&s| f64::from(s)).collect();
                calibration.apply(&mut answer, f64::from(oob.n_trees[row]));
                -answer[labels[row].index()].ln() / 3.0
            })
            .sum();
        let quick =
            Votes::new(&oob, &labels, |_| 1.0, &[0, 1, 2]).loss(Some(calibration), &Par::sequential());
        assert!((quick - naive).abs() < 1e-12, "{quick} {naive}");
    }

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
