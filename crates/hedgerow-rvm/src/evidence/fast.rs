//! No columns at first; one at a time is taken in, changed or dropped, the one that raises the evidence most (Tipping and
//! Faul 2003).
//!
//! For every candidate the sparsity `S` and the quality `Q` are kept up to date, at the cost of one row of the Gram matrix for each
//! relevant column:
//!
//! ```text
//! S_m = βG_mm − β² g_mᵀ Σ g_m,   Q_m = β(b_m − g_mᵀ μ),   g_m = G[active, m]
//! ```

use hedgerow_core::Result;
use ndarray::{Array1, Array2, ArrayView1, Axis, s};

use super::{Posterior, Precisions, Quadratic, Rules, SparseFit, relative_jitter};

/// Changes after which everything is computed anew, so that rounding does not add up.
const REFRESH: usize = 60;
/// A candidate of which less than this is left, once relevant columns are taken off, is one of them in all but name.
const LEAST_REST: f64 = 1e-9;
/// How much the logarithm of the noise may still move at the end.
const NOISE_TOLERANCE: f64 = 1e-3;

/// What to do with a candidate, and what that gains.
#[derive(Debug, Clone, Copy)]
enum Action {
    Take { candidate: usize, alpha: f64 },
    Change { place: usize, alpha: f64 },
    Drop { place: usize },
}

struct State<'a> {
    problem: &'a Quadratic,
    rules: &'a Rules<'a>,
    active: Vec<usize>,
    at: Precisions,
    mean: Array1<f64>,
    covariance: Array2<f64>,
    sparsity: Array1<f64>,
    quality: Array1<f64>,
    is_active: Vec<bool>,
    log_det: f64,
    jitter: f64,
}

pub(super) fn solve(problem: &Quadratic, start: &Precisions, rules: &Rules<'_>) -> Result<SparseFit> {
    let n = problem.n_candidates();
    let is_active: Vec<bool> = start.alpha.iter().map(|alpha| *alpha <= rules.params.alpha_max).collect();
    let active: Vec<usize> = (0..n).filter(|i| is_active[*i]).collect();
    let mut at = start.clone();
    at.retain(&active);
    let mut state = State {
        problem,
        rules,
        active,
        at,
        is_active,
        mean: Array1::zeros(0),
        covariance: Array2::zeros((0, 0)),
        sparsity: Array1::zeros(n),
        quality: Array1::zeros(n),
        log_det: 0.0,
        jitter: 0.0,
    };
    state.refresh()?;
    let mut n_iterations = 0;
    let mut is_converged = false;
    let mut since_refresh = 0;
    while n_iterations < rules.params.max_iterations && rules.budget.spent().is_none() {
        let best = state.best();
        let is_noise_due =
            rules.noise_every > 0 && (best.is_none() || (n_iterations + 1).is_multiple_of(rules.noise_every));
        if let Some(action) = best {
            state.apply(action);
            n_iterations += 1;
            since_refresh += 1;
        }
        let mut has_moved = false;
        if is_noise_due {
            let before = state.at.beta;
            let error = problem.squared_error(&state.active, &state.mean);
            state.at.beta = problem.noise_precision(state.determined(), error, rules.params);
            has_moved = (libm::log(state.at.beta) - libm::log(before)).abs() > NOISE_TOLERANCE;
            if has_moved || best.is_none() {
                state.refresh()?;
                since_refresh = 0;
            } else {
                state.at.beta = before;
            }
            n_iterations += usize::from(best.is_none());
        }
        if best.is_none() && !has_moved {
            is_converged = true;
            break;
        }
        if since_refresh >= REFRESH {
            state.refresh()?;
            since_refresh = 0;
        }
    }
    state.finish(n_iterations, is_converged)
}

impl State<'_> {
    /// Everything from the columns and their `α`.
    fn refresh(&mut self) -> Result<()> {
        let (par, beta) = (self.rules.par, self.at.beta);
        let posterior = Posterior::new(self.problem, &self.active, &self.at, par)?;
        self.jitter = self.jitter.max(relative_jitter(&posterior.factor));
        self.log_det = posterior.factor.log_det();
        self.covariance = posterior.factor.inverse(par);
        let mut known = self.problem.gram.select(Axis(1), &self.active);
        self.quality = (&self.problem.moment() - &known.dot(&posterior.mean)) * beta;
        posterior.factor.forward_rows(&mut known, par);
        let own = self.problem.gram.diag();
        let rest = |(own, known): (&f64, ArrayView1<'_, f64>)| beta * own - beta * beta * known.dot(&known);
        self.sparsity = own.iter().zip(known.rows()).map(rest).collect();
        self.mean = posterior.mean;
        Ok(())
    }

    /// Σγ.
    fn determined(&self) -> f64 {
        let of_one = |(alpha, variance): (&f64, &f64)| (1.0 - alpha * variance).clamp(0.0, 1.0);
        self.at.alpha.iter().zip(self.covariance.diag()).map(of_one).sum()
    }

    /// The change that gains most, if any gains enough; of equals, the first.
    fn best(&self) -> Option<Action> {
        let (min_gain, alpha_max) = (self.rules.params.min_gain, self.rules.params.alpha_max);
        let mut best: Option<(f64, Action)> = None;
        let mut offer = |gain: f64, action: Action| {
            if gain > min_gain && best.is_none_or(|(most, _)| gain > most) {
                best = Some((gain, action));
            }
        };
        for candidate in (0..self.is_active.len()).filter(|i| !self.is_active[*i]) {
            let (s, q) = (self.sparsity[candidate], self.quality[candidate]);
            let whole = self.at.beta * self.problem.gram[(candidate, candidate)];
            let rest = q * q - s;
            if s <= LEAST_REST * whole || rest <= 0.0 {
                continue;
            }
            let alpha = s * s / rest;
            if alpha <= alpha_max {
                let gain = 0.5 * (rest / s + libm::log(s / (q * q)));
                offer(gain, Action::Take { candidate, alpha: alpha.max(1e-12) });
            }
        }
        for (place, &old) in self.at.alpha.iter().enumerate() {
            // With the column itself taken out, s = 1/Σ_jj − α and q = μ/Σ_jj. From S and Q the same would be a difference of
            // numbers that are nearly equal when there are many rows.
            let (variance, mean) = (self.covariance[(place, place)], self.mean[place]);
            let gamma = (1.0 - old * variance).clamp(0.0, 1.0);
            let (s, q) = (gamma / variance, mean / variance);
            let rest = q * q - s;
            let alpha = if rest > 0.0 { (s * s / rest).max(1e-12) } else { f64::INFINITY };
            if alpha <= alpha_max {
                let delta = 1.0 / alpha - 1.0 / old;
                if (libm::log(alpha) - libm::log(old)).abs() > 1e-6 {
                    let (whole_s, whole_q) = (old * gamma, old * mean);
                    let gain =
                        0.5 * (whole_q * whole_q / (whole_s + 1.0 / delta) - libm::log1p(whole_s * delta));
                    offer(gain, Action::Change { place, alpha });
                }
            } else {
                let gain = 0.5 * (-mean * mean / variance - libm::log(old * variance));
                // One that is no good is dropped even if that gains nothing worth mentioning.
                offer(gain.max(2.0 * min_gain), Action::Drop { place });
            }
        }
        best.map(|(_, action)| action)
    }

    fn apply(&mut self, action: Action) {
        match action {
            Action::Take { candidate, alpha } => self.take(candidate, alpha),
            Action::Change { place, alpha } => self.change(place, alpha),
            Action::Drop { place } => self.drop(place),
        }
    }

    /// β G[:, active] v for all candidates.
    fn spread(&self, v: &Array1<f64>) -> Array1<f64> {
        let mut out = Array1::zeros(self.is_active.len());
        for (&column, weight) in self.active.iter().zip(v) {
            out.scaled_add(self.at.beta * weight, &self.problem.gram.row(column));
        }
        out
    }

    fn take(&mut self, candidate: usize, alpha: f64) {
        let (n, beta) = (self.active.len(), self.at.beta);
        let variance = 1.0 / (alpha + self.sparsity[candidate]);
        let mean = variance * self.quality[candidate];
        let own: Array1<f64> =
            self.active.iter().map(|&i| beta * self.problem.gram[(candidate, i)]).collect();
        let v = self.covariance.dot(&own);
        let mut rest = self.spread(&v);
        rest.zip_mut_with(&self.problem.gram.row(candidate), |r, g| *r = beta * g - *r);
        self.sparsity.scaled_add(-variance, &rest.mapv(|e| e * e));
        self.quality.scaled_add(-mean, &rest);
        // The others give up their share in the new column.
        let change: Array1<f64> = v.iter().copied().chain([-1.0]).collect();
        let mut covariance = Array2::zeros((n + 1, n + 1));
        covariance.slice_mut(s![..n, ..n]).assign(&self.covariance);
        self.covariance = covariance;
        self.mean = self.mean.iter().copied().chain([0.0]).collect();
        self.move_by(&change, variance, -mean);
        self.active.push(candidate);
        self.at.alpha.push(alpha);
        self.is_active[candidate] = true;
    }

    fn change(&mut self, place: usize, alpha: f64) {
        let delta = alpha - self.at.alpha[place];
        let kappa = 1.0 / (self.covariance[(place, place)] + 1.0 / delta);
        self.lessen(place, kappa);
        self.at.alpha[place] = alpha;
    }

    fn drop(&mut self, place: usize) {
        self.lessen(place, 1.0 / self.covariance[(place, place)]);
        let kept: Vec<usize> = (0..self.active.len()).filter(|i| *i != place).collect();
        self.covariance = self.covariance.select(Axis(0), &kept).select(Axis(1), &kept);
        self.mean = self.mean.select(Axis(0), &kept);
        self.is_active[self.active[place]] = false;
        self.active.remove(place);
        self.at.alpha.remove(place);
    }

    /// What a larger `α` of one column, infinite if `κ = 1/Σ_jj`, does to everything else.
    fn lessen(&mut self, place: usize, kappa: f64) {
        let column = self.covariance.column(place).to_owned();
        let mean = self.mean[place];
        let spread = self.spread(&column);
        self.sparsity.scaled_add(kappa, &spread.mapv(|e| e * e));
        self.quality.scaled_add(kappa * mean, &spread);
        self.move_by(&column, -kappa, -kappa * mean);
    }

    /// Adds so much of `vvᵀ` to the covariance, and so much of `v` to the mean.
    fn move_by(&mut self, v: &Array1<f64>, of_square: f64, of_mean: f64) {
        self.mean.scaled_add(of_mean, v);
        for (mut row, factor) in self.covariance.rows_mut().into_iter().zip(v) {
            row.scaled_add(of_square * factor, v);
        }
    }

    fn finish(mut self, n_iterations: usize, is_converged: bool) -> Result<SparseFit> {
        let mut order: Vec<usize> = (0..self.active.len()).collect();
        order.sort_by_key(|&i| self.active[i]);
        self.active = order.iter().map(|&i| self.active[i]).collect();
        self.at.retain(&order);
        self.refresh()?;
        let error = self.problem.squared_error(&self.active, &self.mean);
        let weights = self.mean.view().insert_axis(Axis(1));
        let log_evidence = self.problem.log_evidence(&self.at, weights, error, self.log_det);
        Ok(SparseFit {
            columns: self.active,
            noise: 1.0 / self.at.beta,
            alpha: self.at.alpha,
            mean: self.mean,
            covariance: self.covariance,
            log_evidence,
            n_iterations,
            is_converged,
            jitter: self.jitter,
            scores: Vec::new(),
        })
    }
}
