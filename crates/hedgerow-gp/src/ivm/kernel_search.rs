//! The search for length scale and variance of the kernel: kernels that can be tried one by one, in any order, on any thread.

use std::time::Instant;

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{Budget, Par, Result, Training};

use super::one_vs_rest::OneVsRest;
use super::params::{IvmParams, Objective, SearchKind};
use super::rows::{TrainingRows, union};
use crate::cma::{Limits, evolve};
use crate::linalg::Cholesky;
use crate::prepare::typical_distance;
use crate::refit::{Freedom, RIDGES, RegressionSearch};
use crate::special::normal_cdf;

/// Length scales that are tried, in typical distances, and variances; the likeliest first, as the search may be cut short. One after the other
/// in size, length scales differ by about half.
const LENGTHS: [f64; 7] = [0.45, 0.65, 0.32, 1.0, 0.22, 1.5, 0.15];
/// Neighbors of the best length scale are within this factor.
const NEIGHBOR: f64 = 1.6;
const VARIANCES: [f64; 4] = [30.0, 8.0, 100.0, 2.0];
/// Parts of the best length scale that are tried at last.
const BETWEEN: [f64; 2] = [0.84, 1.19];

/// Kernels to be tried on a sample of the rows. Which ones come later depends on how good the first were; of those that are known, any may be tried at any
/// time.
pub(super) struct KernelSearch {
    /// The sample.
    rows: TrainingRows,
    params: IvmParams,
    /// Length scales and variances; one alone where it is given.
    lengths: Vec<f64>,
    variances: Vec<f64>,
    /// Parts of the best length scale that are tried at last.
    between: Vec<f64>,
    /// Logarithms of the bounds within which CMA-ES searches.
    bounds: [[f64; 2]; 2],
}

impl KernelSearch {
    /// Made ready for what the parameters leave open.
    pub(super) fn new(rows: &TrainingRows, params: &IvmParams, par: &Par) -> Self {
        let typical = typical_distance(rows.x.view(), params.seed);
        let given = |value: f64, grid: Vec<f64>| if value > 0.0 { vec![value] } else { grid };
        let lengths = given(params.length_scale, LENGTHS.map(|f| f * typical).to_vec());
        let variances = given(params.signal_variance, VARIANCES.to_vec());
        let bound = |values: &[f64]| {
            [f64::INFINITY, f64::NEG_INFINITY].map(|start| {
                let pick = if start > 0.0 { f64::min } else { f64::max };
                libm::log(values.iter().copied().fold(start, pick))
            })
        };
        Self {
            between: if params.length_scale > 0.0 { Vec::new() } else { BETWEEN.to_vec() },
            bounds: [bound(&lengths), bound(&variances)],
            rows: if lengths.len() * variances.len() > 1 {
                rows.sample(params.seed, par)
            } else {
                rows.select(&[], rows.options.clone())
            },
            lengths,
            variances,
            params: params.clone(),
        }
    }

    /// The kernels that can be tried by now; `tried` has the objective of each, as far as it is known. One alone is not worth a trial.
    ///
    /// In a grid, all length scales come with the first variance, then the best of them and its neighbors with the others, then what lies between the best
    /// kernel and its neighbors. Of a population, those of a generation are known when all before them have been tried.
    pub(super) fn kernels(&self, tried: &[Option<f64>]) -> Vec<[f64; 2]> {
        let first = self.variances[0];
        let mut kernels: Vec<[f64; 2]> = self.lengths.iter().map(|&length| [length, first]).collect();
        if self.is_given() {
            return kernels;
        }
        if self.params.search == SearchKind::Cma {
            return self.evolve(tried).0;
        }
        let best = |kernels: &[[f64; 2]]| {
            let known = tried.get(..kernels.len()).filter(|known| !known.contains(&None))?;
            least(kernels, known)
        };
        let Some([nearest, _]) = best(&kernels) else { return kernels };
        let is_near = |length: &&f64| (1.0 / NEIGHBOR..NEIGHBOR).contains(&(*length / nearest));
        for &variance in &self.variances[1..] {
            kernels.extend(self.lengths.iter().filter(is_near).map(|&length| [length, variance]));
        }
        let Some([length, variance]) = best(&kernels) else { return kernels };
        kernels.extend(self.between.iter().map(|share| [share * length, variance]));
        kernels
    }

    /// Whether nothing is left open.
    fn is_given(&self) -> bool {
        self.lengths.len() * self.variances.len() == 1
    }

    /// Whether nothing is left to try.
    pub(super) fn is_done(&self, tried: &[Option<f64>]) -> bool {
        let n = self.kernels(tried).len();
        self.is_given() || (tried.len() >= n && !tried[..n].contains(&None))
    }

    /// The kernel that the search has come to: of a grid the best that was tried, of a population its mean. The first if none was tried.
    pub(super) fn best(&self, tried: &[Option<f64>]) -> [f64; 2] {
        let is_tried = tried.iter().any(Option::is_some);
        if self.params.search == SearchKind::Cma && !self.is_given() && is_tried {
            let [length, variance] = self.evolve(tried).1;
            return [libm::exp(length), libm::exp(variance)];
        }
        let kernels = self.kernels(tried);
        least(&kernels, tried).unwrap_or(kernels[0])
    }

    /// Lets the population evolve again, as far as values are known. Returns all points that were asked for, and the mean it has come to.
    fn evolve(&self, tried: &[Option<f64>]) -> (Vec<[f64; 2]>, [f64; 2]) {
        let limits = Limits { n_values: self.params.n_trials, n_restarts: 4 };
        let mut rng = Rng::new(self.params.seed, Purpose::Sample, 3);
        let mut asked: Vec<[f64; 2]> = Vec::new();
        let mean = evolve(&self.bounds, &limits, &mut rng, |points| {
            let first = asked.len();
            asked.extend(points.iter().map(|point| [libm::exp(point[0]), libm::exp(point[1])]));
            let known = tried.get(first..asked.len()).unwrap_or_default();
            known.iter().map_while(|value| *value).collect()
        });
        (asked, [mean[0], mean[1]])
    }

    /// The objective of a kernel: the lower, the better. None if the budget was spent before it was known.
    pub(super) fn objective(&self, kernel: [f64; 2], training: &Training<'_>) -> Result<Option<f64>> {
        if training.budget.spent().is_some() {
            return Ok(None);
        }
        let value = self.value(kernel, training);
        if training.par.is_stopped() {
            return Ok(None);
        }
        value.map(|value| Some(if value.is_nan() { f64::INFINITY } else { value }))
    }

    fn value(&self, kernel: [f64; 2], training: &Training<'_>) -> Result<f64> {
        let rows = &self.rows;
        let found = rows.train_all(&vec![kernel; rows.n_classes], training)?;
        Ok(match self.params.objective {
            Objective::Loss if self.params.refit => {
                let fitter = rows.fitter(training);
                let start = union(&found);
                let mut search =
                    RegressionSearch::new(&fitter, start, kernel[0], &RIDGES, Freedom::default());
                search.advance(&fitter)?;
                search.loss()
            }
            Objective::Loss => {
                let scores = rows.inactive_scores(&found);
                rows.fitter(training).loss(&scores.values, &scores.labels)
            }
            Objective::Evidence => mean_of(&found, |one| -log_evidence(rows, kernel, one)),
            Objective::Error => {
                mean_of(&found, |one| 100.0 * mean_error(rows, one) - log_evidence(rows, kernel, one))
            }
        })
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        4 * (self.rows.x.len() + self.rows.squares.as_ref().map_or(0, ndarray::Array2::len))
    }
}

/// A budget that leaves half of the time for what follows.
pub(super) fn half_of_time(budget: &Budget) -> Budget {
    let half = |end: Instant| Instant::now() + end.saturating_duration_since(Instant::now()) / 2;
    Budget { deadline: budget.deadline.map(half), ..budget.clone() }
}

/// The kernel of the least value.
fn least(kernels: &[[f64; 2]], tried: &[Option<f64>]) -> Option<[f64; 2]> {
    let known = kernels.iter().zip(tried).filter_map(|(kernel, value)| Some((*kernel, (*value)?)));
    let best = known.reduce(|best, next| if next.1 < best.1 { next } else { best });
    best.map(|(kernel, _)| kernel)
}

/// The mean over classifiers of something about each.
fn mean_of(found: &[Option<OneVsRest>], of: impl Fn(&OneVsRest) -> f64) -> f64 {
    let values: Vec<f64> = found.iter().flatten().map(of).collect();
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The mean error of both sides of a classifier, each counting half.
fn mean_error(rows: &TrainingRows, one: &OneVsRest) -> f64 {
    let (mut sums, mut counts) = ([0.0; 2], [1e-9; 2]);
    for (row, label) in rows.labels.iter().enumerate() {
        let is_own = usize::from(label.index() == one.class);
        let p = normal_cdf(one.score(row));
        sums[is_own] += if is_own == 1 { 1.0 - p } else { p };
        counts[is_own] += 1.0;
    }
    0.5 * (sums[0] / counts[0] + sums[1] / counts[1])
}

/// The log marginal likelihood of the active set under its sites, for each active row (Lawrence et al., 2003).
fn log_evidence(rows: &TrainingRows, kernel: [f64; 2], one: &OneVsRest) -> f64 {
    let par = Par::sequential();
    let x = rows.wide(&one.active);
    let mut a = rows.kernel(kernel).matrix(x.view(), &par);
    a.diag_mut().iter_mut().zip(&one.precisions).for_each(|(v, precision)| *v += 1.0 / precision);
    let Ok(factor) = Cholesky::robust(&a, &par) else { return f64::NEG_INFINITY };
    let means = ndarray::Array1::from(one.means.clone());
    let n = means.len() as f64;
    let fit = means.dot(&factor.solve(means.view()));
    -0.5 * (factor.log_det() + fit + n * libm::log(2.0 * std::f64::consts::PI)) / n
}
