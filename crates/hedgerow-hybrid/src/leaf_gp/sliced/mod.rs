//! Trees and the processes in their leaves in small pieces, for whoever has other things to do in between.
//!
//! A [`Plot`] has the rows, some of which judge instead of being learnt. A [`Stem`] is one tree: it is grown in a nursery of `hedgerow_forest`, cut into leaves
//! ([`Stem::new`]), and its leaves learn a few at a time ([`Stem::slice`]); until a leaf has learnt it answers with the shares of its classes. [`Trials`] are the kernels
//! of the search, which the leaves of the first tree are tried with. [`assemble`] makes a classifier of the stems there are.

mod assemble;
mod plot;
mod stem;
#[cfg(test)]
mod tests;

pub use super::search::Trials;
pub use assemble::{Assembled, assemble};
pub use plot::Plot;
pub use stem::Stem;
