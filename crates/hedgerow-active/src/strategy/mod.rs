//! Query strategies: what the label of a row is worth.

mod margin;
mod random;

use hedgerow_core::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use margin::Margin;
pub use random::Random;

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
    /// What is best from the first label on.
    Auto = "auto" => Margin,
    /// Rows drawn at random.
    Random = "random" => Random,
    /// Rows whose two most probable classes are nearly equal.
    Margin = "margin" => Margin,
}

impl StrategyName {
    /// Its name.
    pub fn name(self) -> &'static str {
        self.words().0
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
