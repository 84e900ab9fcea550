//! Minimizes a smooth function of two logarithms, given its slopes: damped steps of Newton's method with the expected curvature (Fisher scoring;
//! Levenberg, 1944, Marquardt, 1963).

/// Evaluations at most.
const MOST_STEPS: usize = 40;
/// How far one step goes at most.
const LONGEST: f64 = 1.5;
/// Where the logarithms may lie.
const RANGE: (f64, f64) = (-7.0, 4.0);

/// A function's value at a place, its gradient, and its curvature: of the first number, of both, of the second.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Slopes {
    pub(super) value: f64,
    pub(super) gradient: [f64; 2],
    pub(super) curvature: [f64; 3],
}

impl Slopes {
    /// The sum of this and so many of the other.
    pub(super) fn plus(self, other: &Self, times: f64) -> Self {
        Self {
            value: self.value + times * other.value,
            gradient: std::array::from_fn(|i| self.gradient[i] + times * other.gradient[i]),
            curvature: std::array::from_fn(|i| self.curvature[i] + times * other.curvature[i]),
        }
    }

    /// Where the damped quadratic of these slopes is lowest, seen from their place.
    fn step(&self, damping: f64) -> [f64; 2] {
        let ([a, b], [aa, ab, bb]) = (self.gradient, self.curvature);
        let (aa, bb) = (aa * (1.0 + damping) + 1e-12, bb * (1.0 + damping) + 1e-12);
        let determinant = aa * bb - ab * ab;
        let step = [(ab * b - bb * a) / determinant, (ab * a - aa * b) / determinant];
        step.map(|by| if by.is_finite() { by.clamp(-LONGEST, LONGEST) } else { 0.0 })
    }
}

/// The place of the lowest value that is reached from a start, each number to about `tolerance`.
pub(super) fn descend(start: [f64; 2], tolerance: f64, f: impl Fn([f64; 2]) -> Slopes) -> [f64; 2] {
    let (mut x, mut here, mut damping) = (start, f(start), 1e-3);
    for _ in 0..MOST_STEPS {
        let step = here.step(damping);
        let next = [0, 1].map(|i| (x[i] + step[i]).clamp(RANGE.0, RANGE.1));
        // Steps shrink quickly: where one is this short, nothing is left to be gained.
        if (0..2).all(|i| (next[i] - x[i]).abs() < tolerance) {
            return if damping < 1.0 { next } else { x };
        }
        let there = f(next);
        if there.value < here.value {
            (x, here, damping) = (next, there, (damping * 0.1).max(1e-6));
        } else {
            damping = damping.max(1e-2) * 10.0;
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_bottom_of_a_bent_valley() {
        // (1 - a)² + 10 (b - a²)², with the curvature of Gauss and Newton.
        let f = |[a, b]: [f64; 2]| {
            let (r, s) = (1.0 - a, b - a * a);
            Slopes {
                value: r * r + 10.0 * s * s,
                gradient: [-2.0 * r - 40.0 * a * s, 20.0 * s],
                curvature: [2.0 + 80.0 * a * a, -40.0 * a, 20.0],
            }
        };
        for start in [[-1.0, 1.0], [0.0, 0.0], [2.0, -3.0]] {
            let x = descend(start, 1e-4, f);
            assert!((x[0] - 1.0).abs() < 1e-2 && (x[1] - 1.0).abs() < 2e-2, "from {start:?}: {x:?}");
        }
    }

    #[test]
    fn stays_in_range_where_there_is_no_bottom() {
        let f = |[a, b]: [f64; 2]| Slopes { value: a - b, gradient: [1.0, -1.0], curvature: [0.0; 3] };
        assert_eq!(descend([0.0, 0.0], 0.01, f), [-7.0, 4.0]);
    }
}
