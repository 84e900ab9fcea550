//! Newton's method for a convex loss of two numbers.

const MOST_STEPS: usize = 100;
/// The smallest part of a step that is tried.
const LEAST_STEP: f64 = 1e-10;

/// Minimizes a loss, given its gradient and the three numbers of its Hessian. A step is halved until it lowers the loss; the search ends when it
/// does so by less than `tolerance` of it.
pub(crate) fn minimize(
    start: [f64; 2],
    tolerance: f64,
    loss: impl Fn([f64; 2]) -> f64,
    derivatives: impl Fn([f64; 2]) -> ([f64; 2], [f64; 3]),
) -> [f64; 2] {
    let (mut at, mut now) = (start, loss(start));
    for _ in 0..MOST_STEPS {
        let (g, h) = derivatives(at);
        let determinant = h[0] * h[2] - h[1] * h[1];
        let down = [(h[2] * g[0] - h[1] * g[1]) / determinant, (h[0] * g[1] - h[1] * g[0]) / determinant];
        let (mut step, mut moved, mut next) = (1.0, at, now);
        while step > LEAST_STEP {
            moved = [at[0] - step * down[0], at[1] - step * down[1]];
            next = loss(moved);
            if next < now {
                break;
            }
            step /= 2.0;
        }
        if next.is_nan() || now - next < tolerance * (1.0 + now) {
            break;
        }
        (at, now) = (moved, next);
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `cosh(x − 1) + (y + 2 − x)²`, which is least at (1, −1).
    #[test]
    fn the_least_of_a_convex_loss_is_found() {
        let loss = |[x, y]: [f64; 2]| f64::cosh(x - 1.0) + (y + 2.0 - x).powi(2);
        let derivatives = |[x, y]: [f64; 2]| {
            let off = 2.0 * (y + 2.0 - x);
            ([f64::sinh(x - 1.0) - off, off], [f64::cosh(x - 1.0) + 2.0, -2.0, 2.0])
        };
        for start in [[0.0, 0.0], [6.0, -9.0]] {
            let [x, y] = minimize(start, 1e-14, loss, derivatives);
            assert!((x - 1.0).abs() < 1e-6 && (y + 1.0).abs() < 1e-6, "{x} {y}");
        }
    }
}
