//! How well out-of-bag votes, calibrated somehow, foretell the truth.

use std::ops::RangeInclusive;

use hedgerow_core::calibration::{Slopes, minimize};
use hedgerow_core::{ClassId, Par};

use super::Calibration;
use crate::train::OutOfBag;

/// Votes beside those for the true class that are looked at: with many classes, fewer rows.
const MOST_VOTES: usize = 60_000;
/// Where the logarithms of the two numbers may lie.
const LOGARITHMS: RangeInclusive<f64> = -7.0..=4.0;
/// Rows whose losses are summed by one thread.
const CHUNK: usize = 250;
/// No probability counts as lower.
const LEAST_PROBABILITY: f64 = 1e-15;

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

    /// The numbers of the lowest penalized loss, from a start; the search ends where a step gains less than `tolerance` of it.
    pub(super) fn search(&self, start: [f64; 2], tolerance: f64, par: &Par) -> Calibration {
        let at = |x: [f64; 2]| Calibration { pseudo_votes: libm::exp(x[0]), sharpness: libm::exp(x[1]) };
        let is_possible = |x: [f64; 2]| x.iter().all(|x| LOGARITHMS.contains(x));
        at(minimize(start, tolerance, |x| match is_possible(x) {
            true => self.penalized(x, at(x), par),
            false => Slopes { value: f64::INFINITY, ..Slopes::default() },
        }))
    }

    /// Mean log-loss; without a calibration, that of the plain shares. Sums run in row order whatever the threads.
    pub(super) fn loss(&self, calibration: Option<Calibration>, par: &Par) -> f64 {
        let sums = par.map(self.rows.len().div_ceil(CHUNK), |chunk| {
            let range = chunk * CHUNK..((chunk + 1) * CHUNK).min(self.rows.len());
            range.map(|i| self.rows[i].weight * self.row_loss(i, calibration)).sum::<f64>()
        });
        sums.iter().sum::<f64>() / self.total_weight
    }

    /// The loss with a slight preference for numbers near 1, by their logarithms: `a` and `β` can make up for each other, and where the rows cannot
    /// tell them apart, extreme ones would carry over badly to another number of trees.
    fn penalized(&self, x: [f64; 2], calibration: Calibration, par: &Par) -> Slopes {
        let Slopes { value, gradient, curvature } = self.slopes(calibration, par);
        let each = 4.0 / self.rows.len() as f64;
        let factor = 1.0 + each * (x[0] * x[0] + x[1] * x[1]);
        let [aa, ab, bb] = curvature;
        Slopes {
            value: value * factor,
            gradient: [0, 1].map(|i| gradient[i] * factor + value * 2.0 * each * x[i]),
            curvature: [aa * factor + value * 2.0 * each, ab * factor, bb * factor + value * 2.0 * each],
        }
    }

    /// Mean log-loss and how it changes with the logarithms of the two numbers. Sums run in row order whatever the threads.
    fn slopes(&self, calibration: Calibration, par: &Par) -> Slopes {
        let sums = par.map(self.rows.len().div_ceil(CHUNK), |chunk| {
            let range = chunk * CHUNK..((chunk + 1) * CHUNK).min(self.rows.len());
            range.fold(Slopes::default(), |sum, i| {
                sum.plus(&self.row_slopes(i, calibration), self.rows[i].weight)
            })
        });
        let sum = sums.iter().fold(Slopes::default(), |sum, part| sum.plus(part, 1.0));
        Slopes::default().plus(&sum, 1.0 / self.total_weight)
    }

    /// The same of one row. With `z_c = β ln((s_c + a)/(m + a))` and `u_c = β a/(s_c + a)`, the slopes of `z_c` by the logarithms of `β` and `a` but for
    /// what is the same for all classes, the gradient is `E z − z_y` and `E u − u_y` under the predicted probabilities, and their covariance is the
    /// expected curvature (Fisher information).
    fn row_slopes(&self, i: usize, Calibration { pseudo_votes: a, sharpness }: Calibration) -> Slopes {
        let (RowVotes { n_trees: m, own, .. }, others) = (self.rows[i], self.others(i));
        let term = |votes: f64| {
            let z = sharpness * libm::log((votes + a) / (m + a));
            (libm::exp(z), z, sharpness * a / (votes + a))
        };
        let silent = self.n_classes - 1.0 - others.len() as f64;
        let (own, own_z, own_u) = term(own);
        let (mut all, mut z, mut u) = (own, own * own_z, own * own_u);
        let (mut zz, mut zu, mut uu) = (z * own_z, z * own_u, u * own_u);
        let mut add = |(e, of_z, of_u): (f64, f64, f64), n: f64| {
            let e = n * e;
            all += e;
            z += e * of_z;
            u += e * of_u;
            zz += e * of_z * of_z;
            zu += e * of_z * of_u;
            uu += e * of_u * of_u;
        };
        others.iter().for_each(|&votes| add(term(votes), 1.0));
        add(term(0.0), silent);
        let (z, u) = (z / all, u / all);
        let p = own / all;
        if p < LEAST_PROBABILITY {
            return Slopes { value: -libm::log(LEAST_PROBABILITY), ..Slopes::default() };
        }
        Slopes {
            value: -libm::log(p),
            gradient: [u - own_u, z - own_z],
            curvature: [uu / all - u * u, zu / all - z * u, zz / all - z * z],
        }
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
        let (RowVotes { n_trees: m, own, .. }, others) = (self.rows[i], self.others(i));
        let Some(Calibration { pseudo_votes: a, sharpness }) = calibration else {
            return -libm::log((own / m).max(LEAST_PROBABILITY));
        };
        // Votes as shares of the most there can be, so that no power overflows.
        let power = |votes: f64| libm::exp(sharpness * libm::log((votes + a) / (m + a)));
        let silent = self.n_classes - 1.0 - others.len() as f64;
        let own = power(own);
        let all = own + others.iter().map(|&votes| power(votes)).sum::<f64>() + silent * power(0.0);
        -libm::log((own / all).max(LEAST_PROBABILITY))
    }

    /// Votes above 0 for the classes of a row that are not its own.
    fn others(&self, i: usize) -> &[f64] {
        let start = if i == 0 { 0 } else { self.rows[i - 1].others_end };
        &self.others[start..self.rows[i].others_end]
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::rng::{Purpose, Rng};

    use super::*;

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

    /// Votes of 20 trees for 500 rows of 4 classes.
    fn some_votes() -> Votes {
        let mut rng = Rng::new(3, Purpose::Sample, 0);
        let mut shares = ndarray::Array2::zeros((500, 4));
        let labels: Vec<ClassId> = (0..500).map(|row| ClassId(row as u32 % 4)).collect();
        for row in 0..500 {
            for _ in 0..20 {
                let class = if rng.unit() < 0.6 { row % 4 } else { rng.index(4) };
                shares[(row, class)] += 1.0;
            }
        }
        let oob = OutOfBag { shares, n_trees: vec![20; 500] };
        Votes::new(&oob, &labels, |row| 1.0 + (row % 3) as f64, &(0..500).collect::<Vec<_>>())
    }

    #[test]
    fn the_gradient_is_that_of_finite_differences() {
        let (votes, par) = (some_votes(), Par::sequential());
        let at = |x: [f64; 2]| {
            let calibration = Calibration { pseudo_votes: x[0].exp(), sharpness: x[1].exp() };
            votes.penalized(x, calibration, &par)
        };
        for x in [[0.0, 0.0], [0.7, -0.4], [-2.0, 1.1]] {
            let Slopes { value, gradient, curvature } = at(x);
            let calibration = Calibration { pseudo_votes: x[0].exp(), sharpness: x[1].exp() };
            let penalty = 1.0 + 4.0 * (x[0] * x[0] + x[1] * x[1]) / 500.0;
            assert!((value - votes.loss(Some(calibration), &par) * penalty).abs() < 1e-12);
            for i in 0..2 {
                let moved = |by: f64| at(std::array::from_fn(|j| x[j] + if i == j { by } else { 0.0 })).value;
                let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                assert!((gradient[i] - difference).abs() < 1e-7, "{x:?}: {gradient:?}, {difference}");
            }
            assert!(curvature[0] > 0.0 && curvature[0] * curvature[2] > curvature[1] * curvature[1]);
        }
    }

    #[test]
    fn no_grid_finds_a_lower_loss() {
        let (votes, par) = (some_votes(), Par::sequential());
        let at = |x: [f64; 2]| {
            votes.penalized(x, Calibration { pseudo_votes: x[0].exp(), sharpness: x[1].exp() }, &par).value
        };
        for start in [[0.0, 0.0], [-3.0, 2.0], [3.0, -2.0]] {
            let found = at(votes.search(start, 1e-6, &par).logs());
            let grid =
                (-70..=40).flat_map(|i| (-30..=30).map(move |j| [f64::from(i) / 10.0, f64::from(j) / 10.0]));
            let least = grid.map(at).fold(f64::INFINITY, f64::min);
            assert!(found <= least + 1e-5, "from {start:?}: {found} against {least}");
        }
    }
}
