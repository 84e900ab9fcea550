//! GP regression on labels with all rows: `(K + σ²I) α = Y` by conjugate gradients.
//!
//! Each step costs one product with K, which takes time in proportion to rows times trees (see `product`), so the matrix is never built. Columns
//! of Y, one a class, go side by side, each with steps of its own.

use hedgerow_core::{Budget, Par, Result};
use ndarray::{Array1, Array2, Zip};

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
        par.check()?;
        let along = products(&self.direction, &moved);
        let rates = self.left.iter().zip(along).zip(&self.goal);
        let step_size: Array1<f64> = rates
            .map(|((left, along), goal)| if along > 0.0 && left > goal { left / along } else { 0.0 })
            .collect();
        let add = |to: &mut Array2<f64>, from: &Array2<f64>, sign: f64| {
            let to = Zip::from(to).and(from).and_broadcast(&step_size);
            to.for_each(|to, from, step_size| *to += sign * step_size * from);
        };
        add(&mut self.alpha, &self.direction, 1.0);
        add(&mut self.residual, &moved, -1.0);
        let next = squares(&self.residual);
        let beta = next.iter().zip(&self.left);
        let beta: Array1<f64> =
            beta.map(|(next, left)| if *left > 0.0 { next / left } else { 0.0 }).collect();
        let direction = Zip::from(&mut self.direction).and(&self.residual).and_broadcast(&beta);
        direction.for_each(|d, r, beta| *d = r + beta * *d);
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
