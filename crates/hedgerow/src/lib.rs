#![doc = include_str!("../README.md")]

pub mod engine;
mod file;
mod kind;
mod merge;
mod model;
mod params;
pub mod report;
mod run;
mod values;

pub use hedgerow_core as core;
pub use hedgerow_forest as forest;
pub use hedgerow_gp as gp;
pub use hedgerow_hybrid as hybrid;
#[cfg(feature = "io")]
pub use hedgerow_io as io;
pub use hedgerow_rvm as rvm;
#[cfg(feature = "store")]
pub use hedgerow_store as store;
pub use hedgerow_trainer as trainer;

pub use engine::Engine;
pub use file::{FORMAT_VERSION, is_model_file};
pub use kind::Kind;
pub use merge::merge;
pub use model::{Fitted, Learner, Model};
pub use params::ModelParams;
pub use values::{AnyModel, FittedValues, ValueModel};
