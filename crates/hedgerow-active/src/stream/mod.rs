//! Which rows of a stream should be labelled.
//!
//! A row of a stream is there once: whether its label is worth its price is decided when it comes. A [`StreamQuerier`] is shown what a model predicts for each
//! row, and asks for the labels of at most a given share of them: of the rows that the model is most uncertain about, and of some at random, because a
//! model is certain where it has learnt something that is no longer true (Žliobaitė, Bifet, Pfahringer and Holmes, 2014, Active learning with drifting
//! streaming data). Where rows come in batches, a [`BatchQuerier`] ranks the rows of each.
//!
//! ```
//! use hedgerow_active::stream::{StreamQuerier, StreamQueryParams};
//! use hedgerow_core::Params as _;
//!
//! let mut querier = StreamQuerier::new(StreamQueryParams { rate: 0.1, ..Default::default() }.check()?);
//! let asked = (0..1_000).filter(|row| {
//!     let certain = if row % 10 == 0 { 0.55 } else { 0.99 };
//!     querier.query(ndarray::array![certain, 1.0 - certain].view()).is_some()
//! });
//! let asked: Vec<i32> = asked.collect();
//! assert!(asked.len() <= 100 && asked.iter().filter(|row| **row % 10 == 0).count() > 60);
//! # Ok::<(), hedgerow_core::Error>(())
//! ```

mod allowance;
mod batch;
mod params;
mod querier;
#[cfg(test)]
mod tests;

pub use batch::BatchQuerier;
pub use params::StreamQueryParams;
pub use querier::{Because, StreamQuerier, uncertainty};
