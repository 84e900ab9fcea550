//! Two classes: the mode of the posterior by damped Newton steps, and around it the quadratic problem whose evidence is maximised
//! (Laplace's approximation; Tipping 2001, section 3).
//!
//! ```text
//! p = s(Φw + o),  B = p(1 − p),  t̃ = Φw + B⁻¹(t − p)     (o: an offset of each row, mostly 0)
//! G = ΦᵀBΦ,  b = ΦᵀBt̃ = ΦᵀB(Φw) + Φᵀ(t − p)
//! J(w) = ½ wᵀAw − Σ log P(t_n)
//! ```

use std::borrow::Cow;

use hedgerow_core::{Par, Result};
use ndarray::{Array1, ArrayView1, Axis};

use super::{Candidates, Context, Profile, SparseFit, Target, picked, timed};
use crate::design::Table;
use crate::evidence::{Posterior, Precisions, Quadratic, solve};

/// Passes over all candidates, linearised anew each time, when there are no weights to start from.
const FIRST_PASSES: usize = 3;
/// Passes over the relevant ones, in a solve that is not the last, and in the last.
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
    pub(crate) context: Context<'a>,
    pub(crate) is_one: &'a [bool],
    /// What is added to the score of each row.
    pub(crate) offsets: Option<&'a [f64]>,
}

/// The rows that a solve uses: their classes, and what is added to their scores.
struct UsedRows<'a> {
    is_one: Cow<'a, [bool]>,
    offsets: Option<Cow<'a, [f64]>>,
}

impl<'a> Binary<'a> {
    fn used(&self, rows: Option<&[usize]>) -> UsedRows<'a> {
        UsedRows { is_one: picked(self.is_one, rows), offsets: self.offsets.map(|all| picked(all, rows)) }
    }
}

/// The table of some of a table's columns.
fn narrowed<'t>(table: &Table<'t>, candidates: &[usize], columns: &[usize]) -> Table<'t> {
    let places: Vec<usize> = columns.iter().filter_map(|c| candidates.binary_search(c).ok()).collect();
    table.narrow(&places)
}

impl UsedRows<'_> {
    fn offset(&self, row: usize) -> f64 {
        self.offsets.as_ref().map_or(0.0, |offsets| offsets[row])
    }

    /// t − p and p(1 − p), the slope and the curvature of the log likelihood of each row.
    fn slopes(&self, scores: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let of = |(row, score): (usize, &f64)| {
            let p = sigmoid(score + self.offset(row));
            (f64::from(u8::from(self.is_one[row])) - p, (p * (1.0 - p)).max(LEAST_CURVATURE))
        };
        scores.iter().enumerate().map(of).unzip()
    }

    /// log P(t | scores).
    fn log_likelihood(&self, scores: &[f64]) -> f64 {
        let of = |(row, score): (usize, &f64)| {
            let z = score + self.offset(row);
            -softplus(if self.is_one[row] { -z } else { z })
        };
        scores.iter().enumerate().map(of).sum()
    }

    /// The problem of the columns of a table, linearised at scores.
    fn linearized(&self, table: &Table<'_>, scores: &[f64], par: &Par) -> Quadratic {
        let (slopes, curvatures) = self.slopes(scores);
        let values: Vec<f64> =
            slopes.iter().zip(&curvatures).zip(scores).map(|((g, b), f)| b * f + g).collect();
        let values = ArrayView1::from(&values).insert_axis(Axis(1));
        let (gram, moments) = table.sums(Some(&curvatures), values, par);
        Quadratic { gram, moments, energy: 0.0, n_rows: scores.len() as f64, n_targets: 1.0 }
    }

    /// Goes from one fit towards another until the posterior no longer falls; returns how far scores moved.
    fn go(&self, from: &SparseFit, mut to: SparseFit) -> (SparseFit, f64) {
        let old: Array1<f64> = to
            .columns
            .iter()
            .map(|c| from.columns.binary_search(c).map_or(0.0, |place| from.mean[place]))
            .collect();
        let has_dropped = from.columns.iter().any(|c| to.columns.binary_search(c).is_err());
        let cost =
            |mean: &Array1<f64>, scores: &[f64]| 0.5 * penalty(&to.alpha, mean) - self.log_likelihood(scores);
        // Weights that were dropped have no cost any more to compare with: then a step is good unless it makes rows much less
        // likely.
        let limit = if has_dropped {
            -self.log_likelihood(&from.scores)
                + 0.5 * penalty(&to.alpha, &to.mean)
                + 0.1 * from.scores.len() as f64
        } else {
            cost(&old, &from.scores)
        };
        let mut step = 1.0;
        while cost(&to.mean, &to.scores) > limit + 1e-9 * limit.abs() && step > LEAST_STEP {
            step /= 2.0;
            to.mean = (&to.mean + &old) * 0.5;
            to.scores.iter_mut().zip(&from.scores).for_each(|(to, from)| *to = 0.5 * (*to + from));
        }
        let furthest = to.scores.iter().zip(&from.scores).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        (to, furthest)
    }

    /// The mode for fixed `α`, as near as so many steps come to it, and the posterior around it.
    fn mode(
        &self,
        table: &Table<'_>,
        mut fit: SparseFit,
        most_steps: usize,
        par: &Par,
    ) -> Result<(SparseFit, Posterior)> {
        let places: Vec<usize> = (0..fit.columns.len()).collect();
        let at = Precisions { alpha: fit.alpha.clone(), beta: 1.0 };
        let mut n_steps = 0;
        loop {
            let problem = self.linearized(table, &fit.scores, par);
            let posterior = Posterior::new(&problem, &places, &at, par)?;
            let (mean, scores) = (posterior.mean.clone(), table.multiply(&posterior.mean, par));
            let (moved, furthest) = self.go(&fit, SparseFit { mean, scores, ..fit.clone() });
            fit = moved;
            n_steps += 1;
            if furthest < STILL || n_steps >= most_steps {
                return Ok((fit, posterior));
            }
        }
    }
}

/// wᵀAw.
fn penalty(alpha: &[f64], mean: &Array1<f64>) -> f64 {
    alpha.iter().zip(mean).map(|(a, w)| a * w * w).sum()
}

impl Target for Binary<'_> {
    /// Fewer than for numbers, since a solve passes over the rows many times.
    const WHOLE_ROWS: usize = 200;

    fn context(&self) -> Context<'_> {
        self.context
    }

    fn problem(&self, candidates: &[usize], fit: &SparseFit) -> Quadratic {
        let Context { design, par, .. } = self.context;
        self.used(None).linearized(&design.passing(candidates, None), &fit.scores, par)
    }

    fn empty(&self) -> SparseFit {
        SparseFit::empty(self.is_one.len(), 1.0)
    }

    fn solve(&self, candidates: Candidates<'_>, profile: &mut Profile) -> Result<SparseFit> {
        let Candidates { columns: all, from, is_last, par, .. } = candidates;
        let Context { design, params, .. } = self.context;
        let rows = candidates.rows_used(design.n_rows(), params);
        let rows = rows.as_deref();
        let used = self.used(rows);
        let rules = candidates.rules(params, 0);
        let wide = timed(&mut profile.sums, || design.table(all, rows, par));
        let mut narrow: Option<(Vec<usize>, Table<'_>)> = None;
        let mut fit = SparseFit { scores: picked(&from.scores, rows).into_owned(), ..from.clone() };
        let n_wide = if from.columns.is_empty() { FIRST_PASSES } else { 1 };
        let n_passes = n_wide + PASSES[usize::from(is_last)];
        let still = if is_last { STILL.max(0.01) } else { 0.05 };
        let mut is_converged = false;
        let mut n_iterations = 0;
        let mut jitter = 0.0_f64;
        for pass in 0..n_passes {
            par.check()?;
            // All candidates at first, then those that were found relevant.
            if pass >= n_wide && narrow.as_ref().is_none_or(|(columns, _)| *columns != fit.columns) {
                narrow = Some((fit.columns.clone(), narrowed(&wide, all, &fit.columns)));
            }
            let (columns, table) =
                narrow.as_ref().map_or((all, &wide), |(columns, table)| (columns.as_slice(), table));
            let problem = timed(&mut profile.sums, || used.linearized(table, &fit.scores, par));
            let start = Precisions::of(columns, &fit.columns, &fit.alpha, 1.0);
            par.check()?;
            let mut next = timed(&mut profile.solve, || solve(&problem, &start, &rules))?;
            n_iterations += next.n_iterations;
            jitter = jitter.max(next.jitter);
            let has_converged = next.is_converged;
            let (moved, furthest) = timed(&mut profile.mode, || {
                let mut weights = Array1::zeros(columns.len());
                next.columns.iter().zip(&next.mean).for_each(|(&place, w)| weights[place] = *w);
                next.scores = table.multiply(&weights, par);
                used.go(&fit, next.over(columns))
            });
            let has_same = moved.columns == fit.columns;
            let change = if has_same { largest_change(&moved.alpha, &fit.alpha) } else { f64::INFINITY };
            fit = moved;
            let is_still = has_same && furthest < still && (change < 0.02 || !is_last);
            if is_still && has_converged && pass >= n_wide {
                is_converged = true;
                break;
            }
            if candidates.budget.spent().is_some() {
                break;
            }
        }
        par.check()?;
        let steps = if is_last { MOST_STEPS } else { 1 };
        let (mut fit, posterior) = timed(&mut profile.mode, || {
            let table = narrowed(&wide, all, &fit.columns);
            used.mode(&table, fit, steps, par)
        })?;
        fit.log_evidence = used.log_likelihood(&fit.scores) - 0.5 * penalty(&fit.alpha, &fit.mean)
            + 0.5 * fit.alpha.iter().map(|a| libm::log(*a)).sum::<f64>()
            - 0.5 * posterior.factor.log_det();
        if is_last {
            fit.covariance = posterior.factor.inverse(par);
        }
        if rows.is_some() {
            fit.scores = timed(&mut profile.errors, || design.multiply(&fit.columns, &fit.mean, par));
        }
        Ok(SparseFit { n_iterations, is_converged, jitter, ..fit })
    }

    fn errors(&self, fit: &SparseFit) -> Vec<f64> {
        self.used(None).slopes(&fit.scores).0.iter().map(|g| g.abs()).collect()
    }

    fn error(&self, fit: &SparseFit) -> f64 {
        let wrong = self.errors(fit).iter().filter(|error| **error > 0.5).count();
        wrong as f64 / fit.scores.len().max(1) as f64
    }

    fn groups(&self) -> Vec<Vec<usize>> {
        let of = |wanted: bool| (0..self.is_one.len()).filter(|&row| self.is_one[row] == wanted).collect();
        vec![of(false), of(true)]
    }
}

/// The largest change of a logarithm.
fn largest_change(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (libm::log(*a) - libm::log(*b)).abs()).fold(0.0, f64::max)
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
