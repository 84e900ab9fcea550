//! All labels once the active rows are known (spec 000, 11.3): a regression of all rows on the union of the classes' active rows.
//!
//! ```text
//! A = L⁻¹ K_un,  L Lᵀ = K_uu,   w = (A Aᵀ + s² I)⁻¹ A Y,   score(x) = k(x, U) L⁻ᵀ w
//! ```
//!
//! How a row would be scored without itself comes for free: with `h_i = a_iᵀ (A Aᵀ + s² I)⁻¹ a_i` it is `(f_i − h_i y_i)/(1 − h_i)`.

use hedgerow_core::{Par, Result};
use ndarray::{Array2, ArrayView2, Axis};

use crate::kernel::Kernel;
use crate::linalg::Cholesky;

/// s², for labels ±1 and a kernel of variance 1.
const RIDGE: f64 = 0.01;

/// Scores of all classes from one set of rows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Refit {
    kernel: Kernel,
    rows: Array2<f64>,
    /// L⁻ᵀ w: a column a class.
    weights: Array2<f64>,
}

impl Refit {
    /// Fits scores to labels (±1, a column a class). Returns them with each training row's scores as they would be without it.
    pub(super) fn new(
        kernel: Kernel,
        rows: Array2<f64>,
        x: ArrayView2<'_, f64>,
        y: &Array2<f64>,
        par: &Par,
    ) -> Result<(Self, Array2<f64>)> {
        let mut own = kernel.matrix(rows.view(), par);
        own.diag_mut().iter_mut().for_each(|v| *v += 1e-6);
        let lower = Cholesky::robust(&own, par)?;
        let mut a = kernel.cross(x, rows.view(), par);
        lower.forward_rows(&mut a, par);
        let mut gram = a.t().dot(&a);
        gram.diag_mut().iter_mut().for_each(|v| *v += RIDGE);
        let factor = Cholesky::robust(&gram, par)?;
        let mut w = a.t().dot(y).t().as_standard_layout().to_owned();
        factor.forward_rows(&mut w, par);
        factor.backward_rows(&mut w, par);
        let mut scores = a.dot(&w.t());
        factor.forward_rows(&mut a, par);
        let leverage = a.map_axis(Axis(1), |row| row.dot(&row).min(1.0 - 1e-9));
        for ((mut row, y), h) in scores.rows_mut().into_iter().zip(y.rows()).zip(&leverage) {
            row.zip_mut_with(&y, |score, y| *score = (*score - h * y) / (1.0 - h));
        }
        lower.backward_rows(&mut w, par);
        Ok((Self { kernel, rows, weights: w.t().to_owned() }, scores))
    }

    /// A score a class for each row.
    pub(super) fn scores(&self, x: ArrayView2<'_, f64>, par: &Par) -> Array2<f64> {
        self.kernel.cross(x, self.rows.view(), par).dot(&self.weights)
    }

    /// Rows that are remembered.
    pub(super) fn n_rows(&self) -> usize {
        self.rows.nrows()
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::rng::{Purpose, Rng};

    use super::*;

    #[test]
    fn scores_without_a_row_are_those_of_a_fit_without_it() {
        let par = Par::sequential();
        let mut rng = Rng::new(1, Purpose::Data, 0);
        let x = Array2::from_shape_fn((40, 2), |_| rng.unit());
        let y =
            Array2::from_shape_fn((40, 2), |(r, c)| if (x[(r, 0)] > 0.5) == (c == 0) { 1.0 } else { -1.0 });
        let rows = x.select(Axis(0), &[1, 5, 9, 20, 33]);
        let kernel = Kernel::rbf(0.4);
        let (_, without) = Refit::new(kernel.clone(), rows.clone(), x.view(), &y, &par).unwrap();
        for left in [0, 5, 17] {
            let others: Vec<usize> = (0..40).filter(|r| *r != left).collect();
            let (x_rest, y_rest) = (x.select(Axis(0), &others), y.select(Axis(0), &others));
            let (refit, _) = Refit::new(kernel.clone(), rows.clone(), x_rest.view(), &y_rest, &par).unwrap();
            let naive = refit.scores(x.select(Axis(0), &[left]).view(), &par);
            for class in 0..2 {
                assert!((naive[(0, class)] - without[(left, class)]).abs() < 1e-9);
            }
        }
    }
}
