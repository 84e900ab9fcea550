//! Dense linear algebra for covariance matrices.
//!
//! Work is cut into tiles whose size does not depend on the number of threads, and every tile is one sequential product: the
//! same input gives the same bits whatever the threads.

mod cholesky;
mod factor;
mod mirror;
mod product;
mod rough;
mod symmetric;

pub use cholesky::Cholesky;
pub(crate) use mirror::mirror;
pub(crate) use product::{mat_mul, mat_vec, on_rows};
pub(crate) use rough::{Rough, rough_vec};
pub(crate) use symmetric::symmetric_vec;

/// The product of two vectors, summed in eight lanes.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    const LANES: usize = 8;
    let n = a.len().min(b.len());
    let whole = n - n % LANES;
    let mut lanes = [0.0; LANES];
    for (a, b) in a[..whole].chunks_exact(LANES).zip(b[..whole].chunks_exact(LANES)) {
        lanes.iter_mut().zip(a.iter().zip(b)).for_each(|(lane, (a, b))| *lane += a * b);
    }
    let rest: f64 = a[whole..n].iter().zip(&b[whole..n]).map(|(a, b)| a * b).sum();
    lanes.iter().sum::<f64>() + rest
}
