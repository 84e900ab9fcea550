//! Newton's method for a smooth loss of two numbers.

const MOST_STEPS: usize = 100;
/// The smallest part of a step that is tried.
const LEAST_STEP: f64 = 1e-10;

/// A loss of two numbers at a place.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Slopes {
    /// Its value.
    pub value: f64,
    /// Its gradient.
    pub gradient: [f64; 2],
    /// Its Hessian, or a positive definite stand-in such as the Fisher information: of the first number, of both, of the second.
    pub curvature: [f64; 3],
}

impl Slopes {
    /// The sum of this and so many times another.
    #[must_use]
    pub fn plus(self, other: &Self, times: f64) -> Self {
        Self {
            value: self.value + times * other.value,
            gradient: std::array::from_fn(|i| self.gradient[i] + times * other.gradient[i]),
            curvature: std::array::from_fn(|i| self.curvature[i] + times * other.curvature[i]),
        }
    }

    /// From here to the lowest place of the quadratic that has these slopes, backwards.
    fn down(&self) -> [f64; 2] {
        let (g, h) = (self.gradient, self.curvature);
        let determinant = h[0] * h[2] - h[1] * h[1];
        [(h[2] * g[0] - h[1] * g[1]) / determinant, (h[0] * g[1] - h[1] * g[0]) / determinant]
    }
}

/// Minimizes a loss. A step is halved until it lowers the loss; the search ends when it does so by less than `tolerance` of it. Where the loss is
/// infinite, no step leads.
pub fn minimize(start: [f64; 2], tolerance: f64, loss: impl Fn([f64; 2]) -> Slopes) -> [f64; 2] {
    let (mut at, mut here) = (start, loss(start));
    for _ in 0..MOST_STEPS {
        let down = here.down();
        let (mut step, mut moved, mut there) = (1.0, at, here);
        while step > LEAST_STEP {
            moved = [at[0] - step * down[0], at[1] - step * down[1]];
            there = loss(moved);
            if there.value < here.value {
                break;
            }
            step /= 2.0;
        }
        if there.value.is_nan() || here.value - there.value < tolerance * (1.0 + here.value) {
            break;
        }
        (at, here) = (moved, there);
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `cosh(x − 1) + (y + 2 − x)²`, which is least at (1, −1).
    fn bowl([x, y]: [f64; 2]) -> Slopes {
        let off = 2.0 * (y + 2.0 - x);
        Slopes {
            value: f64::cosh(x - 1.0) + off * off / 4.0,
            gradient: [f64::sinh(x - 1.0) - off, off],
            curvature: [f64::cosh(x - 1.0) + 2.0, -2.0, 2.0],
        }
    }

    #[test]
    fn the_least_of_a_convex_loss_is_found() {
        for start in [[0.0, 0.0], [6.0, -9.0]] {
            let [x, y] = minimize(start, 1e-14, bowl);
            assert!((x - 1.0).abs() < 1e-6 && (y + 1.0).abs() < 1e-6, "{x} {y}");
        }
    }

    #[test]
    fn the_bottom_of_a_bent_valley_is_found_with_a_stand_in_of_the_hessian() {
        // (1 - x)² + 10 (y - x²)², with the curvature of Gauss and Newton.
        let valley = |[x, y]: [f64; 2]| {
            let (r, s) = (1.0 - x, y - x * x);
            Slopes {
                value: r * r + 10.0 * s * s,
                gradient: [-2.0 * r - 40.0 * x * s, 20.0 * s],
                curvature: [2.0 + 80.0 * x * x, -40.0 * x, 20.0],
            }
        };
        for start in [[-1.0, 1.0], [0.0, 0.0], [2.0, -3.0]] {
            let [x, y] = minimize(start, 1e-10, valley);
            assert!((x - 1.0).abs() < 1e-3 && (y - 1.0).abs() < 2e-3, "from {start:?}: {x} {y}");
        }
    }

    #[test]
    fn an_infinite_loss_bounds_the_search() {
        let bounded = |at: [f64; 2]| match bowl(at) {
            _ if at[0] > 0.5 => Slopes { value: f64::INFINITY, ..Slopes::default() },
            slopes => slopes,
        };
        let [x, _] = minimize([-3.0, 0.0], 1e-12, bounded);
        assert!(x <= 0.5 && x > -0.5, "{x}");
    }
}
