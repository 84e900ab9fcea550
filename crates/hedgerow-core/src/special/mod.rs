//! Special functions: of the gamma, the beta and the normal distribution, for parameters from the tiniest to the largest.
//!
//! Everything is built on `libm`, so that results have the same bits on every platform.

pub mod beta;
pub mod gamma;
pub mod normal;
