//! Forests with Gaussian processes in them.
//!
//! A forest is quick and coarse, a Gaussian process slow and fine. [`LeafGp`] grows a few trees with large leaves and trains a GP in every
//! leaf that holds more than one class. [`ForestIvm`] blends the predictions of a forest with those of Informative Vector Machines.
//! [`ForestKernelClassifier`] is a GP whose kernel is a forest. [`IntervalEnsemble`] tells where true class probabilities lie, by trees on half-samples and a GP.
//!
//! ```
//! use hedgerow_core::{Budget, Classifier as _, Par, Params as _, Silent, Training, testing::blobs};
//! use hedgerow_hybrid::LeafGpParams;
//!
//! let data = blobs(300, 4, 3, 1);
//! let params = LeafGpParams { n_trees: 3, leaf_rows: 50, ..Default::default() }.check()?;
//! let par = Par::sequential();
//! let fitted = hedgerow_core::fit(&data, &params, &Training { par: &par, budget: &Budget::open(), observer: &Silent })?;
//! let proba = fitted.model.predict_proba(data.features.to_array(0..5).view(), &par)?;
//! assert_eq!(proba.dim(), (5, 3));
//! # Ok::<(), hedgerow_core::Error>(())
//! ```

#[macro_use]
mod with_forest;

pub mod forest_ivm;
pub mod forest_kernel;
pub mod interval;
pub mod leaf_gp;
#[cfg(test)]
mod testing;

pub use forest_ivm::{Combine, ForestIvm, ForestIvmParams, ForestIvmRun};
pub use forest_kernel::{ForestKernelClassifier, ForestKernelParams, ForestKernelRun, KernelLearner};
pub use hedgerow_core::Blend;
pub use interval::IntervalEnsemble;
pub use leaf_gp::{Fusion, LeafGp, LeafGpParams, LeafGpRun, LeafLearner, Sharing};
