//! A second chance for rows that are not relevant, by the gains of Tipping and Faul (2003).

use hedgerow_core::Result;

use super::{Run, united};
use crate::evidence::{Posterior, Precisions};
use crate::target::{Context, Profile, SparseFit, Target};

/// Rows whose gains are computed together.
const CHUNK: usize = 256;

/// What each row outside a fit would gain in log evidence if it were taken in; only those that would gain, the best first.
pub(crate) fn gains<T: Target>(target: &T, fit: &SparseFit) -> Result<Vec<(usize, f64)>> {
    let Context { design, par, .. } = target.context();
    let n = design.n_rows();
    let outside: Vec<usize> = (0..n).filter(|row| fit.columns.binary_search(row).is_err()).collect();
    let at = Precisions { alpha: fit.alpha.clone(), beta: 1.0 / fit.noise };
    let beta = at.beta;
    let mut found = Vec::new();
    for chunk in outside.chunks(CHUNK) {
        let candidates = united(&fit.columns, chunk);
        let problem = target.problem(&candidates, fit);
        let active: Vec<usize> =
            fit.columns.iter().filter_map(|column| candidates.binary_search(column).ok()).collect();
        let posterior = Posterior::new(&problem, &active, &at, par)?;
        for row in chunk {
            let Ok(m) = candidates.binary_search(row) else { continue };
            let known: ndarray::Array1<f64> = active.iter().map(|&i| problem.gram[(m, i)]).collect();
            let solved = posterior.factor.forward(known.view());
            let s = beta * problem.gram[(m, m)] - beta * beta * solved.dot(&solved);
            let q = beta * (problem.moment()[m] - known.dot(&posterior.mean));
            if s > 1e-9 * beta * problem.gram[(m, m)] && q * q > s {
                found.push((*row, 0.5 * ((q * q - s) / s + libm::log(s / (q * q)))));
            }
        }
    }
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    Ok(found)
}

/// The fit with those rows that gain enough offered once more.
pub(super) fn reinsert<T: Target>(target: &T, fit: SparseFit, profile: &mut Profile) -> Result<SparseFit> {
    let Context { params, budget, par, .. } = target.context();
    if budget.spent().is_some() {
        return Ok(fit);
    }
    let gains = gains(target, &fit)?;
    // Rows near each other gain the same thing, so not all of them are needed.
    let most = (2 * fit.columns.len()).max(32);
    let good: Vec<usize> = gains.iter().filter(|g| g.1 >= params.min_gain).take(most).map(|g| g.0).collect();
    if good.is_empty() || par.is_stopped() {
        return Ok(fit);
    }
    let mut run = Run::new(target);
    let better = run.solve(united(&fit.columns, &good), &fit, true);
    profile.add(&run.log.profile);
    if par.is_stopped() {
        return Ok(fit);
    }
    let better = better?;
    Ok(if better.log_evidence > fit.log_evidence { better } else { fit })
}
