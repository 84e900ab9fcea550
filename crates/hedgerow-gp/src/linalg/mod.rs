//! Dense linear algebra for covariance matrices.
//!
//! Work is cut into tiles whose size does not depend on the number of threads, and every tile is one sequential product: the
//! same input gives the same bits whatever the threads.

mod cholesky;

pub use cholesky::Cholesky;

/// The product of two vectors.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
