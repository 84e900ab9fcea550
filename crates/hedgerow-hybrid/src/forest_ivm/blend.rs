//! Two answers in one: `p_c ∝ f_c^a · g_c^b`, log-linear pooling.
//!
//! The powers say how far each is to be trusted. They are those that make the labels of rows which neither had seen most likely; with the logarithms of the
//! two answers as features this is a logistic regression, whose loss has one valley.

use hedgerow_core::ClassId;
use serde::{Deserialize, Serialize};

/// Probabilities below this are raised to it.
const LEAST: f64 = 1e-9;
const MOST_STEPS: usize = 50;

/// How far two answers are trusted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Blend {
    /// The power of the forest's answer.
    pub forest: f64,
    /// The power of the machine's.
    pub machine: f64,
}

impl Default for Blend {
    fn default() -> Self {
        Self { forest: 0.5, machine: 0.5 }
    }
}

/// A row that neither the forest nor the machine had seen when they answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair<'a> {
    pub(crate) forest: &'a [f64],
    pub(crate) machine: &'a [f64],
    pub(crate) class: ClassId,
}

impl Blend {
    /// The forest alone.
    pub const FOREST: Self = Self { forest: 1.0, machine: 0.0 };

    /// Whether both powers are possible ones.
    pub(crate) fn is_valid(self) -> bool {
        [self.forest, self.machine].iter().all(|power| (0.0..=1e3).contains(power))
    }

    /// The powers that suit rows best. As many rows as it takes to doubt a guess are imagined, so that few rows do not lead astray.
    pub(crate) fn fit(pairs: &[Pair<'_>]) -> Self {
        let start = Self::default();
        let both = Self::climb(pairs, start, [true, true]);
        // A power below 0 would mean to believe the opposite.
        let found = if both.forest < 0.0 {
            Self::climb(pairs, Self { forest: 0.0, machine: 1.0 }, [false, true])
        } else if both.machine < 0.0 {
            Self::climb(pairs, Self::FOREST, [true, false])
        } else {
            both
        };
        Self { forest: found.forest.clamp(0.0, 50.0), machine: found.machine.clamp(0.0, 50.0) }
    }

    /// Newton's method for the powers that are free.
    fn climb(pairs: &[Pair<'_>], start: Self, is_free: [bool; 2]) -> Self {
        let total = |blend: Self| pairs.iter().map(|pair| blend.loss(*pair)).sum::<f64>() + blend.doubt();
        let (mut blend, mut least) = (start, total(start));
        for _ in 0..MOST_STEPS {
            let mut g = [blend.forest - 0.5, blend.machine - 0.5];
            let mut h = [1.0, 0.0, 1.0];
            for pair in pairs {
                let mut p = vec![0.0; pair.forest.len()];
                blend.apply(pair.forest, pair.machine, &mut p);
                let (mut mean, mut squares, mut cross) = ([0.0; 2], [0.0; 2], 0.0);
                for (c, p) in p.iter().enumerate() {
                    let x = [log(pair.forest, c), log(pair.machine, c)];
                    mean = [mean[0] + p * x[0], mean[1] + p * x[1]];
                    squares = [squares[0] + p * x[0] * x[0], squares[1] + p * x[1] * x[1]];
                    cross += p * x[0] * x[1];
                }
                let own = pair.class.index();
                g = [g[0] + mean[0] - log(pair.forest, own), g[1] + mean[1] - log(pair.machine, own)];
                h[0] += squares[0] - mean[0] * mean[0];
                h[1] += cross - mean[0] * mean[1];
                h[2] += squares[1] - mean[1] * mean[1];
            }
            let down = match is_free {
                [true, true] => {
                    let determinant = (h[0] * h[2] - h[1] * h[1]).max(1e-12);
                    [(h[2] * g[0] - h[1] * g[1]) / determinant, (h[0] * g[1] - h[1] * g[0]) / determinant]
                }
                [true, false] => [g[0] / h[0], 0.0],
                _ => [0.0, g[1] / h[2]],
            };
            let mut step = 1.0;
            let mut moved = blend;
            let mut next = least;
            while step > 1e-6 {
                moved =
                    Self { forest: blend.forest - step * down[0], machine: blend.machine - step * down[1] };
                next = total(moved);
                if next < least {
                    break;
                }
                step /= 2.0;
            }
            if next.is_nan() || next >= least || least - next < 1e-9 * (1.0 + least) {
                break;
            }
            (blend, least) = (moved, next);
        }
        blend
    }

    /// What is imagined against powers far from the middle.
    fn doubt(self) -> f64 {
        0.5 * ((self.forest - 0.5).powi(2) + (self.machine - 0.5).powi(2))
    }

    /// One answer of two.
    pub fn apply(self, forest: &[f64], machine: &[f64], out: &mut [f64]) {
        let mut most = f64::NEG_INFINITY;
        for (c, out) in out.iter_mut().enumerate() {
            *out = self.forest * log(forest, c) + self.machine * log(machine, c);
            most = most.max(*out);
        }
        let mut sum = 0.0;
        for out in out.iter_mut() {
            *out = libm::exp(*out - most).max(LEAST);
            sum += *out;
        }
        out.iter_mut().for_each(|p| *p /= sum);
    }

    /// The log-loss of a row.
    pub(crate) fn loss(self, pair: Pair<'_>) -> f64 {
        let mut p = vec![0.0; pair.forest.len()];
        self.apply(pair.forest, pair.machine, &mut p);
        -libm::log(p.get(pair.class.index()).copied().unwrap_or(LEAST).max(LEAST))
    }
}

fn log(answer: &[f64], class: usize) -> f64 {
    libm::log(answer.get(class).copied().unwrap_or(LEAST).max(LEAST))
}

#[cfg(test)]
mod tests {
    use hedgerow_core::rng::{Purpose, Rng};

    use super::*;

    /// Answers of three classes: one follows the truth, the other is noise.
    fn answers(n: usize, use_of: [f64; 2]) -> Vec<(Vec<f64>, Vec<f64>, ClassId)> {
        let mut rng = Rng::new(1, Purpose::Data, 0);
        let draw = |scores: [f64; 3]| {
            let sum: f64 = scores.iter().map(|s| s.exp()).sum();
            scores.map(|s| s.exp() / sum).to_vec()
        };
        let mut made = Vec::new();
        for _ in 0..n {
            let scores = [0, 1].map(|_| [0, 1, 2].map(|_| 2.0 * rng.normal()));
            let truth = [0, 1, 2].map(|c| use_of[0] * scores[0][c] + use_of[1] * scores[1][c]);
            let p = draw(truth);
            let u = rng.unit();
            let class = if u < p[0] {
                0
            } else if u < p[0] + p[1] {
                1
            } else {
                2
            };
            made.push((draw(scores[0]), draw(scores[1]), ClassId(class)));
        }
        made
    }

    fn pairs(made: &[(Vec<f64>, Vec<f64>, ClassId)]) -> Vec<Pair<'_>> {
        made.iter().map(|(forest, machine, class)| Pair { forest, machine, class: *class }).collect()
    }

    #[test]
    fn powers_are_found_again() {
        for use_of in [[1.0, 0.5], [0.3, 1.2], [1.0, 0.0]] {
            let made = answers(4000, use_of);
            let found = Blend::fit(&pairs(&made));
            assert!(
                (found.forest - use_of[0]).abs() < 0.15 && (found.machine - use_of[1]).abs() < 0.15,
                "{found:?}"
            );
        }
        let against = answers(2000, [1.0, -1.0]);
        assert_eq!(Blend::fit(&pairs(&against)).machine, 0.0, "never the opposite of an answer");
    }

    #[test]
    fn two_together_are_at_least_as_good_as_each() {
        let made = answers(1000, [0.8, 0.6]);
        let pairs = pairs(&made);
        let loss = |blend: Blend| pairs.iter().map(|pair| blend.loss(*pair)).sum::<f64>();
        let found = loss(Blend::fit(&pairs));
        assert!(found < loss(Blend::FOREST) && found < loss(Blend { forest: 0.0, machine: 1.0 }));
    }

    #[test]
    fn by_hand_and_at_the_extremes() {
        let mut p = [0.0; 2];
        Blend { forest: 1.0, machine: 2.0 }.apply(&[0.8, 0.2], &[0.6, 0.4], &mut p);
        assert!((p[0] - 0.8 * 0.36 / (0.8 * 0.36 + 0.2 * 0.16)).abs() < 1e-12);
        Blend::default().apply(&[1.0, 0.0], &[0.0, 1.0], &mut p);
        assert!((p[0] - 0.5).abs() < 1e-9);
        assert_eq!(Blend::fit(&[]), Blend::default());
    }
}
