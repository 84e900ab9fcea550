//! The Informative Vector Machine (spec 000, A14 to A22): the posterior of a Gaussian process from a few rows, each chosen
//! because its label says more than any other's would.
//!
//! Rows are added one at a time. A row's label would lower the entropy of the posterior by `ΔH = −½ log(1 − ν ζ)`; the row with the
//! largest ΔH joins the active set, and means and variances of all rows follow in one pass over them. With d active rows out
//! of n that costs O(n d²) time and O(n d) memory, and an answer costs O(d²).

mod class_kernels;
mod classifier;
mod columns;
mod fast;
mod machine;
mod memory;
mod online;
mod params;
mod saved;
mod screen;
mod search;
mod second;
pub(crate) mod site;
pub mod sliced;
mod task;
mod train;
mod tune;

pub use classifier::{FittedIvm, HeldOut, IvmClassifier};
pub use machine::Ivm;
pub use params::{IvmParams, Objective, SearchKind};
pub use saved::IvmFacts;
pub use train::{IvmOptions, SecondPass, Trained, train};
