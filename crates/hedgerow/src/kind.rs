//! The kinds of model there are, and what each can do.
//!
//! This and [`ModelParams`](crate::ModelParams) are what the front doors know about kinds: names, help and parameters all come
//! from here.

use std::fmt;
use std::str::FromStr;

use hedgerow_core::{Error, ParamInfo, Result, describe};
use hedgerow_forest::ForestParams;
use hedgerow_gp::{GpParams, IvmParams};
use hedgerow_hybrid::{ForestIvmParams, ForestKernelParams, LeafGpParams};
use hedgerow_rvm::RvmParams;
use serde::{Serialize, Serializer};

/// A kind of model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Kind {
    /// A random forest.
    #[default]
    Forest,
    /// The Informative Vector Machine.
    Ivm,
    /// A Gaussian process that keeps all rows.
    Gp,
    /// Trees with a Gaussian process in every leaf.
    LeafGp,
    /// A forest blended with Informative Vector Machines.
    ForestIvm,
    /// The Relevance Vector Machine.
    Rvm,
    /// A Gaussian process whose kernel is a forest.
    ForestKernel,
}

impl Kind {
    /// All kinds.
    pub const ALL: &'static [Self] =
        &[Self::Forest, Self::Ivm, Self::Gp, Self::LeafGp, Self::ForestIvm, Self::Rvm, Self::ForestKernel];

    /// Its name, on the command line and in model files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Forest => "forest",
            Self::Ivm => "ivm",
            Self::Gp => "gp",
            Self::LeafGp => "leaf-gp",
            Self::ForestIvm => "forest-ivm",
            Self::Rvm => "rvm",
            Self::ForestKernel => "forest-kernel",
        }
    }

    /// What it is, in a line.
    pub fn about(self) -> &'static str {
        match self {
            Self::Forest => "A random forest of deep trees: fast, takes any table as it is",
            Self::Ivm => {
                "The Informative Vector Machine: a sparse Gaussian process classifier that picks its rows by information gain"
            }
            Self::Gp => "The exact Gaussian process, which keeps all rows: for a few thousand of them",
            Self::ForestIvm => "A forest blended with Informative Vector Machines",
            Self::LeafGp => {
                "A few trees with large leaves and a Gaussian process in each: for many more rows"
            }
            Self::Rvm => {
                "The Relevance Vector Machine: few rows, chosen by the evidence; for classification and regression"
            }
            Self::ForestKernel => {
                "A Gaussian process whose kernel is a forest: the share of trees in which rows share a leaf"
            }
        }
    }

    /// What training it does, for a progress bar.
    pub fn work(self) -> &'static str {
        match self {
            Self::Forest => "growing trees",
            Self::Ivm | Self::Gp | Self::Rvm => "searching for a kernel",
            Self::LeafGp => "training leaves",
            Self::ForestIvm => "growing trees, then a kernel",
            Self::ForestKernel => "growing trees, then a Gaussian process",
        }
    }

    /// Whether it can learn row by row.
    pub fn learns(self) -> bool {
        match self {
            Self::Forest | Self::Ivm | Self::LeafGp | Self::ForestIvm | Self::Rvm | Self::ForestKernel => {
                true
            }
            Self::Gp => false,
        }
    }

    /// Whether several models can be made into one.
    pub fn merges(self) -> bool {
        matches!(self, Self::Forest)
    }

    /// Whether it predicts its training rows out of bag.
    pub fn predicts_out_of_bag(self) -> bool {
        matches!(self, Self::Forest)
    }

    /// Whether it can be fitted to values as well as to classes.
    pub fn answers_values(self) -> bool {
        matches!(self, Self::Rvm)
    }

    /// The name of its parameters' type.
    pub fn params_name(self) -> &'static str {
        match self {
            Self::Forest => "ForestParams",
            Self::Ivm => "IvmParams",
            Self::Gp => "GpParams",
            Self::LeafGp => "LeafGpParams",
            Self::ForestIvm => "ForestIvmParams",
            Self::Rvm => "RvmParams",
            Self::ForestKernel => "ForestKernelParams",
        }
    }

    /// Its parameters with meaning and default.
    pub fn describe_params(self) -> Vec<ParamInfo> {
        match self {
            Self::Forest => describe::<ForestParams>(),
            Self::Ivm => describe::<IvmParams>(),
            Self::Gp => describe::<GpParams>(),
            Self::LeafGp => describe::<LeafGpParams>(),
            Self::ForestIvm => describe::<ForestIvmParams>(),
            Self::Rvm => describe::<RvmParams>(),
            Self::ForestKernel => describe::<ForestKernelParams>(),
        }
    }

    /// The error for a kind that cannot do something, which names those that can.
    pub fn unable(self, what: &'static str, can: fn(Self) -> bool) -> Error {
        let able: Vec<&str> = Self::ALL.iter().filter(|kind| can(**kind)).map(|kind| kind.name()).collect();
        Error::Unable { kind: self.name().into(), what, able: able.join(", ") }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Kind {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = Self::ALL.iter().find(|kind| kind.name() == name);
        found.copied().ok_or_else(|| {
            let known: Vec<&str> = Self::ALL.iter().map(|kind| kind.name()).collect();
            Error::param("model", format!("one of {}", known.join(", ")), name)
        })
    }
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_kinds_and_back() {
        for &kind in Kind::ALL {
            assert_eq!(kind.name().parse::<Kind>().ok(), Some(kind));
            assert!(!kind.describe_params().is_empty() && !kind.about().is_empty());
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
        let message = "oracle".parse::<Kind>().unwrap_err().to_string();
        assert!(
            message.contains("oracle")
                && message.contains("forest, ivm, gp, leaf-gp, forest-ivm, rvm, forest-kernel"),
            "{message}"
        );
        let message = Kind::Ivm.unable("be merged", Kind::merges).to_string();
        assert_eq!(message, "models of kind ivm cannot be merged; kinds that can: forest");
    }
}
