//! Two classes, exactly: every training row takes part.
//!
//! Labels are +1 and −1. The latent function has a Gaussian-process prior; its posterior is not Gaussian, and is replaced by the
//! Gaussian with the same peak and curvature ([`Laplace`]) or with, as nearly as can be, the same moments ([`Ep`]).

mod ep;
mod laplace;

use hedgerow_core::{Error, Result};
use ndarray::ArrayView2;

pub use ep::Ep;
pub use laplace::Laplace;

use crate::kernel::Kernel;

fn check(kernel: &Kernel, x: ArrayView2<'_, f64>, y: &[f64]) -> Result<()> {
    kernel.check(x.ncols())?;
    if x.nrows() != y.len() {
        return Err(Error::Shape { what: "labels", expected: x.nrows(), got: y.len() });
    }
    if x.nrows() == 0 {
        return Err(Error::NoRows);
    }
    match y.iter().find(|y| y.abs() != 1.0) {
        Some(y) => Err(Error::param("labels", "+1 or -1", y)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
