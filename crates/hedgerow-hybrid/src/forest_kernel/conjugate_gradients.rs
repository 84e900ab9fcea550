//! GP regression on labels with all rows: `(K + σ²I) α = Y` by conjugate gradients.
//!
//! Each step costs one product with K, which takes time in proportion to rows times trees (see `product`), so the matrix is never built. Columns
//! of Y, one a class, go side by side, each with steps of its own.

use hedgerow_core::{Budget, Error, Par, Result};
use ndarray::{Array2, Zip};

use super::leaves::Leaves;
use super::product::product;

/// The norm of the residual at the end, relative to that of the labels; and steps, at most.
const TOLERANCE: f64 = 1e-3;
const MOST_STEPS: usize = 60;

/// The iteration for α, for labels with a column a class.
pub(super) struct ConjugateGradients {
    noise: f64,
    pub(super) alpha: Array2<f64>,
    residual: Array2<f64>,
    direction: Array2<f64>,
    /// Squared norms of the residual, and those that are small enough, by column.
    left: Vec<f64>,
    goal: Vec<f64>,
    n_steps: usize,
}

impl ConjugateGradients {
    /// From a first guess, if there is one.
    pub(super) fn new(
        leaves: &Leaves,
        y: &Array2<f64>,
        noise: f64,
        start: Option<Array2<f64>>,
        par: &Par,
    ) -> Self {
        let (alpha, residual) = match start {
            Some(start) => {
                let residual = y - &apply(leaves, &start, noise, par);
                (start, residual)
            }
            None => (Array2::zeros(y.dim()), y.clone()),
        };
        let goal = squares(y).into_iter().map(|square| square * TOLERANCE * TOLERANCE).collect();
        Self {
            noise,
            left: squares(&residual),
            direction: residual.clone(),
            alpha,
            residual,
            goal,
            n_steps: 0,
        }
    }

    /// Whether it has converged, or the budget is spent after a first step.
    pub(super) fn is_done(&self, budget: &Budget) -> bool {
        self.n_steps >= MOST_STEPS
            || self.left.iter().zip(&self.goal).all(|(left, goal)| left <= goal)
            || (self.n_steps > 0 && budget.spent().is_some())
    }

    /// One step. If it is interrupted, nothing has changed.
    pub(super) fn step(&mut self, leaves: &Leaves, par: &Par) -> Result<()> {
        let moved = apply(leaves, &self.direction, self.noise, par);
        if par.is_stopped() {
            return Err(Error::Interrupted);
        }
        let along = products(&self.direction, &moved);
        let step_size: Vec<f64> = self
            .left
            .iter()
            .zip(along)
            .zip(&self.goal)
            .map(|((left, along), goal)| if along > 0.0 && left > goal { left / along } else { 0.0 })
            .collect();
        add_scaled(&mut self.alpha, &self.direction, &step_size, 1.0);
        add_scaled(&mut self.residual, &moved, &step_size, -1.0);
        let next = squares(&self.residual);
        let beta: Vec<f64> = next
            .iter()
            .zip(&self.left)
            .map(|(next, left)| if *left > 0.0 { next / left } else { 0.0 })
            .collect();
        for (mut direction, residual) in self.direction.rows_mut().into_iter().zip(self.residual.rows()) {
            for ((d, r), beta) in direction.iter_mut().zip(residual).zip(&beta) {
                *d = r + beta * *d;
            }
        }
        self.left = next;
        self.n_steps += 1;
        Ok(())
    }
}

/// (K + σ²I) v.
fn apply(leaves: &Leaves, v: &Array2<f64>, noise: f64, par: &Par) -> Array2<f64> {
    let mut out = product(leaves, v, par);
    Zip::from(&mut out).and(v).for_each(|out, v| *out += noise * v);
    out
}

/// For each column, its product with that of another.
fn products(a: &Array2<f64>, b: &Array2<f64>) -> Vec<f64> {
    let mut sums = vec![0.0; a.ncols()];
    for (a, b) in a.rows().into_iter().zip(b.rows()) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += a * b);
    }
    sums
}

fn squares(a: &Array2<f64>) -> Vec<f64> {
    products(a, a)
}

/// Adds to each column a multiple of another.
fn add_scaled(to: &mut Array2<f64>, from: &Array2<f64>, step_size: &[f64], sign: f64) {
    for (mut to, from) in to.rows_mut().into_iter().zip(from.rows()) {
        for ((to, from), step_size) in to.iter_mut().zip(from).zip(step_size) {
            *to += sign * step_size * from;
        }
    }
}
