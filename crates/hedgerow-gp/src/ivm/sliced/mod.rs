//! The Informative Vector Machine in slices: training that stops after a few rows and goes on from there later, on another thread if need be, and with new rows.
//!
//! [`Ground`] has the rows, some of which only judge; [`Machine`] is one class against the rest, which gathers active rows a slice at a time; [`Trials`] are the kernels
//! of a search, each of which can be tried on its own; [`Regression`] fits scores to all rows, a block at a time; [`assemble`] makes a classifier of what there is.
//!
//! A machine that was trained in slices chooses the rows that it would have chosen in one go.

mod assemble;
mod ground;
mod machine;
mod regression;
#[cfg(test)]
mod tests;
mod trials;

pub use assemble::{Assembled, Scores, assemble};
pub use ground::Ground;
pub use machine::{Machine, Part};
pub use regression::{Fit, Regression};
pub use trials::Trials;
