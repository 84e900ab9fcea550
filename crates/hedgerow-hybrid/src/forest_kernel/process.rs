//! A Gaussian process on labels with all rows: `(K + σ²I) α = Y` by conjugate gradients.
//!
//! Each step costs one product with K, which takes time in proportion to rows times trees (see `product`), so no matrix is ever there and tens of
//! thousands of rows are no trouble. Columns of Y, one a class, go side by side, each with steps of its own.

use hedgerow_core::{Budget, Par};
use ndarray::{Array2, Zip};

use super::leaves::Leaves;
use super::product::product;

/// The rest that is left, as a part of the labels; and steps, at most.
const TOLERANCE: f64 = 1e-3;
const MOST_STEPS: usize = 60;

/// α on its way, for labels with a column a class.
pub(super) struct Solver {
    noise: f64,
    pub(super) alpha: Array2<f64>,
    rest: Array2<f64>,
    direction: Array2<f64>,
    /// Squares of the rest, and those that are small enough, by column.
    left: Vec<f64>,
    goal: Vec<f64>,
    n_steps: usize,
}

impl Solver {
    /// From a first guess, if there is one.
    pub(super) fn new(
        leaves: &Leaves,
        y: &Array2<f64>,
        noise: f64,
        start: Option<Array2<f64>>,
        par: &Par,
    ) -> Self {
        let (alpha, rest) = match start {
            Some(start) => {
                let rest = y - &apply(leaves, &start, noise, par);
                (start, rest)
            }
            None => (Array2::zeros(y.dim()), y.clone()),
        };
        let goal = squares(y).into_iter().map(|square| square * TOLERANCE * TOLERANCE).collect();
        Self { noise, left: squares(&rest), direction: rest.clone(), alpha, rest, goal, n_steps: 0 }
    }

    /// Whether nothing is left to gain.
    pub(super) fn is_done(&self) -> bool {
        self.n_steps >= MOST_STEPS || self.left.iter().zip(&self.goal).all(|(left, goal)| left <= goal)
    }

    /// One step; false if the work is not wanted any more.
    pub(super) fn step(&mut self, leaves: &Leaves, par: &Par) -> bool {
        let moved = apply(leaves, &self.direction, self.noise, par);
        if par.is_stopped() {
            return false;
        }
        let along = products(&self.direction, &moved);
        let pace: Vec<f64> = self
            .left
            .iter()
            .zip(along)
            .zip(&self.goal)
            .map(|((left, along), goal)| if along > 0.0 && left > goal { left / along } else { 0.0 })
            .collect();
        add_scaled(&mut self.alpha, &self.direction, &pace, 1.0);
        add_scaled(&mut self.rest, &moved, &pace, -1.0);
        let next = squares(&self.rest);
        let turn: Vec<f64> = next
            .iter()
            .zip(&self.left)
            .map(|(next, left)| if *left > 0.0 { next / left } else { 0.0 })
            .collect();
        for (mut direction, rest) in self.direction.rows_mut().into_iter().zip(self.rest.rows()) {
            for ((d, r), turn) in direction.iter_mut().zip(rest).zip(&turn) {
                *d = r + turn * *d;
            }
        }
        self.left = next;
        self.n_steps += 1;
        true
    }
}

/// (K + σ²I) v.
fn apply(leaves: &Leaves, v: &Array2<f64>, noise: f64, par: &Par) -> Array2<f64> {
    let mut out = product(leaves, v, par);
    Zip::from(&mut out).and(v).for_each(|out, v| *out += noise * v);
    out
}

/// α for labels `y` (a column a class), from a first guess. None if the work is not wanted any more; if the time is up, what has been found by then.
pub(super) fn solve(
    leaves: &Leaves,
    y: &Array2<f64>,
    noise: f64,
    start: Option<Array2<f64>>,
    par: &Par,
    budget: &Budget,
) -> Option<Array2<f64>> {
    let mut solver = Solver::new(leaves, y, noise, start, par);
    while !solver.is_done() && (solver.n_steps == 0 || budget.spent().is_none()) {
        if !solver.step(leaves, par) {
            return None;
        }
    }
    Some(solver.alpha)
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

/// Adds to each column as much of another as it says.
fn add_scaled(to: &mut Array2<f64>, from: &Array2<f64>, pace: &[f64], sign: f64) {
    for (mut to, from) in to.rows_mut().into_iter().zip(from.rows()) {
        for ((to, from), pace) in to.iter_mut().zip(from).zip(pace) {
            *to += sign * pace * from;
        }
    }
}
