//! The Informative Vector Machine (Lawrence, Seeger & Herbrich, 2003, Fast sparse Gaussian process methods: the informative vector
//! machine): the posterior of a Gaussian process from a few rows, each chosen by its information gain.
//!
//! Rows are added one at a time. A row's label would lower the entropy of the posterior by `ΔH = −½ log(1 − ν ζ)`; the row with the
//! largest ΔH joins the active set, and means and variances of all rows follow in one pass over them. With d active rows out
//! of n that costs O(n d²) time and O(n d) memory, and a prediction costs O(d²).

mod class_kernels;
mod classifier;
mod columns;
mod fast;
mod kernel_search;
mod learnt;
mod model;
mod one_vs_rest;
mod online;
mod params;
mod rows;
mod run;
mod saved;
mod screen;
mod search;
mod second;
pub(crate) mod site;
mod state;
mod train;

pub use classifier::IvmClassifier;
pub use model::Ivm;
pub use params::{Forget, IvmParams, Objective, SearchKind};
pub use run::IvmRun;
pub use train::{SecondPass, Trained, train};
