//! Random forests of deep trees: fast to grow, small in memory, fast to predict.
//!
//! [`Forest::fit`] grows trees from a [`Dataset`](hedgerow_core::Dataset). Rows become small integer codes
//! (`codes`), each tree gets its rows (`bag`), searches splits on a bounded sample of each node (`grow`) and
//! keeps 16 bytes a split ([`tree`]). Rows left out of a bag give out-of-bag
//! predictions (`train`), which calibrate the probabilities ([`calibration`]).
//!
//! ```
//! use hedgerow_core::{Budget, Classifier as _, Par, Params as _, Silent, Training, testing::blobs};
//! use hedgerow_forest::{Forest, ForestParams};
//!
//! let data = blobs(300, 4, 3, 1);
//! let params = ForestParams { n_trees: 20, ..Default::default() }.check()?;
//! let par = Par::sequential();
//! let fitted = Forest::fit(&data, &params, &Training { par: &par, budget: &Budget::open(), observer: &Silent })?;
//! let proba = fitted.forest.predict_proba(data.features.to_array(0..5).view(), &par)?;
//! assert_eq!(proba.dim(), (5, 3));
//! # Ok::<(), hedgerow_core::Error>(())
//! ```

mod bag;
pub mod calibration;
mod codes;
mod committee;
mod confidence;
mod forest;
mod grow;
mod horizons;
mod importance;
mod leaf_weight;
mod merge;
mod model;
pub mod online;
mod params;
mod parts;
pub mod proximity;
mod real;
mod train;
pub mod tree;

pub use bag::Bagging;
pub use calibration::Calibration;
pub use confidence::ConfidenceForest;
pub use forest::Forest;
pub use merge::merge;
pub use model::{FittedRows, ForestModel};
pub use online::OnlineForest;
pub use params::{
    BackgroundRows, ClassWeights, Criterion, ForestParams, Keep, LeafPower, MaxFeatures, Probabilities,
    SplitRule,
};
pub use parts::Part;
pub use train::{Fitted, ForestRun, OutOfBag, TreeBuilder};
