//! All columns at first; those whose `α` runs away are dropped for good (Tipping 2001).
//!
//! With K targets that share their columns (M has a column a target, T all targets):
//!
//! ```text
//! M = βΣΦᵀT,   α_i = Kγ_i / Σ_k M_ik²,   β = K(N − Σγ) / ‖T − ΦM‖²
//! ```
//!
//! The cost of K targets is hardly more than that of one: all have the same Σ.

use hedgerow_core::Result;
use hedgerow_gp::linalg::Cholesky;
use ndarray::{Array2, ArrayView1};

use super::{Precisions, Quadratic, Rules, SparseFit, relative_jitter};

/// Iterations in which the evidence must have moved.
const STALL: usize = 20;

/// The relevant columns of several targets and their weights.
pub(crate) struct Solution {
    /// The candidates that are relevant, in order.
    pub(crate) active: Vec<usize>,
    pub(crate) at: Precisions,
    /// M.
    pub(crate) weights: Array2<f64>,
    pub(crate) log_evidence: f64,
    /// Of Σ⁻¹.
    factor: Cholesky,
    n_iterations: usize,
    is_converged: bool,
    jitter: f64,
}

/// Solves a problem of one target.
pub(super) fn solve(problem: &Quadratic, start: &Precisions, rules: &Rules<'_>) -> Result<SparseFit> {
    let first = 1.0 / (problem.n_rows * problem.n_rows);
    let found = problem.solve(start.filled(first.max(1e-12)), rules)?;
    Ok(SparseFit {
        mean: found.weights.column(0).to_owned(),
        covariance: found.factor.inverse(rules.par),
        is_converged: found.is_converged || found.active.is_empty(),
        log_evidence: found.log_evidence,
        columns: found.active,
        noise: 1.0 / found.at.beta,
        alpha: found.at.alpha,
        n_iterations: found.n_iterations,
        jitter: found.jitter,
        scores: Vec::new(),
    })
}

impl Quadratic {
    /// Raises the evidence until it no longer moves, dropping columns on the way. With a tolerance of 0 it goes on to the last iteration.
    pub(crate) fn solve(&self, mut at: Precisions, rules: &Rules<'_>) -> Result<Solution> {
        let (params, par) = (rules.params, rules.par);
        let [a, b, ..] = params.hyper_priors;
        let mut active: Vec<usize> = (0..at.alpha.len()).collect();
        let (mut n_iterations, mut is_converged) = (0, false);
        let (mut old_evidence, mut jitter) = (f64::NEG_INFINITY, 0.0_f64);
        loop {
            let part = self.narrow(&active);
            let (weights, factor) = part.weights(&at, par)?;
            jitter = jitter.max(relative_jitter(&factor));
            let error = part.squared_error_of_all(&weights);
            let log_evidence = part.log_evidence(&at, weights.view(), error, factor.log_det());
            let is_over = is_converged
                || active.len() < rules.water_mark
                || n_iterations >= params.max_iterations
                || active.is_empty()
                || rules.budget.spent().is_some();
            if is_over {
                return Ok(Solution {
                    active,
                    at,
                    weights,
                    log_evidence,
                    factor,
                    n_iterations,
                    is_converged,
                    jitter,
                });
            }
            n_iterations += 1;
            let variances = factor.inverse_diagonal(par);
            let (mut determined, mut largest_change) = (0.0, 0.0_f64);
            for ((alpha, variance), row) in at.alpha.iter_mut().zip(&variances).zip(weights.rows()) {
                let gamma = (1.0 - *alpha * variance).clamp(1e-15, 1.0);
                determined += gamma;
                let size = (row.dot(&row) + 2.0 * b).max(1e-300);
                let next = ((self.n_targets * gamma + 2.0 * a) / size).max(1e-12);
                if next <= params.alpha_max {
                    largest_change = largest_change.max((libm::log(next) - libm::log(*alpha)).abs());
                }
                *alpha = next;
            }
            if rules.noise_every > 0 && n_iterations.is_multiple_of(rules.noise_every) {
                at.beta = self.noise_precision(determined, error, params);
            }
            let has_runaways = at.alpha.iter().any(|alpha| *alpha > params.alpha_max);
            is_converged = largest_change < params.tolerance && !has_runaways;
            if params.tolerance > 0.0 && n_iterations.is_multiple_of(STALL) {
                is_converged |= (log_evidence - old_evidence).abs() < 1e-7 * self.n_rows.max(100.0);
                old_evidence = log_evidence;
            }
            let is_kept = |i: usize| {
                let own = self.gram[(active[i], active[i])] * self.n_targets;
                let explains =
                    rules.least_share == 0.0 || own > rules.least_share * self.energy * at.alpha[i];
                at.alpha[i] <= params.alpha_max && explains
            };
            let kept: Vec<usize> = (0..active.len()).filter(|i| is_kept(*i)).collect();
            active = kept.iter().map(|&i| active[i]).collect();
            at.retain(&kept);
        }
    }

    /// Places of the columns that explain most, in order, so many at most.
    pub(crate) fn strongest(&self, found: &Solution, most: usize) -> Vec<usize> {
        let of = |(&column, row): (&usize, ArrayView1<'_, f64>)| {
            (self.gram[(column, column)] * row.dot(&row), column)
        };
        let mut columns: Vec<(f64, usize)> = found.active.iter().zip(found.weights.rows()).map(of).collect();
        columns.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut places: Vec<usize> = columns.into_iter().take(most).map(|(_, column)| column).collect();
        places.sort_unstable();
        places
    }
}
