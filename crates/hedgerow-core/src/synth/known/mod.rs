//! Generators whose true class probabilities are known at every row: what a model predicts can be compared with what is so.
//!
//! The two-class problems of Breiman (1996, Bias, variance, and arcing classifiers) and his waveform (Breiman, Friedman, Olshen and Stone, 1984),
//! the toys of Röder (2013, Active learning), and smooth, stepped and additive probabilities of our own. Each has one concept, which never changes.

mod formula;
mod mixture;
mod odd;
#[cfg(test)]
mod tests;
mod waveform;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::generator::{Draws, Source, numeric_columns, schema};
use super::{Generator, Schedule};
use crate::data::{ClassId, MAX_FEATURES};
use crate::error::Result;
use crate::params::{Checked, Params, within};
use formula::Formula;
use mixture::Mixture;
use odd::Odd;
use waveform::Waveform;

/// A problem whose class probabilities are known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Problem {
    /// One column: N(0, 3²) against N(−3, 2²) and N(6, 2²).
    Bumps,
    /// Two normal classes about (1, …, 1) and (−1, …, −1).
    #[default]
    Gaussians,
    /// The same where one row of ten is of the second class.
    RareGaussians,
    /// Three normal classes at the corners of a triangle.
    Triangle,
    /// Two normal parts of each class in opposite corners.
    Xor,
    /// Breiman's two normal classes.
    Twonorm,
    /// Breiman's two normal parts of one class about another.
    Threenorm,
    /// Breiman's normal class inside a wider one.
    Ringnorm,
    /// Breiman's three classes of noisy waves.
    Waveform,
    /// A linear logit.
    Logistic,
    /// A logit that is a wave across two columns.
    Wave,
    /// A logit that is a sum of a function of each of three columns.
    Additive,
    /// Friedman's function of five columns as a logit.
    Friedman,
    /// A logit that is a wave of the distance from the center.
    Rings,
    /// Probabilities that are constant in boxes.
    Stairs,
    /// Labels that no column tells anything about.
    Unrelated,
    /// A uniform cube; odd rows lie beside it in one column of a hundred and one.
    OddCube,
    /// The same one column among normal ones.
    OddNormal,
    /// Four squares about the one in which odd rows lie.
    OddSquare,
    /// A square with a hole in which odd rows lie.
    OddHole,
}

impl Problem {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::Bumps,
        Self::Gaussians,
        Self::RareGaussians,
        Self::Triangle,
        Self::Xor,
        Self::Twonorm,
        Self::Threenorm,
        Self::Ringnorm,
        Self::Waveform,
        Self::Logistic,
        Self::Wave,
        Self::Additive,
        Self::Friedman,
        Self::Rings,
        Self::Stairs,
        Self::Unrelated,
        Self::OddCube,
        Self::OddNormal,
        Self::OddSquare,
        Self::OddHole,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        self.facts().0
    }

    /// What it is, in a line.
    pub fn about(self) -> &'static str {
        self.facts().1
    }

    /// Columns it has unless told otherwise, and the fewest it can have.
    fn widths(self) -> [usize; 2] {
        self.facts().2
    }

    fn facts(self) -> (&'static str, &'static str, [usize; 2]) {
        match self {
            Self::Bumps => ("bumps", "One normal class in a single column, and one of two parts", [1, 1]),
            Self::Gaussians => ("gaussians", "Two normal classes in two columns", [2, 1]),
            Self::RareGaussians => {
                ("rare-gaussians", "The same, the second class a tenth of the rows", [2, 1])
            }
            Self::Triangle => ("triangle", "Three normal classes in two columns", [2, 2]),
            Self::Xor => ("xor", "Two classes of two normal parts each, in opposite corners", [2, 2]),
            Self::Twonorm => ("twonorm", "Breiman's two normal classes in 20 columns", [20, 1]),
            Self::Threenorm => {
                ("threenorm", "Breiman's class of two parts about another, in 20 columns", [20, 1])
            }
            Self::Ringnorm => ("ringnorm", "Breiman's class inside a wider one, in 20 columns", [20, 1]),
            Self::Waveform => ("waveform", "Breiman's three classes of noisy waves in 21 columns", [21, 21]),
            Self::Logistic => ("logistic", "A linear logit", [5, 1]),
            Self::Wave => ("wave", "A logit that is a wave across two columns of five", [5, 2]),
            Self::Additive => {
                ("additive", "A logit that is a sum of functions of three columns of five", [5, 3])
            }
            Self::Friedman => {
                ("friedman", "A logit that is Friedman's function of five columns of ten", [10, 5])
            }
            Self::Rings => {
                ("rings", "A logit that goes up and down with the distance from the center", [2, 2])
            }
            Self::Stairs => {
                ("stairs", "Probabilities that are constant in boxes of two columns of five", [5, 2])
            }
            Self::Unrelated => ("unrelated", "Labels that no column tells anything about", [5, 1]),
            Self::OddCube => {
                ("odd-cube", "Every 200th row lies beside a cube in one column of 101", [101, 1])
            }
            Self::OddNormal => ("odd-normal", "Every 200th row is odd in one column, 20 are normal", [21, 1]),
            Self::OddSquare => {
                ("odd-square", "Every 1000th row lies in the gap between four squares", [4, 2])
            }
            Self::OddHole => ("odd-hole", "Every 1000th row lies in the hole of a square", [4, 2]),
        }
    }

    fn truth(self, n_features: usize) -> Box<dyn Truth> {
        match self {
            Self::Bumps => Box::new(Mixture::bumps(n_features)),
            Self::Gaussians => Box::new(Mixture::gaussians(n_features, 0.5)),
            Self::RareGaussians => Box::new(Mixture::gaussians(n_features, 0.1)),
            Self::Triangle => Box::new(Mixture::triangle(n_features)),
            Self::Xor => Box::new(Mixture::xor(n_features)),
            Self::Twonorm => Box::new(Mixture::twonorm(n_features)),
            Self::Threenorm => Box::new(Mixture::threenorm(n_features)),
            Self::Ringnorm => Box::new(Mixture::ringnorm(n_features)),
            Self::Waveform => Box::new(Waveform::new(n_features)),
            Self::Logistic => Box::new(Formula::logistic(n_features)),
            Self::Wave => Box::new(Formula::wave(n_features)),
            Self::Additive => Box::new(Formula::additive(n_features)),
            Self::Friedman => Box::new(Formula::friedman(n_features)),
            Self::Rings => Box::new(Formula::rings(n_features)),
            Self::Stairs => Box::new(Formula::stairs(n_features)),
            Self::Unrelated => Box::new(Formula::unrelated(n_features)),
            Self::OddCube => Box::new(Odd::cube(n_features)),
            Self::OddNormal => Box::new(Odd::normal(n_features)),
            Self::OddSquare => Box::new(Odd::square(n_features)),
            Self::OddHole => Box::new(Odd::hole(n_features)),
        }
    }
}

/// How [`Generator::known`] makes its rows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct KnownParams {
    /// Columns; 0 is as many as the problem was published with.
    pub n_features: usize,
    /// Seed of all random choices: same seed, same rows.
    pub seed: u64,
}

impl Params for KnownParams {
    fn rules(&self) -> Result<()> {
        within("n_features", self.n_features, 0..=MAX_FEATURES)
    }
}

/// Rows and the probabilities of their classes.
trait Truth: Send {
    fn n_classes(&self) -> usize;

    /// Adds the features of a row to `row`, and returns its class. `n_made` rows have been made before.
    fn draw(&self, n_made: u64, draws: &mut Draws, row: &mut Vec<f32>) -> ClassId;

    /// The true probability of each class of a row of the right width.
    fn probabilities(&self, row: &[f32]) -> Vec<f64>;
}

impl Generator {
    /// Rows of a problem whose class probabilities are known: [`Self::probabilities`]. Fails if it needs more columns.
    pub fn known(problem: Problem, params: &Checked<KnownParams>) -> Result<Self> {
        let params = params.get();
        let [usual, least] = problem.widths();
        let n_features = if params.n_features == 0 { usual } else { params.n_features };
        within("n_features", n_features, least..=MAX_FEATURES)?;
        let truth = problem.truth(n_features);
        let schema = schema(numeric_columns(n_features), truth.n_classes());
        Ok(Self::new(schema, params.seed, Schedule::none(), Known { truth, n_made: 0 }))
    }
}

struct Known {
    truth: Box<dyn Truth>,
    n_made: u64,
}

impl Source for Known {
    fn next_into(&mut self, _concept: u64, draws: &mut Draws, row: &mut Vec<f32>) -> ClassId {
        let class = self.truth.draw(self.n_made, draws, row);
        self.n_made += 1;
        class
    }

    fn probabilities(&self, row: &[f32]) -> Option<Vec<f64>> {
        Some(self.truth.probabilities(row))
    }
}

/// The probabilities of classes from the logarithms of what they are proportional to.
fn shares(logs: &[f64]) -> Vec<f64> {
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let parts: Vec<f64> = logs.iter().map(|log| libm::exp(log - most)).collect();
    let sum: f64 = parts.iter().sum();
    parts.iter().map(|part| part / sum).collect()
}
