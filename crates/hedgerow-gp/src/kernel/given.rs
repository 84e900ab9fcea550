//! A kernel that was computed elsewhere.

use std::sync::Arc;

use hedgerow_core::{Error, Result};
use ndarray::{Array2, ArrayView2};

/// A symmetric matrix of covariances. Rows have one column: their number in the matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct Given(Arc<Array2<f64>>);

impl Given {
    /// Takes a matrix; fails unless it is square, symmetric and finite.
    pub fn new(matrix: Array2<f64>) -> Result<Self> {
        let (n, columns) = matrix.dim();
        if n != columns {
            return Err(Error::Shape { what: "columns of the kernel's matrix", expected: n, got: columns });
        }
        for ((i, j), &value) in matrix.indexed_iter() {
            let other = matrix[(j, i)];
            if !value.is_finite() || (value - other).abs() > 1e-9 * (value.abs() + other.abs()) {
                let got = format!("{value} at ({i}, {j}) and {other} at ({j}, {i})");
                return Err(Error::param("kernel", "a finite symmetric matrix", got));
            }
        }
        Ok(Self(Arc::new(matrix)))
    }

    /// The matrix.
    pub fn matrix(&self) -> ArrayView2<'_, f64> {
        self.0.view()
    }

    /// The place that a number names.
    fn place(&self, number: f64) -> Option<usize> {
        let is_place = number >= 0.0 && number < self.0.nrows() as f64 && number.fract() == 0.0;
        is_place.then_some(number as usize)
    }

    /// Fails unless every row is the number of a row of the matrix.
    pub(super) fn check_rows(&self, x: ArrayView2<'_, f64>) -> Result<()> {
        match x.iter().find(|number| self.place(**number).is_none()) {
            Some(number) => {
                let expected =
                    format!("row numbers below {}, the size of the kernel's matrix", self.0.nrows());
                Err(Error::param("rows", expected, number))
            }
            None => Ok(()),
        }
    }

    /// The covariance of two rows; 0 for a number outside the matrix.
    pub(super) fn value(&self, a: f64, b: f64) -> f64 {
        self.place(a).zip(self.place(b)).map_or(0.0, |place| self.0[place])
    }
}
