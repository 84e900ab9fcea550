#![doc = include_str!("../README.md")]

mod file;
mod model;
pub mod report;

pub use hedgerow_core as core;
pub use hedgerow_forest as forest;
#[cfg(feature = "io")]
pub use hedgerow_io as io;

pub use file::{FORMAT_VERSION, is_model_file};
pub use model::{Fitted, Learner, Model, merge};
