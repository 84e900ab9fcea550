//! Several targets at once: a column serves all of them or none.
//!
//! With K targets, the same noise in each, and one precision for each column (B has a column a target, T all targets):
//!
//! ```text
//! Σ = (βG + A)⁻¹,   M = βΣB,   γ_i = 1 − α_i Σ_ii
//! α_i = Kγ_i / Σ_k M_ik²,      β = K(N − Σγ) / ‖T − ΦM‖²
//! ```
//!
//! With one target these are the steps of [`super::basic`] (Tipping 2001). The cost of K targets is hardly more than that of one: all
//! have the same Σ.

use hedgerow_core::{Budget, Par, Result};
use hedgerow_gp::linalg::Cholesky;
use ndarray::{Array2, Axis};

use super::{Start, precision_factor};

/// A column whose weights explain less than this share of the targets' energy is dropped.
const LEAST_SHARE: f64 = 1e-6;

/// What candidate columns and several targets sum up to over all rows.
#[derive(Debug, Clone)]
pub(crate) struct MultiTarget {
    /// `G = ΦᵀΦ`.
    pub(crate) gram: Array2<f64>,
    /// `B = ΦᵀT`: a column a target.
    pub(crate) moments: Array2<f64>,
    /// `‖T‖²`.
    pub(crate) energy: f64,
    /// N.
    pub(crate) n_rows: f64,
    /// K: targets that vary.
    pub(crate) n_targets: f64,
}

/// The relevant columns and their weights.
pub(crate) struct MultiTargetSolution {
    /// The candidates that are relevant, in order.
    pub(crate) active: Vec<usize>,
    pub(crate) alpha: Vec<f64>,
    pub(crate) beta: f64,
    /// M.
    pub(crate) weights: Array2<f64>,
    pub(crate) log_evidence: f64,
}

impl MultiTarget {
    /// Raises the evidence by so many steps, dropping columns on the way. An `α` that is infinite starts from the median of the others.
    pub(crate) fn solve(
        &self,
        start: &Start,
        n_steps: usize,
        alpha_max: f64,
        (budget, par): (&Budget, &Par),
    ) -> Result<MultiTargetSolution> {
        let mut alpha = filled(&start.alpha);
        let mut beta = start.beta;
        let mut active: Vec<usize> = (0..alpha.len()).collect();
        let mut step = 0;
        loop {
            let part = self.narrow(&active);
            let (weights, factor) = part.weights(&alpha, beta, par)?;
            let error = part.squared_error(&weights);
            if step >= n_steps || active.is_empty() || budget.spent().is_some() {
                let log_evidence = part.log_evidence(&alpha, beta, &weights, (error, factor.log_det()));
                return Ok(MultiTargetSolution { active, alpha, beta, weights, log_evidence });
            }
            step += 1;
            let mut determined = 0.0;
            let variances = factor.inverse_diagonal(par);
            for ((alpha, variance), row) in alpha.iter_mut().zip(&variances).zip(weights.rows()) {
                let gamma = (1.0 - *alpha * variance).clamp(1e-15, 1.0);
                determined += gamma;
                *alpha = (self.n_targets * gamma / row.dot(&row).max(1e-300)).max(1e-12);
            }
            let freedom = (self.n_rows - determined).max(1.0) * self.n_targets;
            // Targets without noise would have an infinite precision; a relative deviation of 1e-6 is as good as none.
            let least = 1e-12 * (self.energy / (self.n_rows * self.n_targets)).max(1e-300);
            beta = 1.0 / (error / freedom).max(least);
            let is_kept = |i: usize| {
                let own = self.gram[(active[i], active[i])] * self.n_targets;
                alpha[i] <= alpha_max && own > LEAST_SHARE * self.energy * alpha[i]
            };
            let kept: Vec<usize> = (0..active.len()).filter(|i| is_kept(*i)).collect();
            active = kept.iter().map(|&i| active[i]).collect();
            alpha = kept.iter().map(|&i| alpha[i]).collect();
        }
    }

    /// Places of the columns that explain most, in order, so many at most.
    pub(crate) fn strongest(&self, found: &MultiTargetSolution, most: usize) -> Vec<usize> {
        let of = |(&column, row): (&usize, ndarray::ArrayView1<'_, f64>)| {
            (self.gram[(column, column)] * row.dot(&row), column)
        };
        let mut columns: Vec<(f64, usize)> = found.active.iter().zip(found.weights.rows()).map(of).collect();
        columns.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut places: Vec<usize> = columns.into_iter().take(most).map(|(_, column)| column).collect();
        places.sort_unstable();
        places
    }

    /// M and the factor of Σ⁻¹, for all columns.
    pub(crate) fn weights(&self, alpha: &[f64], beta: f64, par: &Par) -> Result<(Array2<f64>, Cholesky)> {
        let all: Vec<usize> = (0..alpha.len()).collect();
        let factor = precision_factor(&self.gram, &all, alpha, beta, par)?;
        let mut rows = (&self.moments.t() * beta).as_standard_layout().into_owned();
        factor.forward_rows(&mut rows, par);
        factor.backward_rows(&mut rows, par);
        Ok((rows.t().as_standard_layout().into_owned(), factor))
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

    /// ‖T − ΦM‖².
    fn squared_error(&self, weights: &Array2<f64>) -> f64 {
        let explained = &self.gram.dot(weights) - &(2.0 * &self.moments);
        // What is left of large numbers may be no more than their rounding.
        (self.energy + (weights * &explained).sum()).max(1e-14 * self.energy)
    }

    fn log_evidence(
        &self,
        alpha: &[f64],
        beta: f64,
        weights: &Array2<f64>,
        (error, log_det): (f64, f64),
    ) -> f64 {
        let quadratic: f64 = alpha.iter().zip(weights.rows()).map(|(a, row)| a * row.dot(&row)).sum();
        let log_alpha: f64 = alpha.iter().map(|a| libm::log(*a)).sum();
        let of_each =
            self.n_rows * (libm::log(2.0 * std::f64::consts::PI) - libm::log(beta)) - log_alpha + log_det;
        -0.5 * (self.n_targets * of_each + beta * error + quadratic)
    }
}

/// Precisions, with the median of those that are known for those that are not.
fn filled(alpha: &[f64]) -> Vec<f64> {
    let mut known: Vec<f64> = alpha.iter().copied().filter(|a| a.is_finite()).collect();
    known.sort_by(f64::total_cmp);
    let usual = known.get(known.len() / 2).copied().unwrap_or(0.1);
    alpha.iter().map(|a| if a.is_finite() { *a } else { usual }).collect()
}

#[cfg(test)]
mod tests {
    use hedgerow_core::rng::{Purpose, Rng};
    use ndarray::{Array1, s};

    use super::super::{Quadratic, Rules, basic};
    use super::*;
    use crate::params::RvmParams;

    fn design(n: usize, m: usize, seed: u64) -> (Array2<f64>, Rng) {
        let mut rng = Rng::new(seed, Purpose::Data, 0);
        let phi = Array2::from_shape_fn((n, m), |(i, j)| {
            libm::exp(-(i as f64 / n as f64 - j as f64 / m as f64).powi(2) / 0.02) + 0.05 * rng.normal()
        });
        (phi, rng)
    }

    fn problem(phi: &Array2<f64>, targets: &Array2<f64>) -> MultiTarget {
        MultiTarget {
            gram: phi.t().dot(phi),
            moments: phi.t().dot(targets),
            energy: targets.iter().map(|t| t * t).sum(),
            n_rows: phi.nrows() as f64,
            n_targets: targets.ncols() as f64,
        }
    }

    #[test]
    fn one_target_is_the_basic_algorithm() {
        let (phi, mut rng) = design(80, 10, 1);
        let t: Array1<f64> =
            2.0 * &phi.column(3) - phi.column(7) + Array1::from_shape_fn(80, |_| 0.1 * rng.normal());
        let (par, budget) = (Par::sequential(), Budget::open());
        let start = Start { alpha: vec![0.5; 10], beta: 50.0 };
        let one =
            Quadratic { gram: phi.t().dot(&phi), moment: phi.t().dot(&t), energy: t.dot(&t), n_rows: 80.0 };
        let params =
            RvmParams { alpha_max: 1e4, tolerance: 1e-12, max_iterations: 7, ..RvmParams::default() };
        let rules = Rules { params: &params, noise_every: 1, water_mark: 0 };
        let expected = basic::solve(&one, &start, &rules, &budget, &par).unwrap();
        let targets = t.insert_axis(Axis(1));
        let found = problem(&phi, &targets).solve(&start, 7, 1e4, (&budget, &par)).unwrap();
        assert_eq!(found.active, expected.columns);
        assert!((found.log_evidence - expected.log_evidence).abs() < 1e-8 * expected.log_evidence.abs());
        assert!((found.beta * expected.noise - 1.0).abs() < 1e-8);
        for (a, b) in found.weights.column(0).iter().zip(&expected.mean) {
            assert!((a - b).abs() < 1e-9, "{a} {b}");
        }
    }

    #[test]
    fn evidence_is_the_sum_over_targets_and_steps_raise_it() {
        let (phi, mut rng) = design(60, 8, 2);
        let weights = Array2::from_shape_fn((8, 3), |(i, _)| if i < 3 { rng.normal() } else { 0.0 });
        let targets = phi.dot(&weights) + Array2::from_shape_fn((60, 3), |_| 0.1 * rng.normal());
        let all = problem(&phi, &targets);
        let (par, budget) = (Par::sequential(), Budget::open());
        let start = Start { alpha: vec![1.0; 8], beta: 20.0 };
        let of = |n| all.solve(&start, n, 1e9, (&budget, &par)).unwrap();
        // By the definition: log N(t_k | 0, I/β + ΦA⁻¹Φᵀ), a target at a time.
        let mut covariance = Array2::<f64>::eye(60) / 20.0;
        covariance += &phi.dot(&phi.t());
        let factor = Cholesky::new(covariance, &par).unwrap();
        let naive: f64 = targets
            .columns()
            .into_iter()
            .map(|t| {
                -0.5 * (60.0 * (2.0 * std::f64::consts::PI).ln() + factor.log_det() + t.dot(&factor.solve(t)))
            })
            .sum();
        let first = of(0);
        assert!((first.log_evidence - naive).abs() < 1e-7 * naive.abs(), "{} {naive}", first.log_evidence);
        let mut before = naive;
        for n in [1, 3, 10, 40] {
            let found = of(n);
            assert!(found.log_evidence > before - 1e-6, "{n}");
            before = found.log_evidence;
        }
        let found = of(200);
        assert!(
            found.active.len() < 8 && [0, 1, 2].iter().all(|i| found.active.contains(i)),
            "{:?}",
            found.active
        );
        assert!((found.beta / 100.0).ln().abs() < 0.3, "{}", found.beta);
        // Rows in two parts give the same.
        let mut parts = problem(&phi.slice(s![..25, ..]).to_owned(), &targets.slice(s![..25, ..]).to_owned());
        parts.add(&problem(&phi.slice(s![25.., ..]).to_owned(), &targets.slice(s![25.., ..]).to_owned()));
        let (a, b) =
            (parts.weights(&[1.0; 8], 5.0, &par).unwrap().0, all.weights(&[1.0; 8], 5.0, &par).unwrap().0);
        assert!((&a - &b).iter().all(|d| d.abs() < 1e-9));
    }
}
