//! What differs between kernel densities and nearest neighbours.

use std::fmt::Debug;

use hedgerow_core::{ClassId, KindInfo, Params, Result, Summary};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::leave_one_out::LeaveOneOut;
use crate::metric::Metric;
use crate::points::Points;

/// More evidence than this is as good as certain: sums and logarithms keep their digits up to here.
pub(crate) const MOST_EVIDENCE: f64 = 1e12;

/// What all methods have among their parameters.
#[derive(Debug, Clone, Copy)]
pub struct Common {
    /// How distances are measured.
    pub metric: Metric,
    /// What each class has before any row counts; 0 for one over the number of classes.
    pub prior: f64,
    /// Rows that are retained at most.
    pub max_rows: usize,
    /// Seed of all random choices.
    pub seed: u64,
}

impl Common {
    /// What each of so many classes has before any row counts.
    pub(crate) fn prior_of(&self, n_classes: usize) -> f64 {
        if self.prior > 0.0 { self.prior } else { 1.0 / n_classes.max(1) as f64 }
    }
}

/// A row, and how far away those are that it is predicted from.
pub struct Near<'a> {
    /// The row itself, prepared.
    pub(crate) x: &'a [f32],
    /// Its distances as measured; infinite for rows that do not count.
    pub(crate) distances: &'a [f32],
    pub(crate) labels: &'a [ClassId],
    pub(crate) weights: Option<&'a [f32]>,
}

impl Near<'_> {
    /// What a row counts.
    pub(crate) fn weight(&self, row: usize) -> f64 {
        self.weights.map_or(1.0, |weights| f64::from(weights[row]))
    }
}

/// A way to turn distances into evidence, by its parameters.
pub trait Method: Params + PartialEq + Debug + Send + Sync + 'static {
    /// What is chosen by the rows.
    type Settings: Clone + PartialEq + Debug + Send + Sync + Serialize + DeserializeOwned + 'static;

    /// The kind in words.
    const INFO: KindInfo;

    /// What all methods have among their parameters.
    fn common(&self) -> Common;

    /// Chooses what the parameters leave open by leave-one-out predictions; says how many settings were tried.
    fn choose(&self, rows: &LeaveOneOut<'_>) -> (Self::Settings, usize);

    /// The labels of each class near a row, as counts.
    fn evidence(&self, settings: &Self::Settings, near: &Near<'_>, out: &mut [f64]);

    /// Checks settings that were read for rows like these, and makes what the file does not hold.
    fn complete(&self, settings: &mut Self::Settings, points: &Points) -> Result<()>;

    /// Adds the settings to a summary.
    fn summarize(settings: &Self::Settings, summary: Summary) -> Summary;

    /// Bytes of the settings in memory.
    fn bytes(_settings: &Self::Settings) -> usize {
        0
    }
}

/// What the prior of a class is in predictions: the concentrations of all classes, shared by class frequencies, of which each class has one row more.
/// So a row that has no others near it is predicted by frequencies, while its evidence is that of the prior.
pub(crate) fn shared_prior(prior: f64, counts: &[f64]) -> Vec<f64> {
    let n_classes = counts.len() as f64;
    let sum = counts.iter().sum::<f64>() + n_classes;
    counts.iter().map(|count| prior * n_classes * (count + 1.0) / sum).collect()
}

/// The log odds of each class, by its evidence and its prior.
pub(crate) fn log_odds(evidence: &[f64], prior: &[f64]) -> Vec<f64> {
    let weights: Vec<f64> = evidence.iter().zip(prior).map(|(evidence, prior)| evidence + prior).collect();
    let of = |class: usize| {
        let others: f64 =
            weights.iter().enumerate().filter(|(other, _)| *other != class).map(|(_, a)| a).sum();
        libm::log(weights[class]) - libm::log(others.max(f64::MIN_POSITIVE))
    };
    (0..weights.len()).map(of).collect()
}
