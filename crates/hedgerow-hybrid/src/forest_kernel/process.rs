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

/// α for labels `y` (a column a class), from a first guess. None if the work is not wanted any more; if the time is up, what has been found by then.
pub(super) fn solve(
    leaves: &Leaves,
    y: &Array2<f64>,
    noise: f64,
    start: Option<Array2<f64>>,
    par: &Par,
    budget: &Budget,
) -> Option<Array2<f64>> {
    let apply = |v: &Array2<f64>| {
        let mut out = product(leaves, v, par);
        Zip::from(&mut out).and(v).for_each(|out, v| *out += noise * v);
        out
    };
    let (mut alpha, mut rest) = match start {
        Some(start) => {
            let rest = y - &apply(&start);
            (start, rest)
        }
        None => (Array2::zeros(y.dim()), y.clone()),
    };
    let goal: Vec<f64> = squares(y).into_iter().map(|square| square * TOLERANCE * TOLERANCE).collect();
    let mut left = squares(&rest);
    let mut direction = rest.clone();
    for step in 0..MOST_STEPS {
        let is_done = left.iter().zip(&goal).all(|(left, goal)| left <= goal);
        if is_done || (step > 0 && budget.spent().is_some()) {
            break;
        }
        let moved = apply(&direction);
        if par.is_stopped() {
            return None;
        }
        let along = products(&direction, &moved);
        let pace: Vec<f64> = left
            .iter()
            .zip(along)
            .zip(&goal)
            .map(|((left, along), goal)| if along > 0.0 && left > goal { left / along } else { 0.0 })
            .collect();
        add_scaled(&mut alpha, &direction, &pace, 1.0);
        add_scaled(&mut rest, &moved, &pace, -1.0);
        let next = squares(&rest);
        let turn: Vec<f64> =
            next.iter().zip(&left).map(|(next, left)| if *left > 0.0 { next / left } else { 0.0 }).collect();
        for (mut direction, rest) in direction.rows_mut().into_iter().zip(rest.rows()) {
            for ((d, r), turn) in direction.iter_mut().zip(rest).zip(&turn) {
                *d = r + turn * *d;
            }
        }
        left = next;
    }
    Some(alpha)
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
