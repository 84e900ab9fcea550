//! Prediction sets: for every row the classes that cannot be ruled out, so that a chosen share of rows has its class in its set.
//!
//! Out-of-sample predictions of any kind of model say how well a row's own class usually conforms to its prediction; a class of a new row is in its
//! set if it conforms as well as a share `level` of these rows do (split conformal prediction: Vovk, Gammerman & Shafer, 2005, *Algorithmic learning
//! in a random world*). As every training makes such predictions on its way, sets need no training and no rows of their own.
//! While a model learns online, the newest prequential predictions take their place, and the level that is really used follows the rows that missed
//! (adaptive conformal inference: Gibbs & Candès, 2021), so that coverage holds under concept drift. `docs/math/conformal.md` has the formulae.
//!
//! ```
//! use hedgerow_core::conformal::{Conformal, SetOptions};
//! use hedgerow_core::{ClassId, OutOfSample, Source};
//! use ndarray::{Array2, array};
//!
//! // Of 99 rows of the first class, row i was given 1 − i/100.
//! let values = Array2::from_shape_fn((99, 2), |(i, c)| if c == 0 { 1.0 - (i + 1) as f64 / 100.0 } else { (i + 1) as f64 / 100.0 });
//! let scored = OutOfSample::new(Source::HeldOut, (0..99).collect(), values, vec![ClassId(0); 99]);
//! let sets = Conformal::of(&scored).unwrap().sets(array![[0.25, 0.75], [0.05, 0.95]].view(), &SetOptions::new(0.8))?;
//! assert_eq!((sets.classes(0).count(), sets.classes(1).count()), (2, 1));
//! # Ok::<(), hedgerow_core::Error>(())
//! ```

mod online;
mod sample;
mod score;
mod sets;
#[cfg(test)]
mod tests;
mod thresholds;
mod tracking;

use std::fmt;
use std::str::FromStr;

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

pub use sets::{ClassCoverage, PredictionSets, SetReport};
pub use thresholds::Thresholds;
pub use tracking::{SetOutcome, SetTally, TRACKED_LEVEL};

use crate::data::{ClassId, Schema};
use crate::error::{Error, Result};
use crate::saved::{Saved, require};
use crate::scores::OutOfSample;
use online::Online;
use sample::Sample;

/// How sets are made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SetMethod {
    /// The smallest sets that hold the class of the wanted share of rows, and nearly of that share of the rows of every class. It is the default.
    #[default]
    Balanced,
    /// The smallest sets that hold the class of the wanted share of rows, however this is spread over classes (Sadinle, Lei & Wasserman, 2019).
    Marginal,
    /// Sets that hold the wanted share of every class by itself (class-conditional or Mondrian: Vovk, 2012). Larger, where classes differ.
    PerClass,
    /// Sets whose size follows how hard a row is: classes join in the order of their probabilities (Romano, Sesia & Candès, 2020). Never empty, and the
    /// largest.
    Adaptive,
}

impl SetMethod {
    /// All of them, the default first.
    pub const ALL: [Self; 4] = [Self::Balanced, Self::Marginal, Self::PerClass, Self::Adaptive];

    /// Its name, on the command line and in Python.
    pub fn name(self) -> &'static str {
        match self {
            Self::Balanced => "balanced",
            Self::Marginal => "marginal",
            Self::PerClass => "per-class",
            Self::Adaptive => "adaptive",
        }
    }
}

impl fmt::Display for SetMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for SetMethod {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|method| method.name() == name);
        let known = || Self::ALL.map(Self::name).join(", ");
        found.ok_or_else(|| Error::param("method", format!("one of {}", known()), name))
    }
}

/// What sets are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SetOptions {
    /// The share of rows whose class is to be in its set, between 0 and 1.
    pub level: f64,
    /// How they are made.
    pub method: SetMethod,
    /// Whether a set without any class gets the most probable one. Then more rows than `level` are covered where the model is right more often than that.
    pub never_empty: bool,
}

impl SetOptions {
    /// Sets of this level, by the default method. They may be empty: only then can fewer rows be covered than the model predicts right.
    pub fn new(level: f64) -> Self {
        Self { level, method: SetMethod::default(), never_empty: false }
    }

    /// Fails for a level that is not between 0 and 1.
    pub fn check(&self) -> Result<()> {
        if self.level > 0.0 && self.level < 1.0 {
            return Ok(());
        }
        Err(Error::param("level", "a share between 0 and 1, both excluded, such as 0.9", self.level))
    }
}

impl Default for SetOptions {
    fn default() -> Self {
        Self::new(0.9)
    }
}

/// What is known about how well rows conform to their predictions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conformal(Scored);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Scored {
    /// Those of a fit.
    Fitted(Sample),
    /// Those of the newest rows learnt.
    Online(Online),
}

impl Conformal {
    /// From out-of-sample probabilities; none if there are none, as of numbers.
    pub fn of(scored: &OutOfSample) -> Option<Self> {
        let sample = Sample::of(scored.values.rows().into_iter().zip(scored.labels().iter().copied()));
        (sample.n_rows() > 0).then_some(Self(Scored::Fitted(sample)))
    }

    /// From predictions of an ensemble by some of its members, and by half of these: scores are continued by `lead` steps of the same length, along which
    /// predictions by half of the members have become those by all. None if there are no rows.
    pub fn continued([all, half]: [ArrayView2<'_, f64>; 2], labels: &[ClassId], lead: f64) -> Option<Self> {
        let sample = Sample::continued([all, half], labels, lead);
        (sample.n_rows() > 0).then_some(Self(Scored::Fitted(sample)))
    }

    /// For a model that learns its first rows.
    pub fn new() -> Self {
        Self(Scored::Online(Online::default()))
    }

    /// How many rows the scores are of; of a model that learns online the newest ones that count.
    pub fn n_rows(&self) -> u64 {
        self.sample().n_rows()
    }

    fn sample(&self) -> &Sample {
        match &self.0 {
            Scored::Fitted(sample) => sample,
            Scored::Online(online) => online.sample(),
        }
    }

    /// From which score on a class is not in a set. Fails for a level that is not between 0 and 1.
    pub fn thresholds(&self, options: &SetOptions) -> Result<Thresholds> {
        options.check()?;
        Ok(self.thresholds_at(options))
    }

    /// The same for options that were checked.
    fn thresholds_at(&self, options: &SetOptions) -> Thresholds {
        let level = match &self.0 {
            Scored::Fitted(_) => options.level,
            Scored::Online(online) => online.level(options.method, options.level),
        };
        Thresholds::new(self.sample(), level, options)
    }

    /// The sets of rows with these probabilities.
    pub fn sets(&self, proba: ArrayView2<'_, f64>, options: &SetOptions) -> Result<PredictionSets> {
        Ok(self.thresholds(options)?.sets(proba))
    }

    /// Learns how well the class of a row conforms to what was predicted for it.
    pub fn learn(&mut self, proba: &[f64], class: usize) {
        let online = match &mut self.0 {
            Scored::Fitted(sample) => {
                self.0 = Scored::Online(Online::after(sample));
                return self.learn(proba, class);
            }
            Scored::Online(online) => online,
        };
        online.learn(proba, class);
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        match &self.0 {
            Scored::Fitted(sample) => sample.bytes(),
            Scored::Online(online) => online.bytes(),
        }
    }
}

impl Saved for Conformal {
    fn complete(&mut self, schema: &Schema) -> Result<()> {
        let fits = match &mut self.0 {
            Scored::Fitted(sample) => sample.is_valid(schema.n_classes()),
            Scored::Online(online) => online.complete(schema.n_classes()),
        };
        require(fits, || "the scores of its prediction sets are impossible")
    }
}

impl Default for Conformal {
    fn default() -> Self {
        Self::new()
    }
}
