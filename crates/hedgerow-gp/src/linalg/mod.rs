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

use std::iter::Sum;

use ndarray::NdFloat;

pub use cholesky::Cholesky;
pub(crate) use mirror::mirror;
pub(crate) use product::{lower_part, mat_mul, mat_vec, on_rows};
pub(crate) use rough::{Rough, rough_vec};
pub(crate) use symmetric::symmetric_vec;

/// The product of two vectors, summed in eight lanes.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    dot_in_lanes::<f64, 8>(a, b)
}

/// The same in single precision and sixteen lanes.
pub(crate) fn narrow_dot(a: &[f32], b: &[f32]) -> f32 {
    dot_in_lanes::<f32, 16>(a, b)
}

#[inline]
fn dot_in_lanes<T: NdFloat + Sum, const LANES: usize>(a: &[T], b: &[T]) -> T {
    let n = a.len().min(b.len());
    let (a, b) = (&a[..n], &b[..n]);
    let whole = n - n % LANES;
    let mut lanes = [T::zero(); LANES];
    for (a, b) in a[..whole].chunks_exact(LANES).zip(b[..whole].chunks_exact(LANES)) {
        lanes.iter_mut().zip(a.iter().zip(b)).for_each(|(lane, (a, b))| *lane += *a * *b);
    }
    let rest: T = a[whole..].iter().zip(&b[whole..]).map(|(a, b)| *a * *b).sum();
    lanes.into_iter().sum::<T>() + rest
}
