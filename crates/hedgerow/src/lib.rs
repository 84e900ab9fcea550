#![doc = include_str!("../README.md")]

#[cfg(feature = "active")]
mod active_learner;
mod arrays;
pub mod delay;
pub mod engine;
mod evidence;
mod file;
#[cfg(feature = "hybrid")]
mod interval;
mod kinds;
mod merge;
mod model;
mod outlier;
mod prequential;
#[cfg(feature = "active")]
mod query;
#[cfg(feature = "report")]
pub mod report;
mod run;
#[cfg(feature = "active")]
mod selective;
mod sets;

#[cfg(feature = "active")]
pub use hedgerow_active as active;
pub use hedgerow_core as core;
#[cfg(feature = "forest")]
pub use hedgerow_forest as forest;
#[cfg(feature = "gp")]
pub use hedgerow_gp as gp;
#[cfg(feature = "hybrid")]
pub use hedgerow_hybrid as hybrid;
#[cfg(feature = "io")]
pub use hedgerow_io as io;
#[cfg(feature = "neighbors")]
pub use hedgerow_neighbors as neighbors;
#[cfg(feature = "outliers")]
pub use hedgerow_outliers as outliers;
#[cfg(feature = "rvm")]
pub use hedgerow_rvm as rvm;
#[cfg(feature = "store")]
pub use hedgerow_store as store;
pub use hedgerow_trainer as trainer;

#[cfg(feature = "active")]
pub use active_learner::{ActiveLearner, ActiveOptions};
pub use arrays::{Fit, fit};
pub use delay::Delay;
pub use engine::Engine;
pub use file::{FORMAT_VERSION, is_model_file};
#[cfg(feature = "outliers")]
pub use file::{detector_from_bytes, detector_to_bytes};
pub use kinds::{Kind, Learner, ModelParams};
pub use merge::merge;
pub use model::{Fitted, Model};
pub use outlier::ModelOutliers;
#[cfg(feature = "active")]
pub use selective::Selective;
