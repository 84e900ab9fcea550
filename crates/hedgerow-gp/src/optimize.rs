//! Finding the highest point of a smooth function: L-BFGS within bounds.

use std::collections::VecDeque;

use hedgerow_core::Budget;
use ndarray::{Array, Dimension};

use crate::kernel::Kernel;
use crate::linalg::dot;

/// How far parameters, mostly logarithms, may go from 0.
const MOST: f64 = 15.0;
/// Steps whose curvature is kept.
const MEMORY: usize = 8;

/// A function's value and its gradient; none where it cannot be computed.
pub(crate) type Point = Option<(f64, Vec<f64>)>;

/// Climbs from a start until the gradient or the gain is negligible, `most` evaluations are spent, or the budget is. None if the
/// function cannot be computed at the start.
pub(crate) fn climb(
    start: &[f64],
    most: usize,
    budget: &Budget,
    mut f: impl FnMut(&[f64]) -> Point,
) -> Option<Vec<f64>> {
    let mut x = start.to_vec();
    let (mut value, mut gradient) = f(&x)?;
    let mut n_evaluations = 1;
    let mut steps: VecDeque<(Vec<f64>, Vec<f64>)> = VecDeque::new();
    while n_evaluations < most && budget.spent().is_none() {
        let mut direction = newton_like(&gradient, &steps);
        let mut rise = dot(&direction, &gradient);
        if rise.is_nan() || rise <= 0.0 {
            steps.clear();
            direction.clone_from(&gradient);
            rise = dot(&direction, &gradient);
        }
        // The first step has no curvature to go by.
        let longest = direction.iter().fold(0.0, |most: f64, d| most.max(d.abs()));
        let mut step = if steps.is_empty() { (1.0 / longest).min(1.0) } else { (3.0 / longest).min(1.0) };
        let next = loop {
            let y: Vec<f64> =
                x.iter().zip(&direction).map(|(x, d)| (x + step * d).clamp(-MOST, MOST)).collect();
            let point = f(&y).filter(|(v, g)| v.is_finite() && g.iter().all(|g| g.is_finite()));
            n_evaluations += 1;
            match point {
                // Work that is interrupted ends early, and what comes of it is worth nothing.
                _ if budget.stop.is_stopped() => break None,
                Some((v, g)) if v >= value + 1e-4 * step * rise => break Some((y, v, g)),
                _ if step < 1e-10 || n_evaluations >= most => break None,
                _ => step *= 0.4,
            }
        };
        let Some((y, v, g)) = next else { break };
        let moved: Vec<f64> = y.iter().zip(&x).map(|(y, x)| y - x).collect();
        // Of the negated function, so that curvature is positive where the search is well behaved.
        let bent: Vec<f64> = gradient.iter().zip(&g).map(|(old, new)| old - new).collect();
        let gain = v - value;
        if dot(&moved, &bent) > 1e-10 * dot(&bent, &bent) {
            steps.push_back((moved, bent));
            if steps.len() > MEMORY {
                steps.pop_front();
            }
        }
        (x, value, gradient) = (y, v, g);
        let steepest = gradient.iter().fold(0.0, |most: f64, g| most.max(g.abs()));
        if steepest < 1e-6 || gain < 1e-10 * (1.0 + value.abs()) {
            break;
        }
    }
    Some(x)
}

/// The kernel with the parameters of the highest value, searched for from those it has; itself if that fails. `f` gives the value of a kernel
/// and its derivatives.
pub(crate) fn climb_kernel(
    kernel: &Kernel,
    most: usize,
    budget: &Budget,
    mut f: impl FnMut(&Kernel) -> Point,
) -> Kernel {
    let found =
        climb(&kernel.parameters(), most, budget, |parameters| f(&kernel.with_parameters(parameters)));
    found.map_or_else(|| kernel.clone(), |found| kernel.with_parameters(&found))
}

/// The first of ever shorter steps, each half of the one before, that leads higher than `now`: the new places, and the height there.
pub(crate) fn halved<D: Dimension>(
    [a, f]: [&Array<f64, D>; 2],
    [direction, along]: [&Array<f64, D>; 2],
    now: f64,
    height: impl Fn(&Array<f64, D>, &Array<f64, D>) -> f64,
) -> Option<([Array<f64, D>; 2], f64)> {
    let mut step = 1.0;
    while step > 1e-6 {
        let (next_a, next_f) = (a + &(direction * step), f + &(along * step));
        let next = height(&next_a, &next_f);
        if next > now {
            return Some(([next_a, next_f], next));
        }
        step /= 2.0;
    }
    None
}

/// The gradient times an estimate of the inverse curvature from the last steps (the two loops of Nocedal 1980).
fn newton_like(gradient: &[f64], steps: &VecDeque<(Vec<f64>, Vec<f64>)>) -> Vec<f64> {
    let mut q = gradient.to_vec();
    let mut shares = Vec::with_capacity(steps.len());
    for (moved, bent) in steps.iter().rev() {
        let share = dot(moved, &q) / dot(moved, bent);
        q.iter_mut().zip(bent).for_each(|(q, b)| *q -= share * b);
        shares.push(share);
    }
    if let Some((moved, bent)) = steps.back() {
        let scale = dot(moved, bent) / dot(bent, bent);
        q.iter_mut().for_each(|q| *q *= scale);
    }
    for ((moved, bent), share) in steps.iter().zip(shares.iter().rev()) {
        let other = dot(bent, &q) / dot(moved, bent);
        q.iter_mut().zip(moved).for_each(|(q, m)| *q += (share - other) * m);
    }
    q
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_banana_valley_is_followed_to_its_end() {
        let f = |x: &[f64]| {
            let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
            Some((-(a * a + 100.0 * b * b), vec![2.0 * a + 400.0 * b * x[0], -200.0 * b]))
        };
        let found = climb(&[-1.2, 1.0], 500, &Budget::open(), f).unwrap();
        assert!((found[0] - 1.0).abs() < 1e-4 && (found[1] - 1.0).abs() < 1e-4, "{found:?}");
    }

    #[test]
    fn bounds_gaps_and_limits_are_kept() {
        // Rises without end: the bound is the optimum.
        let found = climb(&[0.0], 200, &Budget::open(), |x| Some((x[0], vec![1.0]))).unwrap();
        assert!((found[0] - MOST).abs() < 1e-9);
        // Cannot be computed beyond 1.
        let f = |x: &[f64]| (x[0] < 1.0).then(|| (-(x[0] - 2.0).powi(2), vec![-2.0 * (x[0] - 2.0)]));
        let found = climb(&[0.0], 200, &Budget::open(), f).unwrap();
        assert!(found[0] < 1.0 && f(&found).unwrap().0 >= -4.0);
        assert!(climb(&[3.0], 200, &Budget::open(), f).is_none());
        let mut n_evaluations = 0;
        let counted = |x: &[f64]| {
            n_evaluations += 1;
            f(x)
        };
        climb(&[0.0], 1, &Budget::open(), counted).unwrap();
        assert_eq!(n_evaluations, 1);
    }
}
