//! All columns at first; those whose `α` runs away are dropped for good (Tipping 2001).

use hedgerow_core::{Budget, Par, Result};

use super::{Posterior, Quadratic, Rules, SparseFit, Start};

/// Iterations in which the evidence must have moved.
const STALL: usize = 20;

pub(super) fn solve(
    problem: &Quadratic,
    start: &Start,
    rules: &Rules<'_>,
    budget: &Budget,
    par: &Par,
) -> Result<SparseFit> {
    let params = rules.params;
    let first = 1.0 / (problem.n_rows * problem.n_rows);
    let mut active: Vec<usize> = (0..problem.n_candidates()).collect();
    let mut alpha: Vec<f64> =
        start.alpha.iter().map(|a| if a.is_finite() { *a } else { first.max(1e-12) }).collect();
    let mut beta = start.beta;
    let mut n_iterations = 0;
    let mut is_converged = false;
    let mut old_evidence = f64::NEG_INFINITY;
    let mut jitter = 0.0_f64;
    loop {
        drop_runaways(&mut active, &mut alpha, params.alpha_max);
        let posterior = Posterior::new(problem, &active, &alpha, beta, par)?;
        jitter = jitter.max(posterior.jitter());
        let is_below_mark = active.len() < rules.water_mark;
        let is_over = is_converged
            || is_below_mark
            || n_iterations >= params.max_iterations
            || active.is_empty()
            || budget.spent().is_some();
        let log_evidence =
            problem.log_evidence(&active, &alpha, beta, &posterior.mean, posterior.factor.log_det());
        if is_over {
            let covariance = posterior.factor.inverse(par);
            return Ok(SparseFit {
                mean: posterior.mean,
                covariance,
                is_converged: is_converged || active.is_empty(),
                log_evidence,
                columns: active,
                alpha,
                noise: 1.0 / beta,
                n_iterations,
                jitter,
                scores: Vec::new(),
            });
        }
        n_iterations += 1;
        let [a, b, ..] = params.hyper_priors;
        let variances = posterior.factor.inverse_diagonal(par);
        let mut determined = 0.0;
        let mut largest_change = 0.0_f64;
        for ((alpha, variance), mean) in alpha.iter_mut().zip(&variances).zip(&posterior.mean) {
            let gamma = (1.0 - *alpha * variance).clamp(1e-15, 1.0);
            determined += gamma;
            let next = ((gamma + 2.0 * a) / (mean * mean + 2.0 * b)).max(1e-12);
            if next <= params.alpha_max {
                largest_change = largest_change.max((libm::log(next) - libm::log(*alpha)).abs());
            }
            *alpha = next;
        }
        if rules.noise_every > 0 && n_iterations.is_multiple_of(rules.noise_every) {
            let error = problem.squared_error(&active, &posterior.mean);
            beta = problem.noise_precision(determined, error, params);
        }
        is_converged = largest_change < params.tolerance && !alpha.iter().any(|a| *a > params.alpha_max);
        if n_iterations.is_multiple_of(STALL) {
            let has_stalled = (log_evidence - old_evidence).abs() < 1e-7 * problem.n_rows.max(100.0);
            is_converged |= has_stalled;
            old_evidence = log_evidence;
        }
    }
}

fn drop_runaways(active: &mut Vec<usize>, alpha: &mut Vec<f64>, most: f64) {
    let kept: Vec<usize> = (0..alpha.len()).filter(|i| alpha[*i] <= most).collect();
    if kept.len() < alpha.len() {
        *active = kept.iter().map(|&i| active[i]).collect();
        *alpha = kept.iter().map(|&i| alpha[i]).collect();
    }
}
