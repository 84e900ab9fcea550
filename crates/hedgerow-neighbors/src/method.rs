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

    /// Whether as many labels are told as leave as much to know as these would if all classes were alike
    /// ([`labels_like`](hedgerow_core::second_order::labels_like)): for few of them, whose noise would be taken for their number.
    fn tells_like_even(&self) -> bool {
        false
    }

    /// Checks settings that were read for rows like these, and makes what the file does not hold.
    fn complete(&self, settings: &mut Self::Settings, points: &Points) -> Result<()>;

    /// Adds the settings to a summary.
    fn summarize(settings: &Self::Settings, summary: Summary) -> Summary;

    /// Bytes of the settings in memory.
    fn bytes(_settings: &Self::Settings) -> usize {
        0
    }
}
