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
//! Several targets may share their columns, with one `α` for each column and the same noise: then `b` and `μ` have a column a target, all have
//! the same Σ, and `L` is the sum over targets.
//!
//! [`basic`] starts with all columns and drops those whose `α` runs away (Tipping 2001); [`fast`] starts with none and takes, changes
//! or drops one at a time, the one that gains most (Tipping and Faul 2003), for one target.

mod basic;
mod fast;
#[cfg(test)]
mod tests;

use hedgerow_core::{Budget, Par, Result};
use hedgerow_gp::linalg::Cholesky;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};

use crate::options::Solver;
use crate::params::RvmParams;

/// What candidate columns and targets sum up to over all rows.
#[derive(Debug, Clone)]
pub(crate) struct Quadratic {
    /// `G = ΦᵀBΦ`.
    pub(crate) gram: Array2<f64>,
    /// `b = ΦᵀBt`: a column a target.
    pub(crate) moments: Array2<f64>,
    /// `c = tᵀBt`, summed over targets.
    pub(crate) energy: f64,
    /// N.
    pub(crate) n_rows: f64,
    /// K: targets that vary.
    pub(crate) n_targets: f64,
}

/// How a problem is solved.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules<'a> {
    pub(crate) params: &'a RvmParams,
    /// Iterations from one estimate of the noise to the next; 0 keeps the noise as it is.
    pub(crate) noise_every: usize,
    /// Of `basic`: stop early when fewer columns than this are left.
    pub(crate) water_mark: usize,
    /// Of `basic`: a column whose weights explain no more than this share of the targets' energy is dropped, unless it is 0.
    pub(crate) least_share: f64,
    pub(crate) budget: &'a Budget,
    pub(crate) par: &'a Par,
}

/// The `α` of each column, infinite for one that is out, and the precision of the noise.
#[derive(Debug, Clone)]
pub(crate) struct Precisions {
    pub(crate) alpha: Vec<f64>,
    pub(crate) beta: f64,
}

impl Precisions {
    /// The `α` of candidates from those of known columns.
    pub(crate) fn of(candidates: &[usize], columns: &[usize], alpha: &[f64], beta: f64) -> Self {
        let of = |c: &usize| columns.binary_search(c).map_or(f64::INFINITY, |place| alpha[place]);
        Self { alpha: candidates.iter().map(of).collect(), beta }
    }

    /// With all columns in: those that were out have this `α`.
    pub(crate) fn filled(&self, first: f64) -> Self {
        let alpha = self.alpha.iter().map(|a| if a.is_finite() { *a } else { first }).collect();
        Self { alpha, beta: self.beta }
    }

    /// Keeps the columns at some places.
    fn retain(&mut self, places: &[usize]) {
        self.alpha = places.iter().map(|&i| self.alpha[i]).collect();
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

/// Solves a problem of one target.
pub(crate) fn solve(problem: &Quadratic, start: &Precisions, rules: &Rules<'_>) -> Result<SparseFit> {
    match rules.params.solver {
        Solver::Fast => fast::solve(problem, start, rules),
        Solver::Basic => basic::solve(problem, start, rules),
    }
}

/// The posterior of some columns, for one target.
pub(crate) struct Posterior {
    pub(crate) mean: Array1<f64>,
    pub(crate) factor: Cholesky,
}

impl Posterior {
    pub(crate) fn new(problem: &Quadratic, active: &[usize], at: &Precisions, par: &Par) -> Result<Self> {
        let factor = problem.precision_factor(active, at, par)?;
        let moment: Array1<f64> = active.iter().map(|&i| at.beta * problem.moment()[i]).collect();
        Ok(Self { mean: factor.solve(moment.view()), factor })
    }
}

/// What had to be added to the diagonal of a factored matrix, in units of its mean.
fn relative_jitter(factor: &Cholesky) -> f64 {
    if factor.jitter() == 0.0 {
        return 0.0;
    }
    let lower = factor.lower();
    let mean = lower.iter().map(|v| v * v).sum::<f64>() / lower.nrows().max(1) as f64;
    factor.jitter() / mean
}

impl Quadratic {
    pub(crate) fn n_candidates(&self) -> usize {
        self.moments.nrows()
    }

    /// `b` of the first target.
    pub(crate) fn moment(&self) -> ArrayView1<'_, f64> {
        self.moments.column(0)
    }

    /// The same for some of the columns.
    pub(crate) fn narrow(&self, columns: &[usize]) -> Self {
        Self {
            gram: self.gram.select(Axis(0), columns).select(Axis(1), columns),
            moments: self.moments.select(Axis(0), columns),
            ..*self
        }
    }

    /// Adds the sums of other rows over the same columns.
    pub(crate) fn add(&mut self, other: &Self) {
        self.gram += &other.gram;
        self.moments += &other.moments;
        self.energy += other.energy;
        self.n_rows += other.n_rows;
    }

    /// The factor of Σ⁻¹ = βG + A of some columns.
    fn precision_factor(&self, active: &[usize], at: &Precisions, par: &Par) -> Result<Cholesky> {
        let n = active.len();
        let mut precision = Array2::zeros((n, n));
        for (i, &row) in active.iter().enumerate() {
            let from = self.gram.row(row);
            active.iter().zip(precision.row_mut(i)).for_each(|(&column, to)| *to = at.beta * from[column]);
            precision[(i, i)] += at.alpha[i];
        }
        Cholesky::robust_in_place(precision, par)
    }

    /// The weights of all columns for all targets, and the factor of Σ⁻¹.
    pub(crate) fn weights(&self, at: &Precisions, par: &Par) -> Result<(Array2<f64>, Cholesky)> {
        let all: Vec<usize> = (0..at.alpha.len()).collect();
        let factor = self.precision_factor(&all, at, par)?;
        let mut rows = (&self.moments.t() * at.beta).as_standard_layout().into_owned();
        factor.forward_rows(&mut rows, par);
        factor.backward_rows(&mut rows, par);
        Ok((rows.t().as_standard_layout().into_owned(), factor))
    }

    /// c − 2μᵀb + μᵀGμ: the squared error of weights for some columns, for one target.
    pub(crate) fn squared_error(&self, active: &[usize], mean: &Array1<f64>) -> f64 {
        let mut error = self.energy;
        for (&i, m) in active.iter().zip(mean) {
            let row = self.gram.row(i);
            let product: f64 = active.iter().zip(mean).map(|(&j, w)| row[j] * w).sum();
            error += m * (product - 2.0 * self.moments[(i, 0)]);
        }
        self.above_rounding(error)
    }

    /// The same of weights for all columns and all targets.
    fn squared_error_of_all(&self, weights: &Array2<f64>) -> f64 {
        let explained = &self.gram.dot(weights) - &(2.0 * &self.moments);
        self.above_rounding(self.energy + (weights * &explained).sum())
    }

    /// What is left of large numbers may be no more than their rounding.
    fn above_rounding(&self, error: f64) -> f64 {
        error.max(1e-14 * self.energy)
    }

    /// L, up to what the hyper-priors add. `log_det` is that of Σ⁻¹.
    fn log_evidence(&self, at: &Precisions, weights: ArrayView2<'_, f64>, error: f64, log_det: f64) -> f64 {
        let n = self.n_rows;
        let penalty = |(a, row): (&f64, ArrayView1<'_, f64>)| row.iter().map(|w| a * w * w).sum::<f64>();
        let quadratic: f64 = at.alpha.iter().zip(weights.rows()).map(penalty).sum();
        let log_alpha: f64 = at.alpha.iter().map(|a| libm::log(*a)).sum();
        let of_each =
            n * libm::log(2.0 * std::f64::consts::PI) - n * libm::log(at.beta) - log_alpha + log_det;
        -0.5 * (self.n_targets * of_each + at.beta * error + quadratic)
    }

    /// The new precision of the noise: K(N − Σγ + 2c)/(error + 2d).
    fn noise_precision(&self, n_determined: f64, error: f64, params: &RvmParams) -> f64 {
        let [_, _, c, d] = params.hyper_priors;
        let freedom = (self.n_rows - n_determined + 2.0 * c).max(1.0) * self.n_targets;
        // Data without noise would have an infinite precision; a relative deviation of 1e-6 is as good as none.
        let least = 1e-12 * (self.energy / (self.n_rows * self.n_targets)).max(1e-300);
        1.0 / ((error + 2.0 * d) / freedom).max(least)
    }
}
