//! A second chance for rows that are not relevant (spec 002, A15, with the formulae of Tipping and Faul).

use hedgerow_core::{Budget, Par, Result};

use super::{united, with_bias};
use crate::evidence::Posterior;
use crate::machine::{Profile, Run, Sparse, Task};

/// Rows looked at together.
const CHUNK: usize = 256;

/// What each row outside a model would gain in log evidence if it were taken in; only those that would gain, the best first.
pub(crate) fn gains<T: Task>(task: &T, model: &Sparse, par: &Par) -> Result<Vec<(usize, f64)>> {
    let n = task.design().n_rows();
    let outside: Vec<usize> = (0..n).filter(|row| model.columns.binary_search(row).is_err()).collect();
    let beta = 1.0 / model.noise;
    let mut found = Vec::new();
    for chunk in outside.chunks(CHUNK) {
        let candidates = united(&model.columns, chunk);
        let problem = task.problem(&candidates, model, par);
        let active: Vec<usize> =
            model.columns.iter().filter_map(|column| candidates.binary_search(column).ok()).collect();
        let posterior = Posterior::new(&problem, &active, &model.alpha, beta, par)?;
        for row in chunk {
            let Ok(m) = candidates.binary_search(row) else { continue };
            let known: ndarray::Array1<f64> = active.iter().map(|&i| problem.gram[(m, i)]).collect();
            let solved = posterior.factor.forward(known.view());
            let s = beta * problem.gram[(m, m)] - beta * beta * solved.dot(&solved);
            let q = beta * (problem.moment[m] - known.dot(&posterior.mean));
            if s > 1e-9 * beta * problem.gram[(m, m)] && q * q > s {
                found.push((*row, 0.5 * ((q * q - s) / s + libm::log(s / (q * q)))));
            }
        }
    }
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    Ok(found)
}

/// The model with those rows that gain enough offered once more.
pub(crate) fn reinsert<T: Task>(
    task: &T,
    model: Sparse,
    budget: &Budget,
    par: &Par,
    profile: &mut Profile,
) -> Result<Sparse> {
    if budget.spent().is_some() {
        return Ok(model);
    }
    let options = task.options();
    let gains = gains(task, &model, par)?;
    // Rows near each other gain the same thing, so not all of them are needed.
    let most = (2 * model.columns.len()).max(32);
    let good: Vec<usize> = gains.iter().filter(|g| g.1 >= options.min_gain).take(most).map(|g| g.0).collect();
    if good.is_empty() || par.is_stopped() {
        return Ok(model);
    }
    let candidates = with_bias(united(&model.columns, &united(&good, &[])), options, task.design().n_rows());
    let run = Run { candidates: &candidates, from: &model, water_mark: 0, rows: None, is_last: true };
    let better = task.solve(run, budget, par, profile);
    if par.is_stopped() {
        return Ok(model);
    }
    let better = better?;
    Ok(if better.log_evidence > model.log_evidence { better } else { model })
}
