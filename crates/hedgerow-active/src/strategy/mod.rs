//! Query strategies: what the label of a row is worth.

mod auto;
mod cluster;
mod committee;
mod coverage;
pub mod deal;
mod density;
mod entropy;
mod epig;
mod latent;
mod least_confidence;
mod look_ahead;
mod lss;
mod margin;
mod random;

use std::sync::Arc;

use hedgerow_core::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use auto::Auto;
pub use cluster::Cluster;
pub use committee::{Bald, Consensus, VoteEntropy};
pub use coverage::Coverage;
pub use deal::{Deal, DealOfModel};
pub use density::Density;
pub use entropy::Entropy;
pub use epig::Epig;
pub use latent::{Boundary, DifferentialEntropy};
pub use least_confidence::LeastConfidence;
pub use look_ahead::{ErrorReduction, ExpectedChange};
pub use lss::Lss;
pub use margin::Margin;
pub(crate) use margin::margin;
pub use random::Random;

use crate::model::Trainer;
use crate::situation::Situation;

/// A way to say what labels are worth.
pub trait Strategy: Send {
    /// What the label of each candidate is worth: numbers of 0 or more, the larger the better, that compare candidates of one query. There may be no labels, and no model.
    fn utilities(&mut self, situation: &Situation<'_>) -> Result<Vec<f64>>;

    /// Candidates that it takes on at most, for its cost.
    fn n_candidates(&self) -> usize {
        2_000
    }

    /// Why a candidate is chosen, by its place: in words that follow the row's number.
    fn reason(&self, situation: &Situation<'_>, place: usize) -> String {
        situation.between(place)
    }
}

macro_rules! strategies {
    ($($(#[doc = $doc:literal])+ $Name:ident = $name:literal => $make:expr,)+) => {
        /// A strategy by name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        #[non_exhaustive]
        pub enum StrategyName {
            $($(#[doc = $doc])+ $Name,)+
        }

        impl StrategyName {
            /// All of them, the default first.
            pub const ALL: &'static [Self] = &[$(Self::$Name,)+];

            /// Its name, and what it is in a line.
            pub fn words(self) -> (&'static str, &'static str) {
                match self {
                    $(Self::$Name => ($name, concat!($($doc,)+).trim_ascii()),)+
                }
            }

            /// The strategy with its defaults.
            pub fn strategy(self) -> Box<dyn Strategy> {
                match self {
                    $(Self::$Name => Box::new($make),)+
                }
            }
        }
    };
}

strategies! {
    /// What is best from the first label on: uncertain rows that stand for many others at first, uncertain rows later.
    Auto = "auto" => Auto::default(),
    /// Rows drawn at random.
    Random = "random" => Random,
    /// Rows whose two most probable classes are nearly equal.
    Margin = "margin" => Margin,
    /// Rows whose most probable class is least probable.
    LeastConfidence = "least-confidence" => LeastConfidence,
    /// Rows whose predicted classes have the largest entropy.
    Entropy = "entropy" => Entropy,
    /// Uncertain rows where many rows are.
    Density = "density" => Density,
    /// Uncertain rows that stand for many others that no labelled row stands for.
    Coverage = "coverage" => Coverage::default(),
    /// Rows for which the members of an ensemble vote for different classes.
    VoteEntropy = "vote-entropy" => VoteEntropy,
    /// Rows whose mean prediction over the members of an ensemble is most uncertain.
    Consensus = "consensus" => Consensus,
    /// Rows whose label would tell most about which members of an ensemble are right.
    Bald = "bald" => Bald,
    /// Rows whose label would tell most about the labels of other rows.
    Epig = "epig" => Epig,
    /// Rows where knowing the class probabilities would save most, by kernel densities of the labels.
    Deal = "deal" => Deal::default(),
    /// Rows where knowing the class probabilities would save most, by the model's own evidence.
    DealOfModel = "deal-of-model" => DealOfModel::default(),
    /// Rows whose label is expected to make most rows sure, by their two nearest labelled rows.
    Lss = "lss" => Lss,
    /// Rows whose label is expected to leave the fewest errors.
    ErrorReduction = "error-reduction" => ErrorReduction::default(),
    /// Rows whose label is expected to change predictions most.
    ExpectedChange = "expected-change" => ExpectedChange::default(),
    /// Rows whose label would lower the entropy of a Gaussian process most.
    DifferentialEntropy = "differential-entropy" => DifferentialEntropy,
    /// Rows nearest to the boundary between classes of a Gaussian process.
    Boundary = "boundary" => Boundary,
    /// Typical rows of clusters without labels.
    Cluster = "cluster" => Cluster,
}

impl StrategyName {
    /// Its name.
    pub fn name(self) -> &'static str {
        self.words().0
    }

    /// The strategy with its defaults; if it looks ahead, it trains models with this trainer, if there is one.
    pub fn strategy_with(self, trainer: Option<Arc<dyn Trainer>>) -> Box<dyn Strategy> {
        match (self, trainer) {
            (Self::ErrorReduction, Some(trainer)) => Box::new(ErrorReduction::by_training(trainer)),
            (Self::ExpectedChange, Some(trainer)) => Box::new(ExpectedChange::by_training(trainer)),
            _ => self.strategy(),
        }
    }
}

impl std::fmt::Display for StrategyName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for StrategyName {
    type Err = hedgerow_core::Error;

    fn from_str(text: &str) -> Result<Self> {
        let known = || Self::ALL.iter().map(|strategy| strategy.name()).collect::<Vec<_>>().join(", ");
        let found = Self::ALL.iter().find(|strategy| strategy.name() == text);
        found
            .copied()
            .ok_or_else(|| hedgerow_core::Error::param("strategy", format!("one of {}", known()), text))
    }
}
