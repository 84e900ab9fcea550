//! Two classes: the mode of the posterior by damped Newton steps, and around it the quadratic problem whose evidence is raised
//! (spec 002, A5 and A6).
//!
//! ```text
//! p = s(Φw + o),  B = p(1 − p),  t̃ = Φw + B⁻¹(t − p)     (o: what is known beforehand of each row, mostly 0)
//! G = ΦᵀBΦ,  b = ΦᵀBt̃ = ΦᵀB(Φw) + Φᵀ(t − p)
//! J(w) = ½ wᵀAw − Σ log P(t_n)
//! ```

use hedgerow_core::{Budget, Par, Result};
use ndarray::Array1;

use super::values::sample;
use super::{Profile, Run, Sparse, Task, timed};
use crate::design::{Design, RowValues};
use crate::evidence::{Posterior, Quadratic, Start, solve};
use crate::options::{Options, RowsUsed};

/// Times that all candidates are looked at, linearised anew, when nothing is known yet.
const FIRST_PASSES: usize = 3;
/// Times that the relevant ones are, in a run that is not the last, and in the last.
const PASSES: [usize; 2] = [3, 25];
/// Newton steps for the mode at the end.
const MOST_STEPS: usize = 25;
/// The smallest step that is tried.
const LEAST_STEP: f64 = 1.0 / 256.0;
/// Scores that move less than this do not move.
const STILL: f64 = 1e-3;
/// The least curvature of a row.
const LEAST_CURVATURE: f64 = 1e-12;

/// Rows of two classes.
pub(crate) struct Binary<'a> {
    pub(crate) design: Design<'a>,
    pub(crate) is_one: &'a [bool],
    /// What is added to the score of each row.
    pub(crate) offsets: Option<&'a [f64]>,
    pub(crate) options: &'a Options,
}

/// Weights in training: those of the columns, and what they make of each row.
struct Weights {
    columns: Vec<usize>,
    values: Array1<f64>,
    scores: Vec<f64>,
}

impl Binary<'_> {
    fn offset(&self, row: usize) -> f64 {
        self.offsets.map_or(0.0, |offsets| offsets[row])
    }

    /// The probability of the class of a row, minus what it is: t − p, and the curvature p(1 − p).
    fn slopes(&self, scores: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let of = |(row, score): (usize, &f64)| {
            let p = sigmoid(score + self.offset(row));
            (f64::from(u8::from(self.is_one[row])) - p, (p * (1.0 - p)).max(LEAST_CURVATURE))
        };
        scores.iter().enumerate().map(of).unzip()
    }

    /// log P(t | scores), over all rows or some.
    fn log_likelihood(&self, scores: &[f64], rows: Option<&[usize]>) -> f64 {
        let of = |row: usize| {
            let z = scores[row] + self.offset(row);
            -softplus(if self.is_one[row] { -z } else { z })
        };
        match rows {
            Some(rows) => rows.iter().map(|&row| of(row)).sum(),
            None => (0..scores.len()).map(of).sum(),
        }
    }

    fn rows(&self, run: &Run<'_>) -> Option<Vec<usize>> {
        let bias = self.design.bias();
        match self.options.rows {
            RowsUsed::All => None,
            RowsUsed::Active => Some(run.candidates.iter().copied().filter(|c| *c != bias).collect()),
            RowsUsed::Sample if run.is_last => None,
            RowsUsed::Sample => Some(sample(bias, self.options.sample_rows, self.options.seed)),
        }
    }

    /// The problem of some candidates, linearised at scores.
    fn linearized(&self, candidates: &[usize], scores: &[f64], rows: Option<&[usize]>, par: &Par) -> Quadratic {
        let (slopes, curvatures) = self.slopes(scores);
        let values: Vec<f64> =
            slopes.iter().zip(&curvatures).zip(scores).map(|((g, b), f)| b * f + g).collect();
        let of = RowValues { weights: Some(&curvatures), values: &values };
        let sums = self.design.sums(candidates, rows, of, par);
        let n_rows = rows.map_or(scores.len(), <[usize]>::len) as f64;
        Quadratic { gram: sums.gram, moment: sums.moment, energy: 0.0, n_rows }
    }

    /// Goes from one set of weights towards another until the posterior no longer falls; returns how far scores moved.
    fn go(
        &self,
        from: &Weights,
        to: Weights,
        alpha: &[f64],
        rows: Option<&[usize]>,
    ) -> (Weights, f64) {
        let old: Array1<f64> = to
            .columns
            .iter()
            .map(|c| from.columns.binary_search(c).map_or(0.0, |place| from.values[place]))
            .collect();
        let dropped = from.columns.iter().any(|c| to.columns.binary_search(c).is_err());
        let cost = |values: &Array1<f64>, scores: &[f64]| {
            let penalty: f64 = alpha.iter().zip(values).map(|(a, w)| a * w * w).sum();
            0.5 * penalty - self.log_likelihood(scores, rows)
        };
        let mut step = 1.0;
        // Weights that were dropped have no cost any more to compare with; Newton's full step is taken then unless it is a
        // disaster, which a bound on the likelihood tells.
        let before = if dropped { f64::INFINITY } else { cost(&old, &from.scores) };
        let limit = if before.is_finite() { before } else { cost(&to.values, &from.scores).max(0.0) * 2.0 + 1e3 };
        let mut moved = to;
        loop {
            let now = cost(&moved.values, &moved.scores);
            if now <= limit + 1e-9 * limit.abs() || step < LEAST_STEP {
                break;
            }
            step /= 2.0;
            moved.values = (&moved.values + &old) * 0.5;
            moved.scores.iter_mut().zip(&from.scores).for_each(|(to, from)| *to = 0.5 * (*to + from));
        }
        let furthest = moved.scores.iter().zip(&from.scores).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        (moved, furthest)
    }

    /// The mode for fixed `α`, and the posterior around it.
    fn mode(
        &self,
        mut at: Weights,
        alpha: &[f64],
        rows: Option<&[usize]>,
        par: &Par,
    ) -> Result<(Weights, Posterior)> {
        let places: Vec<usize> = (0..at.columns.len()).collect();
        let mut n_steps = 0;
        loop {
            let problem = self.linearized(&at.columns, &at.scores, rows, par);
            let posterior = Posterior::new(&problem, &places, alpha, 1.0, par)?;
            let scores = self.design.multiply(&at.columns, &posterior.mean, par);
            let to = Weights { columns: at.columns.clone(), values: posterior.mean.clone(), scores };
            let (moved, furthest) = self.go(&at, to, alpha, rows);
            at = moved;
            n_steps += 1;
            if furthest < STILL || n_steps >= MOST_STEPS {
                return Ok((at, posterior));
            }
        }
    }
}

impl Task for Binary<'_> {
    fn design(&self) -> Design<'_> {
        self.design.borrowed()
    }

    fn options(&self) -> &Options {
        self.options
    }

    fn empty(&self) -> Sparse {
        Sparse::empty(self.design.n_rows(), 1.0)
    }

    fn solve(&self, run: Run<'_>, budget: &Budget, par: &Par, profile: &mut Profile) -> Result<Sparse> {
        let rows = self.rows(&run);
        let rows = rows.as_deref();
        let rules = self.rules(&run, false);
        let mut at = Weights {
            columns: run.from.columns.clone(),
            values: run.from.mean.clone(),
            scores: run.from.scores.clone(),
        };
        let mut candidates = run.candidates.to_vec();
        let mut model = run.from.clone();
        let n_wide = if run.from.columns.is_empty() { FIRST_PASSES } else { 1 };
        let n_passes = n_wide + PASSES[usize::from(run.is_last)];
        let mut is_converged = false;
        let mut n_iterations = 0;
        let mut jitter = 0.0_f64;
        for pass in 0..n_passes {
            if pass >= n_wide {
                candidates.clone_from(&model.columns);
            }
            let problem =
                timed(&mut profile.sums, || self.linearized(&candidates, &at.scores, rows, par));
            let start = Start { alpha: model.alpha_of(&candidates), beta: 1.0 };
            let found = timed(&mut profile.solve, || solve(&problem, &start, &rules, budget, par))?;
            n_iterations += found.n_iterations;
            let has_converged = found.is_converged;
            let next = Sparse::from_found(found, &candidates);
            jitter = jitter.max(next.jitter);
            let has_same = next.columns == model.columns;
            let change = if has_same {
                let logs = next.alpha.iter().zip(&model.alpha).map(|(a, b)| (libm::log(*a) - libm::log(*b)).abs());
                logs.fold(0.0, f64::max)
            } else {
                f64::INFINITY
            };
            let furthest = timed(&mut profile.mode, || {
                let scores = self.design.multiply(&next.columns, &next.mean, par);
                let to = Weights { columns: next.columns.clone(), values: next.mean.clone(), scores };
                let (moved, furthest) = self.go(&at, to, &next.alpha, rows);
                at = moved;
                furthest
            });
            model = next;
            if has_same && has_converged && furthest < STILL.max(0.01) && change < 0.02 && pass >= n_wide {
                is_converged = true;
                break;
            }
            if budget.spent().is_some() {
                break;
            }
        }
        let (at, posterior) =
            timed(&mut profile.mode, || self.mode(at, &model.alpha, rows, par))?;
        model.log_evidence = self.log_likelihood(&at.scores, rows)
            - 0.5 * model.alpha.iter().zip(&at.values).map(|(a, w)| a * w * w).sum::<f64>()
            + 0.5 * model.alpha.iter().map(|a| libm::log(*a)).sum::<f64>()
            - 0.5 * posterior.factor.log_det();
        model.covariance = posterior.factor.inverse(par);
        model.mean = at.values;
        model.scores = at.scores;
        (model.is_converged, model.n_iterations, model.jitter) = (is_converged, n_iterations, jitter);
        Ok(model)
    }

    fn errors(&self, model: &Sparse) -> Vec<f64> {
        self.slopes(&model.scores).0.iter().map(|g| g.abs()).collect()
    }

    fn error(&self, model: &Sparse) -> f64 {
        let wrong = self.slopes(&model.scores).0.iter().filter(|g| g.abs() > 0.5).count();
        wrong as f64 / model.scores.len().max(1) as f64
    }

    fn groups(&self) -> Vec<Vec<usize>> {
        let of = |wanted: bool| (0..self.is_one.len()).filter(|&row| self.is_one[row] == wanted).collect();
        vec![of(false), of(true)]
    }
}

/// 1/(1 + e^−z).
pub(crate) fn sigmoid(z: f64) -> f64 {
    if z >= 0.0 {
        1.0 / (1.0 + libm::exp(-z))
    } else {
        let e = libm::exp(z);
        e / (1.0 + e)
    }
}

/// log(1 + e^z).
pub(crate) fn softplus(z: f64) -> f64 {
    z.max(0.0) + libm::log1p(libm::exp(-z.abs()))
}
