//! Parameters of any kind of model.

use hedgerow_core::{Params, Result};
use hedgerow_forest::ForestParams;
use hedgerow_gp::{GpParams, IvmParams};
use hedgerow_hybrid::{ForestIvmParams, ForestKernelParams, LeafGpParams};
use hedgerow_rvm::RvmParams;
use serde::Serialize;

use crate::kind::Kind;

/// The parameters of one kind of model.
///
/// ```
/// use hedgerow::{Kind, ModelParams};
/// use hedgerow::gp::IvmParams;
///
/// let params = ModelParams::new(Kind::Ivm).with_settings([("n_active", "50")])?;
/// assert_eq!(params, IvmParams { n_active: 50, ..Default::default() }.into());
/// # Ok::<(), hedgerow::core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum ModelParams {
    /// Those of a forest.
    Forest(ForestParams),
    /// Those of an Informative Vector Machine.
    Ivm(IvmParams),
    /// Those of a Gaussian process.
    Gp(GpParams),
    /// Those of trees with processes in their leaves.
    LeafGp(LeafGpParams),
    /// Those of a forest blended with IVMs.
    ForestIvm(Box<ForestIvmParams>),
    /// Those of a Relevance Vector Machine.
    Rvm(RvmParams),
    /// Those of a process whose kernel is a forest.
    ForestKernel(Box<ForestKernelParams>),
}

impl ModelParams {
    /// The defaults of a kind.
    pub fn new(kind: Kind) -> Self {
        match kind {
            Kind::Forest => Self::Forest(ForestParams::default()),
            Kind::Ivm => Self::Ivm(IvmParams::default()),
            Kind::Gp => Self::Gp(GpParams::default()),
            Kind::LeafGp => Self::LeafGp(LeafGpParams::default()),
            Kind::ForestIvm => ForestIvmParams::default().into(),
            Kind::Rvm => Self::Rvm(RvmParams::default()),
            Kind::ForestKernel => ForestKernelParams::default().into(),
        }
    }

    /// The kind they belong to.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Forest(_) => Kind::Forest,
            Self::Ivm(_) => Kind::Ivm,
            Self::Gp(_) => Kind::Gp,
            Self::LeafGp(_) => Kind::LeafGp,
            Self::ForestIvm(_) => Kind::ForestIvm,
            Self::Rvm(_) => Kind::Rvm,
            Self::ForestKernel(_) => Kind::ForestKernel,
        }
    }

    /// The parameters with `name=value` settings applied, as [`Params::with_settings`] does it.
    pub fn with_settings<'a>(self, settings: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self> {
        Ok(match self {
            Self::Forest(params) => Self::Forest(params.with_settings(settings)?),
            Self::Ivm(params) => Self::Ivm(params.with_settings(settings)?),
            Self::Gp(params) => Self::Gp(params.with_settings(settings)?),
            Self::LeafGp(params) => Self::LeafGp(params.with_settings(settings)?),
            Self::ForestIvm(params) => params.with_settings(settings)?.into(),
            Self::Rvm(params) => Self::Rvm(params.with_settings(settings)?),
            Self::ForestKernel(params) => params.with_settings(settings)?.into(),
        })
    }

    /// The same parameters with another seed.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        match &mut self {
            Self::Forest(params) => params.seed = seed,
            Self::Ivm(params) => params.seed = seed,
            Self::Gp(params) => params.seed = seed,
            Self::LeafGp(params) => params.seed = seed,
            Self::ForestIvm(params) => params.seed = seed,
            Self::Rvm(params) => params.seed = seed,
            Self::ForestKernel(params) => params.seed = seed,
        }
        self
    }

    /// Seed of all random choices.
    pub fn seed(&self) -> u64 {
        match self {
            Self::Forest(params) => params.seed,
            Self::Ivm(params) => params.seed,
            Self::Gp(params) => params.seed,
            Self::LeafGp(params) => params.seed,
            Self::ForestIvm(params) => params.seed,
            Self::Rvm(params) => params.seed,
            Self::ForestKernel(params) => params.seed,
        }
    }

    /// Fails on the first parameter outside its range.
    pub fn rules(&self) -> Result<()> {
        match self {
            Self::Forest(params) => params.rules(),
            Self::Ivm(params) => params.rules(),
            Self::Gp(params) => params.rules(),
            Self::LeafGp(params) => params.rules(),
            Self::ForestIvm(params) => params.rules(),
            Self::Rvm(params) => params.rules(),
            Self::ForestKernel(params) => params.rules(),
        }
    }
}

impl Default for ModelParams {
    fn default() -> Self {
        Self::new(Kind::default())
    }
}

impl From<ForestParams> for ModelParams {
    fn from(params: ForestParams) -> Self {
        Self::Forest(params)
    }
}

impl From<GpParams> for ModelParams {
    fn from(params: GpParams) -> Self {
        Self::Gp(params)
    }
}

impl From<RvmParams> for ModelParams {
    fn from(params: RvmParams) -> Self {
        Self::Rvm(params)
    }
}

impl From<IvmParams> for ModelParams {
    fn from(params: IvmParams) -> Self {
        Self::Ivm(params)
    }
}

impl From<LeafGpParams> for ModelParams {
    fn from(params: LeafGpParams) -> Self {
        Self::LeafGp(params)
    }
}

impl From<ForestIvmParams> for ModelParams {
    fn from(params: ForestIvmParams) -> Self {
        Self::ForestIvm(Box::new(params))
    }
}

impl From<ForestKernelParams> for ModelParams {
    fn from(params: ForestKernelParams) -> Self {
        Self::ForestKernel(Box::new(params))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_takes_settings_and_keeps_to_its_rules() {
        for &kind in Kind::ALL {
            let params = ModelParams::new(kind).with_seed(3).with_settings([("seed", "7")]).unwrap();
            assert_eq!((params.kind(), params.seed()), (kind, 7));
            params.rules().unwrap();
            let names = serde_json::to_value(&params).unwrap();
            let names: Vec<&String> = names.as_object().unwrap().keys().collect();
            let described = kind.describe_params();
            assert_eq!(described.iter().map(|p| &p.name).collect::<Vec<_>>(), names);
            assert!(described.iter().all(|p| !p.meaning.is_empty()), "{kind}");
        }
        let wrong = |kind, name, value| {
            let params = ModelParams::new(kind).with_settings([(name, value)]);
            params.and_then(|params| params.rules()).unwrap_err().to_string()
        };
        assert!(wrong(Kind::Ivm, "n_active", "0").contains("1 or more"));
        assert!(wrong(Kind::Ivm, "n_trees", "10").contains("n_active"), "names those there are");
        assert!(wrong(Kind::Forest, "n_active", "10").contains("n_trees"));
    }
}
