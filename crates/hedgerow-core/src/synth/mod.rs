//! Endless streams of labelled rows, for tests and demonstrations: what can be learned is known, and so is when it changes.
//!
//! A [`Generator`] makes one row after the other; the same seed makes the same rows. What its labels follow is its
//! *concept*, and a [`Schedule`] says at which rows one concept gives way to the next: never, at once, gradually, or back and
//! forth. `docs/math/drift.md` has the formulae and their sources. Of a [`Problem`] the true class probabilities are known at every row.
//!
//! ```
//! use hedgerow_core::Params as _;
//! use hedgerow_core::synth::{Changes, Generator, Schedule, SeaParams};
//!
//! let params = SeaParams { seed: 7, ..SeaParams::default() }.check()?;
//! let mut sea = Generator::sea(&params, Schedule::abrupt(Changes::every(500)?));
//! assert_eq!(sea.changes(1_200), [500, 1_000]);
//! let mut row = Vec::new();
//! let class = sea.next_into(&mut row);
//! assert_eq!((row.len(), sea.schema().labels.name(class)), (3, "1"));
//! let data = sea.dataset(1_000)?;
//! assert_eq!(data.n_rows(), 1_000);
//! # Ok::<(), hedgerow_core::Error>(())
//! ```

mod changes;
mod draw;
mod generator;
mod hyperplane;
mod known;
mod label_swap;
mod led;
mod random_tree;
mod recent;
mod schedule;
mod sea;
#[cfg(test)]
mod tests;
mod tree;

pub use changes::Changes;
pub use generator::Generator;
pub use hyperplane::HyperplaneParams;
pub use known::{KnownParams, Problem};
pub use label_swap::LabelSwapParams;
pub use led::LedParams;
pub use random_tree::RandomTreeParams;
pub use schedule::Schedule;
pub use sea::SeaParams;
