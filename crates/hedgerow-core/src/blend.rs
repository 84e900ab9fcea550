//! The blend of two predictions: `p_c ∝ f_c^a · g_c^b`, a log-linear pool (Genest & Zidek, 1986).
//!
//! The exponents maximise the likelihood of the labels under out-of-sample predictions; with the logarithms of the two predictions as features
//! this is a logistic regression, whose loss is convex.

use serde::{Deserialize, Serialize};

use crate::calibration::softmax;
use crate::calibration::{Slopes, minimize};
use crate::data::ClassId;

/// Probabilities below this are raised to it.
const LEAST: f64 = 1e-9;
/// The log-likelihood that two free exponents gain by chance in one of twenty cases (half of what χ² with two degrees of freedom exceeds then). Beside it, the
/// gain must be above its standard error: a few rows may not decide alone.
const LEAST_GAIN: f64 = 3.0;

/// The exponents of two blended predictions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Blend {
    /// The exponent of the forest's prediction.
    pub forest: f64,
    /// The exponent of the prediction of the GP: IVM, leaf GP or forest kernel.
    pub gp: f64,
}

impl Default for Blend {
    fn default() -> Self {
        Self { forest: 0.5, gp: 0.5 }
    }
}

/// A row with the out-of-sample predictions of the forest and of the GP, which are probabilities or scores that are yet to be calibrated. Either may
/// be empty where there is none.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// The prediction of the forest.
    pub forest: Vec<f64>,
    /// The prediction of the GP.
    pub gp: Vec<f64>,
    /// The class of the row.
    pub class: ClassId,
}

crate::columns! {
    PairColumns of Pair {
        lists forest: f64 = |row| row.forest.iter().copied(),
        lists gp: f64 = |row| row.gp.iter().copied(),
        each classes: ClassId = |row| row.class,
    }
    |PairColumns { forest, gp, classes }| {
        let row = |((forest, gp), class): ((&[f64], &[f64]), &ClassId)| Pair {
            forest: forest.to_vec(),
            gp: gp.to_vec(),
            class: *class,
        };
        let fits = [forest.n_lists(), gp.n_lists()] == [classes.0.len(); 2];
        fits.then(|| forest.iter().zip(gp.iter()).zip(&classes.0).map(row).collect())
    }
}

impl Blend {
    /// The forest alone.
    pub const FOREST: Self = Self { forest: 1.0, gp: 0.0 };
    /// The GP alone.
    pub const GP: Self = Self { forest: 0.0, gp: 1.0 };

    /// Whether both exponents are in range.
    pub fn is_valid(self) -> bool {
        [self.forest, self.gp].iter().all(|exponent| (0.0..=1e3).contains(exponent))
    }

    /// The exponents with the lowest log-loss, under a normal prior with mean ½ and variance 1, so that few rows change them little.
    pub fn fit<'a>(pairs: impl IntoIterator<Item = &'a Pair>) -> Self {
        let rows: Vec<LogPair> = pairs.into_iter().map(LogPair::new).collect();
        let both = Self::climb(&rows, Self::default(), [true, true]);
        // A negative exponent would invert a prediction.
        let found = if both.forest < 0.0 {
            Self::climb(&rows, Self::GP, [false, true])
        } else if both.gp < 0.0 {
            Self::climb(&rows, Self::FOREST, [true, false])
        } else {
            both
        };
        Self { forest: found.forest.clamp(0.0, 50.0), gp: found.gp.clamp(0.0, 50.0) }
    }

    /// The exponents with the lowest log-loss, if it is below that of the GP alone by more than chance.
    pub fn if_better(pairs: &[Pair]) -> Option<Self> {
        let found = Self::fit(pairs);
        let gains: Vec<f64> = pairs.iter().map(|pair| Self::GP.loss(pair) - found.loss(pair)).collect();
        let n = gains.len() as f64;
        let total: f64 = gains.iter().sum();
        let variance = gains.iter().map(|gain| (gain - total / n).powi(2)).sum::<f64>() / (n - 1.0);
        let error = libm::sqrt(n * variance);
        (gains.len() > 1 && total > LEAST_GAIN.max(error)).then_some(found)
    }

    /// Finds the exponents that are free.
    fn climb(rows: &[LogPair], start: Self, is_free: [bool; 2]) -> Self {
        let blend = |[forest, gp]: [f64; 2]| Self { forest, gp };
        let loss = |at: [f64; 2]| {
            let value = rows.iter().map(|row| blend(at).loss_of(row)).sum::<f64>() + blend(at).penalty();
            let (mut g, mut h) = (at.map(|exponent| exponent - 0.5), [1.0, 0.0, 1.0]);
            for LogPair { logs, own } in rows {
                let mut p = vec![0.0; logs.len()];
                blend(at).pool(logs.iter().copied(), &mut p);
                let (mut mean, mut squares, mut cross) = ([0.0; 2], [0.0; 2], 0.0);
                for (x, p) in logs.iter().zip(&p) {
                    mean = [mean[0] + p * x[0], mean[1] + p * x[1]];
                    squares = [squares[0] + p * x[0] * x[0], squares[1] + p * x[1] * x[1]];
                    cross += p * x[0] * x[1];
                }
                g = [g[0] + mean[0] - own[0], g[1] + mean[1] - own[1]];
                h[0] += squares[0] - mean[0] * mean[0];
                h[1] += cross - mean[0] * mean[1];
                h[2] += squares[1] - mean[1] * mean[1];
            }
            for (slope, _) in g.iter_mut().zip(is_free).filter(|(_, is_free)| !is_free) {
                (*slope, h[1]) = (0.0, 0.0);
            }
            Slopes { value, gradient: g, curvature: h }
        };
        blend(minimize([start.forest, start.gp], 1e-9, loss))
    }

    /// The negative log prior.
    fn penalty(self) -> f64 {
        0.5 * ((self.forest - 0.5).powi(2) + (self.gp - 0.5).powi(2))
    }

    /// Blends two predictions.
    pub fn apply(self, forest: &[f64], gp: &[f64], out: &mut [f64]) {
        let logs = (0..out.len()).map(|c| [log(forest, c), log(gp, c)]);
        self.pool(logs, out);
    }

    /// Blends the logarithms of two predictions, class by class.
    fn pool(self, logs: impl Iterator<Item = [f64; 2]>, out: &mut [f64]) {
        for ([forest, gp], out) in logs.zip(out.iter_mut()) {
            *out = self.forest * forest + self.gp * gp;
        }
        softmax(out, 1.0, LEAST);
    }

    /// The log-loss of a row by its logarithms.
    fn loss_of(self, row: &LogPair) -> f64 {
        let sum_of = |[forest, gp]: [f64; 2]| self.forest * forest + self.gp * gp;
        let most = row.logs.iter().map(|logs| sum_of(*logs)).fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = row.logs.iter().map(|logs| libm::exp(sum_of(*logs) - most).max(LEAST)).sum();
        libm::log(sum) - (sum_of(row.own) - most).max(libm::log(LEAST))
    }

    /// How far the log-loss of a row is below that of the forest alone.
    pub fn lead(self, pair: &Pair) -> f64 {
        Self::FOREST.loss(pair) - self.loss(pair)
    }

    /// The log-loss of a row.
    pub fn loss(self, pair: &Pair) -> f64 {
        let mut p = vec![0.0; pair.forest.len()];
        self.apply(&pair.forest, &pair.gp, &mut p);
        -libm::log(p.get(pair.class.index()).copied().unwrap_or(LEAST).max(LEAST))
    }
}

/// The logarithms of a row's two predictions, and those of its own class.
struct LogPair {
    logs: Vec<[f64; 2]>,
    own: [f64; 2],
}

impl LogPair {
    fn new(pair: &Pair) -> Self {
        let both = |c: usize| [log(&pair.forest, c), log(&pair.gp, c)];
        Self { logs: (0..pair.forest.len()).map(both).collect(), own: both(pair.class.index()) }
    }
}

fn log(prediction: &[f64], class: usize) -> f64 {
    libm::log(prediction.get(class).copied().unwrap_or(LEAST).max(LEAST))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Rng};

    /// Predictions of three classes, and labels drawn from their blend.
    fn predictions(n: usize, use_of: [f64; 2]) -> Vec<Pair> {
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
            made.push(Pair { forest: draw(scores[0]), gp: draw(scores[1]), class: ClassId(class) });
        }
        made
    }

    #[test]
    fn exponents_are_found_again() {
        for use_of in [[1.0, 0.5], [0.3, 1.2], [1.0, 0.0]] {
            let found = Blend::fit(&predictions(4000, use_of));
            assert!(
                (found.forest - use_of[0]).abs() < 0.15 && (found.gp - use_of[1]).abs() < 0.15,
                "{found:?}"
            );
        }
        let against = predictions(2000, [1.0, -1.0]);
        assert_eq!(Blend::fit(&against).gp, 0.0, "never the opposite of a prediction");
    }

    #[test]
    fn two_together_are_at_least_as_good_as_each() {
        let pairs = predictions(1000, [0.8, 0.6]);
        let loss = |blend: Blend| pairs.iter().map(|pair| blend.loss(pair)).sum::<f64>();
        let found = loss(Blend::fit(&pairs));
        assert!(found < loss(Blend::FOREST) && found < loss(Blend { forest: 0.0, gp: 1.0 }));
    }

    #[test]
    fn the_forest_is_blended_in_only_where_that_is_better_by_more_than_chance() {
        let wins = |use_of: [f64; 2]| Blend::if_better(&predictions(500, use_of));
        assert!(wins([0.8, 0.6]).is_some_and(|blend| blend.forest > 0.6));
        assert_eq!((wins([0.0, 1.0]), Blend::if_better(&[])), (None, None));
    }

    #[test]
    fn by_hand_and_at_the_extremes() {
        let mut p = [0.0; 2];
        Blend { forest: 1.0, gp: 2.0 }.apply(&[0.8, 0.2], &[0.6, 0.4], &mut p);
        assert!((p[0] - 0.8 * 0.36 / (0.8 * 0.36 + 0.2 * 0.16)).abs() < 1e-12);
        Blend::default().apply(&[1.0, 0.0], &[0.0, 1.0], &mut p);
        assert!((p[0] - 0.5).abs() < 1e-9);
        assert_eq!(Blend::fit(&[]), Blend::default());
    }
}
