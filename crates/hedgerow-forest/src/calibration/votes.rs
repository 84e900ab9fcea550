//! How well out-of-bag votes, calibrated somehow, foretell the truth.

use std::ops::Range;

use hedgerow_core::{ClassId, Par};

use super::Calibration;
use crate::train::OutOfBag;

/// Votes beside those for the true class that are looked at: with many classes, fewer rows.
const MOST_VOTES: usize = 60_000;

/// One row: how many trees had not seen it, the votes for its true class, where its entries in `others` end, its weight.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowVotes {
    pub(super) n_trees: f64,
    own: f64,
    others_end: usize,
    pub(super) weight: f64,
}

/// Out-of-bag rows prepared for the search: of each row only the classes with votes.
pub(super) struct Votes {
    n_classes: f64,
    pub(super) rows: Vec<RowVotes>,
    /// Votes above 0 for the other classes.
    others: Vec<f64>,
    pub(super) total_weight: f64,
}

impl Votes {
    /// The first rows, as many as keep the work small.
    pub(super) fn new(
        oob: &OutOfBag,
        labels: &[ClassId],
        weight: impl Fn(usize) -> f64,
        rows: &[usize],
    ) -> Self {
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

    /// The numbers of the lowest penalized loss, from a start.
    pub(super) fn search(&self, start: [f64; 2], steps: Range<f64>, par: &Par) -> Calibration {
        let at = |x: [f64; 2]| Calibration { pseudo_votes: libm::exp(x[0]), sharpness: libm::exp(x[1]) };
        at(compass(start, steps, |x| self.penalized(at(x), par)).0)
    }

    /// Mean log-loss; without a calibration, that of the plain shares. Sums run in row order whatever the threads.
    pub(super) fn loss(&self, calibration: Option<Calibration>, par: &Par) -> f64 {
        const CHUNK: usize = 250;
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
    /// Out-of-bag rows are often more like the training rows than what comes later (one writer, one day, one device), so
    /// doubt is settled in favor of caution.
    pub(super) fn most_cautious(&self, found: Calibration, best: f64, plain: f64, par: &Par) -> Calibration {
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

    pub(super) fn row_loss(&self, i: usize, calibration: Option<Calibration>) -> f64 {
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
    fn the_quick_loss_is_the_loss_of_the_predictions() {
        let oob = OutOfBag {
            shares: ndarray::array![[3.0, 0.5, 0.0, 0.5], [0.0, 0.0, 2.0, 0.0], [0.0, 6.0, 1.0, 0.0]],
            n_trees: vec![4, 2, 7],
        };
        let labels = [ClassId(0), ClassId(3), ClassId(1)];
        let calibration = Calibration { pseudo_votes: 0.7, sharpness: 1.9 };
        let naive: f64 = (0..3)
            .map(|row| {
                let mut prediction: Vec<f64> = oob.shares.row(row).iter().map(|&s| f64::from(s)).collect();
                calibration.apply(&mut prediction, f64::from(oob.n_trees[row]));
                -prediction[labels[row].index()].ln() / 3.0
            })
            .sum();
        let quick =
            Votes::new(&oob, &labels, |_| 1.0, &[0, 1, 2]).loss(Some(calibration), &Par::sequential());
        assert!((quick - naive).abs() < 1e-12, "{quick} {naive}");
    }
}
