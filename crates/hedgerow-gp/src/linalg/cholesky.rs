//! The Cholesky factor of a positive definite matrix, and what it is good for.

use hedgerow_core::{Error, Par, Result};
use ndarray::linalg::general_mat_mul;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, ArrayViewMut2, s};

use super::dot;

/// Rows and columns of a tile.
const TILE: usize = 64;

/// The lower triangular `L` with `L Lᵀ = A`.
#[derive(Debug, Clone, PartialEq)]
pub struct Cholesky {
    /// Row by row; zero above the diagonal.
    lower: Array2<f64>,
    jitter: f64,
}

impl Cholesky {
    /// Factors a symmetric matrix, of which only the lower half is read; none if it is not positive definite.
    pub fn new(mut matrix: Array2<f64>, par: &Par) -> Option<Self> {
        factor(&mut matrix, par).then_some(Self { lower: matrix, jitter: 0.0 })
    }

    /// Factors a symmetric matrix that ought to be positive definite. What rounding has taken from the diagonal is added back, as
    /// little as it takes: 1e-12 of the mean of the diagonal, ten times more at every further attempt, at most 1e-3 of it.
    pub fn robust(matrix: &Array2<f64>, par: &Par) -> Result<Self> {
        let n = matrix.nrows();
        let mean = matrix.diag().iter().map(|v| v.abs()).sum::<f64>() / n.max(1) as f64;
        let mut jitter = 0.0;
        loop {
            let mut copy = matrix.clone();
            copy.diag_mut().iter_mut().for_each(|v| *v += jitter);
            if mean.is_finite() && factor(&mut copy, par) {
                return Ok(Self { lower: copy, jitter });
            }
            jitter = if jitter == 0.0 { 1e-12 * mean } else { 10.0 * jitter };
            if !(jitter > 0.0 && jitter <= 1.001e-3 * mean) {
                let expected = "a kernel whose matrix is positive definite on these rows";
                return Err(Error::param("kernel", expected, "one that is not"));
            }
        }
    }

    /// What was added to the diagonal.
    pub fn jitter(&self) -> f64 {
        self.jitter
    }

    /// The factor.
    pub fn lower(&self) -> ArrayView2<'_, f64> {
        self.lower.view()
    }

    /// Rows of the matrix.
    pub fn n(&self) -> usize {
        self.lower.nrows()
    }

    /// The logarithm of the determinant of `A`.
    pub fn log_det(&self) -> f64 {
        2.0 * self.lower.diag().iter().map(|v| libm::log(*v)).sum::<f64>()
    }

    /// `L⁻¹ b`.
    pub fn forward(&self, b: ArrayView1<'_, f64>) -> Array1<f64> {
        let mut x = b.to_vec();
        for (i, row) in self.lower.rows().into_iter().enumerate() {
            let row = row.to_slice().unwrap_or_default();
            x[i] = (x[i] - dot(&row[..i], &x[..i])) / row[i];
        }
        Array1::from(x)
    }

    /// `L⁻ᵀ b`.
    pub fn backward(&self, b: ArrayView1<'_, f64>) -> Array1<f64> {
        let mut x = b.to_owned();
        for i in (0..self.n()).rev() {
            x[i] /= self.lower[(i, i)];
            let xi = x[i];
            x.slice_mut(s![..i]).scaled_add(-xi, &self.lower.slice(s![i, ..i]));
        }
        x
    }

    /// `A⁻¹ b`.
    pub fn solve(&self, b: ArrayView1<'_, f64>) -> Array1<f64> {
        self.backward(self.forward(b).view())
    }

    /// `L⁻¹ b` for every row `b` of a matrix.
    pub fn forward_rows(&self, rows: &mut Array2<f64>, par: &Par) {
        self.on_tiles(rows, par, |mut rows| {
            for first in (0..self.n()).step_by(TILE) {
                let last = (first + TILE).min(self.n());
                let (done, mut now) = rows.multi_slice_mut((s![.., ..first], s![.., first..last]));
                let left = self.lower.slice(s![first..last, ..first]);
                general_mat_mul(-1.0, &done, &left.t(), 1.0, &mut now);
                solve_tile(self.lower.slice(s![first..last, first..last]), now);
            }
        });
    }

    /// `L⁻ᵀ b` for every row `b` of a matrix.
    pub fn backward_rows(&self, rows: &mut Array2<f64>, par: &Par) {
        let starts: Vec<usize> = (0..self.n()).step_by(TILE).rev().collect();
        self.on_tiles(rows, par, |mut rows| {
            for &first in &starts {
                let last = (first + TILE).min(self.n());
                let (mut now, done) = rows.multi_slice_mut((s![.., first..last], s![.., last..]));
                let below = self.lower.slice(s![last.., first..last]);
                general_mat_mul(-1.0, &done, &below, 1.0, &mut now);
                let tile = self.lower.slice(s![first..last, first..last]);
                for mut row in now.rows_mut() {
                    for i in (0..last - first).rev() {
                        row[i] /= tile[(i, i)];
                        let xi = row[i];
                        row.slice_mut(s![..i]).scaled_add(-xi, &tile.slice(s![i, ..i]));
                    }
                }
            }
        });
    }

    /// `A⁻¹`.
    pub fn inverse(&self, par: &Par) -> Array2<f64> {
        let mut inverse = Array2::eye(self.n());
        self.forward_rows(&mut inverse, par);
        self.backward_rows(&mut inverse, par);
        inverse
    }

    fn on_tiles(&self, rows: &mut Array2<f64>, par: &Par, work: impl Fn(ArrayViewMut2<'_, f64>) + Sync) {
        let n = self.n();
        let Some(values) = rows.as_slice_mut() else {
            work(rows.view_mut());
            return;
        };
        par.for_chunks(values, TILE * n.max(1), |_, values| {
            let n_rows = values.len() / n.max(1);
            if let Ok(rows) = ArrayViewMut2::from_shape((n_rows, n), values) {
                work(rows);
            }
        });
    }
}

/// Puts the factor of a matrix in its place; false if it is not positive definite.
fn factor(matrix: &mut Array2<f64>, par: &Par) -> bool {
    let n = matrix.nrows();
    for first in (0..n).step_by(TILE) {
        let last = (first + TILE).min(n);
        // What the columns to the left take from these, tile by tile of rows.
        let left = matrix.slice(s![first..last, ..first]).to_owned();
        let Some(values) = matrix.as_slice_mut() else { return false };
        par.for_chunks(&mut values[first * n..], TILE * n, |_, values| {
            let n_rows = values.len() / n;
            let Ok(mut rows) = ArrayViewMut2::from_shape((n_rows, n), values) else { return };
            let (done, mut now) = rows.multi_slice_mut((s![.., ..first], s![.., first..last]));
            general_mat_mul(-1.0, &done, &left.t(), 1.0, &mut now);
        });
        if !factor_tile(matrix.slice_mut(s![first..last, first..last])) {
            return false;
        }
        let tile = matrix.slice(s![first..last, first..last]).to_owned();
        let Some(values) = matrix.as_slice_mut() else { return false };
        par.for_chunks(&mut values[last * n..], TILE * n, |_, values| {
            let n_rows = values.len() / n;
            let Ok(mut rows) = ArrayViewMut2::from_shape((n_rows, n), values) else { return };
            solve_tile(tile.view(), rows.slice_mut(s![.., first..last]));
        });
        matrix.slice_mut(s![first..last, last..]).fill(0.0);
    }
    true
}

fn factor_tile(mut tile: ArrayViewMut2<'_, f64>) -> bool {
    let n = tile.nrows();
    for i in 0..n {
        for j in 0..=i {
            let sum: f64 = (0..j).map(|k| tile[(i, k)] * tile[(j, k)]).sum();
            let rest = tile[(i, j)] - sum;
            if i > j {
                tile[(i, j)] = rest / tile[(j, j)];
            } else if rest > 0.0 && rest.is_finite() {
                tile[(i, i)] = libm::sqrt(rest);
            } else {
                return false;
            }
        }
        tile.slice_mut(s![i, i + 1..]).fill(0.0);
    }
    true
}

/// `L⁻¹ b` for every row `b`, `L` being a tile.
fn solve_tile(tile: ArrayView2<'_, f64>, mut rows: ArrayViewMut2<'_, f64>) {
    for mut row in rows.rows_mut() {
        for i in 0..tile.nrows() {
            let sum: f64 = (0..i).map(|k| tile[(i, k)] * row[k]).sum();
            row[i] = (row[i] - sum) / tile[(i, i)];
        }
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::rng::{Purpose, Rng};

    use super::*;

    fn definite(n: usize) -> Array2<f64> {
        let mut rng = Rng::new(5, Purpose::Data, 0);
        let a = Array2::from_shape_fn((n, n), |_| rng.unit() - 0.5);
        a.dot(&a.t()) + Array2::<f64>::eye(n)
    }

    fn furthest(a: &Array2<f64>, b: &Array2<f64>) -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn the_factor_squared_is_the_matrix_for_any_size_and_threads() {
        for n in [1, 2, 63, 64, 65, 200] {
            let a = definite(n);
            let one = Cholesky::new(a.clone(), &Par::sequential()).unwrap();
            let two = Cholesky::new(a.clone(), &Par::new(2).unwrap()).unwrap();
            assert_eq!(one, two);
            assert!(furthest(&one.lower.dot(&one.lower.t()), &a) < 1e-12 * n as f64);
            assert!((0..n).all(|i| (i + 1..n).all(|j| one.lower[(i, j)] == 0.0)));
            assert!(furthest(&one.inverse(&Par::sequential()).dot(&a), &Array2::eye(n)) < 1e-11 * n as f64);
        }
    }

    #[test]
    fn solves_agree_with_each_other() {
        let par = Par::new(2).unwrap();
        let a = definite(150);
        let factor = Cholesky::new(a.clone(), &par).unwrap();
        let mut rng = Rng::new(6, Purpose::Data, 0);
        let b = Array2::from_shape_fn((70, 150), |_| rng.unit());
        let (mut forward, mut backward) = (b.clone(), b.clone());
        factor.forward_rows(&mut forward, &par);
        factor.backward_rows(&mut backward, &par);
        for i in 0..70 {
            let close = |x: ArrayView1<'_, f64>, y: Array1<f64>| (&x - &y).iter().all(|d| d.abs() < 1e-12);
            assert!(close(forward.row(i), factor.forward(b.row(i))));
            assert!(close(backward.row(i), factor.backward(b.row(i))));
            assert!((a.dot(&factor.solve(b.row(i))) - b.row(i)).iter().all(|d| d.abs() < 1e-10));
        }
    }

    #[test]
    fn matrices_that_are_hardly_definite_are_helped_and_others_refused() {
        let par = Par::sequential();
        let twice = Array2::from_elem((3, 3), 2.0);
        assert!(Cholesky::new(twice.clone(), &par).is_none());
        let helped = Cholesky::robust(&twice, &par).unwrap();
        assert!(helped.jitter() > 0.0 && helped.jitter() < 1e-9);
        let indefinite = ndarray::array![[1.0, 2.0], [2.0, 1.0]];
        assert!(Cholesky::robust(&indefinite, &par).is_err());
        assert!(Cholesky::robust(&Array2::from_elem((2, 2), f64::NAN), &par).is_err());
        assert!((Cholesky::new(ndarray::array![[4.0]], &par).unwrap().log_det() - 4f64.ln()).abs() < 1e-15);
    }
}
