//! Which columns are relevant: type-II maximum likelihood for a quadratic problem.
//!
//! Regression is such a problem, and so is a classifier that was linearised. All that is needed of the rows is what they sum up to:
//! `G = ΦᵀBΦ`, `b = ΦᵀBt` and `c = tᵀBt`, with `B` the weights of the rows. So nothing here depends on the number of rows.
//!
//! ```text
//! Σ = (βG + A)⁻¹,   μ = βΣb,   γ_i = 1 − α_i Σ_ii
//! L = −½ [ N log 2π − N log β − Σ log α_i − log|Σ| + β(c − 2μᵀb + μᵀGμ) + μᵀAμ ]
//! ```
//!
//! [`basic`] starts with all columns and drops those whose `α` runs away (Tipping 2001); [`fast`] starts with none and takes, changes
//! or drops one at a time, the one that gains most (Tipping and Faul 2003). [`multi_target`] is `basic` for several targets that share
//! their columns.

mod basic;
mod fast;
mod multi_target;
#[cfg(test)]
mod tests;

use hedgerow_core::{Budget, Par, Result};
use hedgerow_gp::linalg::Cholesky;
use ndarray::{Array1, Array2};

use crate::options::Solver;
use crate::params::RvmParams;

pub(crate) use multi_target::MultiTarget;

/// What candidate columns and targets sum up to over all rows.
#[derive(Debug, Clone)]
pub(crate) struct Quadratic {
    /// `G = ΦᵀBΦ`.
    pub(crate) gram: Array2<f64>,
    /// `b = ΦᵀBt`.
    pub(crate) moment: Array1<f64>,
    /// `c = tᵀBt`.
    pub(crate) energy: f64,
    /// N.
    pub(crate) n_rows: f64,
}

/// How a problem is solved.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules<'a> {
    pub(crate) params: &'a RvmParams,
    /// Iterations from one estimate of the noise to the next; 0 keeps the noise as it is.
    pub(crate) noise_every: usize,
    /// Of `basic`: stop early when fewer columns than this are left.
    pub(crate) water_mark: usize,
}

/// Where to start: an `α` for each candidate, infinite for one that is out, and the precision of the noise.
#[derive(Debug, Clone)]
pub(crate) struct Start {
    pub(crate) alpha: Vec<f64>,
    pub(crate) beta: f64,
}

impl Start {
    /// The `α` of candidates from those of known columns.
    pub(crate) fn of(candidates: &[usize], columns: &[usize], alpha: &[f64], beta: f64) -> Self {
        let of = |c: &usize| columns.binary_search(c).map_or(f64::INFINITY, |place| alpha[place]);
        Self { alpha: candidates.iter().map(of).collect(), beta }
    }
}

/// Relevant columns and the posterior of their weights.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct SparseFit {
    /// Numbers of columns, in order: places among candidates; or rows, and the number of rows for the bias.
    pub(crate) columns: Vec<usize>,
    pub(crate) alpha: Vec<f64>,
    /// μ.
    pub(crate) mean: Array1<f64>,
    /// Σ.
    pub(crate) covariance: Array2<f64>,
    /// σ²; 1 for classes.
    pub(crate) noise: f64,
    pub(crate) log_evidence: f64,
    pub(crate) n_iterations: usize,
    pub(crate) is_converged: bool,
    /// What had to be added to the diagonal for a factor to exist, in units of its mean; 0 if nothing.
    pub(crate) jitter: f64,
    /// Φμ for all rows, where it was computed.
    pub(crate) scores: Vec<f64>,
}

/// Solves a problem.
pub(crate) fn solve(
    problem: &Quadratic,
    start: &Start,
    rules: &Rules<'_>,
    budget: &Budget,
    par: &Par,
) -> Result<SparseFit> {
    match rules.params.solver {
        Solver::Fast => fast::solve(problem, start, rules, budget, par),
        Solver::Basic => basic::solve(problem, start, rules, budget, par),
    }
}

/// The posterior of some columns.
pub(crate) struct Posterior {
    pub(crate) mean: Array1<f64>,
    pub(crate) factor: Cholesky,
}

impl Posterior {
    pub(crate) fn new(
        problem: &Quadratic,
        active: &[usize],
        alpha: &[f64],
        beta: f64,
        par: &Par,
    ) -> Result<Self> {
        let factor = precision_factor(&problem.gram, active, alpha, beta, par)?;
        let moment: Array1<f64> = active.iter().map(|&i| beta * problem.moment[i]).collect();
        Ok(Self { mean: factor.solve(moment.view()), factor })
    }

    /// What had to be added to the diagonal, in units of its mean.
    pub(crate) fn jitter(&self) -> f64 {
        let jitter = self.factor.jitter();
        if jitter == 0.0 {
            return 0.0;
        }
        let lower = self.factor.lower();
        let mean = lower.iter().map(|v| v * v).sum::<f64>() / lower.nrows().max(1) as f64;
        jitter / mean
    }
}

/// The factor of Σ⁻¹ = βG + A of some columns.
fn precision_factor(
    gram: &Array2<f64>,
    active: &[usize],
    alpha: &[f64],
    beta: f64,
    par: &Par,
) -> Result<Cholesky> {
    let n = active.len();
    let mut precision = Array2::zeros((n, n));
    for (i, &row) in active.iter().enumerate() {
        let from = gram.row(row);
        active.iter().zip(precision.row_mut(i)).for_each(|(&column, to)| *to = beta * from[column]);
        precision[(i, i)] += alpha[i];
    }
    Cholesky::robust_in_place(precision, par)
}

impl Quadratic {
    pub(crate) fn n_candidates(&self) -> usize {
        self.moment.len()
    }

    /// c − 2μᵀb + μᵀGμ: the squared error of weights for some columns.
    pub(crate) fn squared_error(&self, active: &[usize], mean: &Array1<f64>) -> f64 {
        let mut error = self.energy;
        for (&i, m) in active.iter().zip(mean) {
            let row = self.gram.row(i);
            let product: f64 = active.iter().zip(mean).map(|(&j, w)| row[j] * w).sum();
            error += m * (product - 2.0 * self.moment[i]);
        }
        // What is left of large numbers may be no more than their rounding.
        error.max(1e-14 * self.energy)
    }

    /// L, up to what the hyper-priors add. `log_det` is that of Σ⁻¹.
    pub(crate) fn log_evidence(
        &self,
        active: &[usize],
        alpha: &[f64],
        beta: f64,
        mean: &Array1<f64>,
        log_det: f64,
    ) -> f64 {
        let n = self.n_rows;
        let quadratic: f64 = alpha.iter().zip(mean).map(|(a, m)| a * m * m).sum();
        let log_alpha: f64 = alpha.iter().map(|a| libm::log(*a)).sum();
        -0.5 * (n * libm::log(2.0 * std::f64::consts::PI) - n * libm::log(beta) - log_alpha
            + log_det
            + beta * self.squared_error(active, mean)
            + quadratic)
    }

    /// The new precision of the noise: (N − Σγ + 2c)/(error + 2d).
    fn noise_precision(&self, n_determined: f64, error: f64, params: &RvmParams) -> f64 {
        let [_, _, c, d] = params.hyper_priors;
        let freedom = (self.n_rows - n_determined + 2.0 * c).max(1.0);
        // Data without noise would have an infinite precision; a relative deviation of 1e-6 is as good as none.
        let least = 1e-12 * (self.energy / self.n_rows).max(1e-300);
        1.0 / ((error + 2.0 * d) / freedom).max(least)
    }
}
