//! Special functions: of the gamma and the beta distribution, for parameters from the tiniest to the largest.
//!
//! Everything is built on `libm`, so that results have the same bits on every platform.

pub mod beta;
pub mod gamma;
