//! How well out-of-bag votes, calibrated somehow, foretell the truth.

use std::collections::VecDeque;
use std::ops::{Range, RangeInclusive};

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
        let outside = Slopes { value: f64::INFINITY, ..Slopes::default() };
        at(minimize(
            start,
            tolerance,
            |x| if is_possible(x) { self.penalized(x, at(x), par) } else { outside },
        ))
    }

    /// Numbers of a low penalized loss, near a start. Steps along the axes end in the valley along which `a` and `β` make up for each other before its
    /// lowest place, which has many pseudo-votes and a high power: these fade as trees are added. So what is found here carries over better to the whole
    /// forest, whose trees are more than those that vote for a row out of bag.
    pub(super) fn search_nearby(&self, start: [f64; 2], steps: Range<f64>, par: &Par) -> Calibration {
        let at = |x: [f64; 2]| Calibration { pseudo_votes: libm::exp(x[0]), sharpness: libm::exp(x[1]) };
        // Steps along one axis leave the logarithms as they are.
        let mut known: VecDeque<LogShares> = VecDeque::new();
        at(compass(start, steps, |x| {
            let Calibration { pseudo_votes, sharpness } = at(x);
            if !known.iter().any(|logs| logs.pseudo_votes == pseudo_votes) {
                known.truncate(2);
                known.push_front(self.log_shares(pseudo_votes, par));
            }
            let logs = known.iter().find(|logs| logs.pseudo_votes == pseudo_votes);
            logs.map_or(f64::INFINITY, |logs| self.loss_at(logs, sharpness, par)) * self.penalty(x)
        })
        .0)
    }

    /// A slight preference for numbers near 1, by their logarithms: where the rows cannot tell `a` and `β` apart, extreme ones would carry over badly to
    /// another number of trees.
    fn penalty(&self, x: [f64; 2]) -> f64 {
        1.0 + 4.0 / self.rows.len() as f64 * (x[0] * x[0] + x[1] * x[1])
    }

    /// Mean log-loss; without a calibration, that of the plain shares.
    pub(super) fn loss(&self, calibration: Option<Calibration>, par: &Par) -> f64 {
        match calibration {
            Some(of) => self.loss_at(&self.log_shares(of.pseudo_votes, par), of.sharpness, par),
            None => self.mean(|i| self.row_loss(i, None), par),
        }
    }

    /// The same by logarithms of shares.
    fn loss_at(&self, logs: &LogShares, sharpness: f64, par: &Par) -> f64 {
        self.mean(
            |i| {
                let others = logs.others[self.others_of(i)].iter().copied();
                self.row_loss_at(i, sharpness, logs.own[i], others, logs.silent[i])
            },
            par,
        )
    }

    /// The weighted mean of the losses of rows. Sums run in row order whatever the threads.
    fn mean(&self, loss: impl Fn(usize) -> f64 + Sync, par: &Par) -> f64 {
        let sums = self.chunks(par, |rows| rows.map(|i| self.rows[i].weight * loss(i)).sum::<f64>());
        sums.iter().sum::<f64>() / self.total_weight
    }

    /// Works on some rows at a time.
    fn chunks<T: Send>(&self, par: &Par, work: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
        let n = self.rows.len();
        par.map(n.div_ceil(CHUNK), |chunk| work(chunk * CHUNK..((chunk + 1) * CHUNK).min(n)))
    }

    fn log_shares(&self, pseudo_votes: f64, par: &Par) -> LogShares {
        let chunks = self.chunks(par, |rows| {
            let mut logs = LogShares { pseudo_votes, ..LogShares::default() };
            for i in rows {
                let RowVotes { n_trees, own, .. } = self.rows[i];
                let log = |votes: f64| log_share(votes, n_trees, pseudo_votes);
                logs.own.push(log(own));
                logs.others.extend(self.others[self.others_of(i)].iter().map(|votes| log(*votes)));
                logs.silent.push(log(0.0));
            }
            logs
        });
        let mut all = LogShares { pseudo_votes, ..LogShares::default() };
        for mut logs in chunks {
            all.own.append(&mut logs.own);
            all.others.append(&mut logs.others);
            all.silent.append(&mut logs.silent);
        }
        all
    }

    /// The loss times the penalty, and its slopes.
    fn penalized(&self, x: [f64; 2], calibration: Calibration, par: &Par) -> Slopes {
        let Slopes { value, gradient, curvature } = self.slopes(calibration, par);
        let each = 4.0 / self.rows.len() as f64;
        let factor = self.penalty(x);
        let [aa, ab, bb] = curvature;
        Slopes {
            value: value * factor,
            gradient: [0, 1].map(|i| gradient[i] * factor + value * 2.0 * each * x[i]),
            curvature: [aa * factor + value * 2.0 * each, ab * factor, bb * factor + value * 2.0 * each],
        }
    }

    /// Mean log-loss and how it changes with the logarithms of the two numbers. Sums run in row order whatever the threads.
    fn slopes(&self, calibration: Calibration, par: &Par) -> Slopes {
        let sums = self.chunks(par, |rows| {
            let add = |sum: Slopes, i: usize| sum.plus(&self.row_slopes(i, calibration), self.rows[i].weight);
            rows.fold(Slopes::default(), add)
        });
        let sum = sums.iter().fold(Slopes::default(), |sum, part| sum.plus(part, 1.0));
        Slopes::default().plus(&sum, 1.0 / self.total_weight)
    }

    /// The same of one row. With `z_c = β ln((s_c + a)/(m + a))` and `u_c = β a/(s_c + a)`, the slopes of `z_c` by the logarithms of `β` and `a` but for
    /// what is the same for all classes, the gradient is `E z − z_y` and `E u − u_y` under the predicted probabilities, and their covariance is the
    /// expected curvature (Fisher information).
    fn row_slopes(&self, i: usize, Calibration { pseudo_votes: a, sharpness }: Calibration) -> Slopes {
        let (RowVotes { n_trees: m, own, .. }, others) = (self.rows[i], &self.others[self.others_of(i)]);
        let term = |votes: f64| {
            let z = sharpness * log_share(votes, m, a);
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
        let logs = self.log_shares(found.pseudo_votes, par);
        for _ in 0..6 {
            let middle = (low + high) / 2.0;
            if self.loss_at(&logs, middle, par) <= allowed {
                high = middle;
            } else {
                low = middle;
            }
        }
        with(high)
    }

    /// The log-loss of a row; without a calibration, that of its plain share.
    pub(super) fn row_loss(&self, i: usize, calibration: Option<Calibration>) -> f64 {
        let RowVotes { n_trees: m, own, .. } = self.rows[i];
        let Some(Calibration { pseudo_votes, sharpness }) = calibration else {
            return -libm::log((own / m).max(LEAST_PROBABILITY));
        };
        let log = |votes: f64| log_share(votes, m, pseudo_votes);
        let others = self.others[self.others_of(i)].iter().map(|votes| log(*votes));
        self.row_loss_at(i, sharpness, log(own), others, log(0.0))
    }

    /// The same by the logarithms of its shares.
    fn row_loss_at(
        &self,
        i: usize,
        sharpness: f64,
        own: f64,
        others: impl Iterator<Item = f64>,
        silent: f64,
    ) -> f64 {
        let power = |log: f64| libm::exp(sharpness * log);
        let n_silent = self.n_classes - 1.0 - self.others_of(i).len() as f64;
        let own = power(own);
        let all = own + others.map(power).sum::<f64>() + n_silent * power(silent);
        -libm::log((own / all).max(LEAST_PROBABILITY))
    }

    /// Where the votes of a row for classes that are not its own are.
    fn others_of(&self, i: usize) -> Range<usize> {
        let start = if i == 0 { 0 } else { self.rows[i - 1].others_end };
        start..self.rows[i].others_end
    }
}

/// The logarithms of [`log_share`], of a row's own class, of its others, and of classes without votes.
#[derive(Debug, Clone, Default)]
struct LogShares {
    pseudo_votes: f64,
    own: Vec<f64>,
    others: Vec<f64>,
    silent: Vec<f64>,
}

/// The logarithm of votes as a share of the most there can be, so that no power of it overflows.
fn log_share(votes: f64, n_trees: f64, pseudo_votes: f64) -> f64 {
    libm::log((votes + pseudo_votes) / (n_trees + pseudo_votes))
}

/// Minimizes a smooth function of two logarithms: tries a step along each axis, keeps what helps, halves the step when
/// nothing does; from the first step down to the last.
fn compass(start: [f64; 2], steps: Range<f64>, mut f: impl FnMut([f64; 2]) -> f64) -> ([f64; 2], f64) {
    let mut x = start;
    let mut best = f(x);
    let mut step = steps.start;
    while step > steps.end {
        let mut moved = false;
        for axis in 0..2 {
            for direction in [-step, step] {
                let mut y = x;
                y[axis] = (y[axis] + direction).clamp(*LOGARITHMS.start(), *LOGARITHMS.end());
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
    use hedgerow_core::rng::{Purpose, Rng};

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
