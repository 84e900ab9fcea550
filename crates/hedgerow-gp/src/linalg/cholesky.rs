//! The Cholesky factor of a positive definite matrix, and what it is good for.

use hedgerow_core::{Error, Par, Result};
use ndarray::linalg::general_mat_mul;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, ArrayViewMut2, s};

use super::factor::{TILE, factor, solve_tile, solve_tile_back, tiles};
use super::{dot, on_rows};

/// Rows that a thread works on at a time.
const ROWS: usize = 128;
/// Rows that are solved for together.
const SOLVED: usize = 64;

/// The lower triangular `L` with `L Lᵀ = A`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cholesky {
    /// Row by row; zero above the diagonal.
    lower: Array2<f64>,
    jitter: f64,
}

impl Cholesky {
    /// Factors a symmetric matrix, of which only the lower half is read; none if it is not positive definite.
    pub fn new(mut matrix: Array2<f64>, par: &Par) -> Option<Self> {
        let is_definite = factor(&mut matrix, par);
        clear_above(&mut matrix, false, par);
        is_definite.then_some(Self { lower: matrix, jitter: 0.0 })
    }

    /// Factors a symmetric matrix that ought to be positive definite. What rounding has taken from the diagonal is added back, as
    /// little as it takes: 1e-12 of the mean of the diagonal, ten times more at every further attempt, at most 1e-3 of it.
    pub fn robust(matrix: &Array2<f64>, par: &Par) -> Result<Self> {
        let shape = matrix.raw_dim();
        Self::robust_from(Array2::zeros(shape), false, par, |copy| copy.assign(matrix))
    }

    /// The same in the matrix's own memory: what is above the diagonal tells how to start again.
    pub fn robust_in_place(matrix: Array2<f64>, par: &Par) -> Result<Self> {
        let diagonal = matrix.diag().to_owned();
        let corners: Vec<Array2<f64>> =
            tiles(matrix.nrows()).map(|(a, b)| matrix.slice(s![a..b, a..b]).to_owned()).collect();
        let mut is_first = true;
        Self::robust_from(matrix, false, par, |matrix| {
            if std::mem::take(&mut is_first) {
                return;
            }
            for ((a, b), corner) in tiles(diagonal.len()).zip(&corners) {
                let (above, mut below) = matrix.multi_slice_mut((s![a..b, b..], s![b.., a..b]));
                below.assign(&above.t());
                matrix.slice_mut(s![a..b, a..b]).assign(corner);
            }
        })
    }

    /// The same for a matrix of `n` rows whose lower half `fill` writes into zeros, as often as it is needed. Memory above the diagonal
    /// is hardly touched.
    pub(crate) fn robust_lower(n: usize, par: &Par, fill: impl FnMut(&mut Array2<f64>)) -> Result<Self> {
        Self::robust_from(Array2::zeros((n, n)), true, par, fill)
    }

    fn robust_from(
        mut matrix: Array2<f64>,
        is_clear_above: bool,
        par: &Par,
        mut fill: impl FnMut(&mut Array2<f64>),
    ) -> Result<Self> {
        let n = matrix.nrows();
        let mut jitter = 0.0;
        loop {
            if par.is_stopped() {
                return Err(Error::Interrupted);
            }
            fill(&mut matrix);
            let mean = matrix.diag().iter().map(|v| v.abs()).sum::<f64>() / n.max(1) as f64;
            matrix.diag_mut().iter_mut().for_each(|v| *v += jitter);
            if mean.is_finite() && factor(&mut matrix, par) {
                clear_above(&mut matrix, is_clear_above, par);
                return Ok(Self { lower: matrix, jitter });
            }
            jitter = if jitter == 0.0 { 1e-12 * mean } else { 10.0 * jitter };
            if !(jitter > 0.0 && jitter <= 1.001e-3 * mean) {
                let expected = "a kernel whose matrix is positive definite on these rows";
                return Err(Error::param("kernel", expected, "one that is not"));
            }
        }
    }

    /// The memory, to be used again.
    pub(crate) fn into_memory(self) -> Array2<f64> {
        self.lower
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
        on_rows(rows, SOLVED, par, |_, mut rows| self.forward_from(0, &mut rows));
    }

    /// The same in place, for rows that have nothing before a tile that begins at `from`.
    fn forward_from(&self, from: usize, rows: &mut ArrayViewMut2<'_, f64>) {
        for (first, last) in tiles(self.n()).skip(from / TILE) {
            let (done, mut now) = rows.multi_slice_mut((s![.., from..first], s![.., first..last]));
            let left = self.lower.slice(s![first..last, from..first]);
            general_mat_mul(-1.0, &done, &left.t(), 1.0, &mut now);
            solve_tile(self.lower.slice(s![first..last, first..last]), now);
        }
    }

    /// `L⁻ᵀ b` for every row `b` of a matrix.
    pub fn backward_rows(&self, rows: &mut Array2<f64>, par: &Par) {
        on_rows(rows, SOLVED, par, |_, mut rows| self.backward_to(0, &mut rows));
    }

    /// The same in place, no further than the tile of column `to`.
    fn backward_to(&self, to: usize, rows: &mut ArrayViewMut2<'_, f64>) {
        for (first, last) in tiles(self.n()).rev().take_while(|(_, last)| *last > to) {
            let (mut now, done) = rows.multi_slice_mut((s![.., first..last], s![.., last..]));
            general_mat_mul(-1.0, &done, &self.lower.slice(s![last.., first..last]), 1.0, &mut now);
            solve_tile_back(self.lower.slice(s![first..last, first..last]), now);
        }
    }

    /// `A⁻¹`.
    pub fn inverse(&self, par: &Par) -> Array2<f64> {
        let n = self.n();
        let mut inverse = Array2::zeros((n, n));
        // Half of it: row i is L⁻ᵀ L⁻¹ e_i, and L⁻¹ e_i has nothing before i.
        on_rows(&mut inverse, SOLVED, par, |first, mut rows| {
            self.units(first, &mut rows);
            self.backward_to(first, &mut rows);
        });
        for (a, b) in tiles(n) {
            let (above, mut below) = inverse.multi_slice_mut((s![a..b, b..], s![b.., a..b]));
            below.assign(&above.t());
            let corner = inverse.slice(s![a..b, a..b]).to_owned();
            let mirror = Array2::from_shape_fn(corner.raw_dim(), |(i, j)| corner[(i.min(j), i.max(j))]);
            inverse.slice_mut(s![a..b, a..b]).assign(&mirror);
        }
        inverse
    }

    /// The diagonal of `A⁻¹`.
    pub fn inverse_diagonal(&self, par: &Par) -> Array1<f64> {
        let n = self.n();
        let parts = par.map(n.div_ceil(SOLVED), |part| {
            let first = part * SOLVED;
            let mut rows = Array2::zeros((SOLVED.min(n - first), n));
            self.units(first, &mut rows.view_mut());
            rows.rows().into_iter().map(|row| row.slice(s![first..]).dot(&row.slice(s![first..]))).collect()
        });
        parts.into_iter().flat_map(|part: Vec<f64>| part).collect()
    }

    /// Writes `L⁻¹ e_i` for unit vectors from `first` on into rows of zeros.
    fn units(&self, first: usize, rows: &mut ArrayViewMut2<'_, f64>) {
        rows.slice_mut(s![.., first..]).diag_mut().fill(1.0);
        self.forward_from(first - first % TILE, rows);
    }
}

/// Writes zeros above the diagonal: everywhere, or only in the tiles on it, where all others are known to be zero.
fn clear_above(matrix: &mut Array2<f64>, is_clear_elsewhere: bool, par: &Par) {
    on_rows(matrix, ROWS, par, |first, mut rows| {
        let width = rows.ncols();
        for (i, mut row) in rows.rows_mut().into_iter().enumerate() {
            let at = first + i;
            let end = if is_clear_elsewhere { (at - at % TILE + TILE).min(width) } else { width };
            row.slice_mut(s![at + 1..end.max(at + 1)]).fill(0.0);
        }
    });
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
        for n in [1, 2, 15, 63, 64, 65, 127, 129, 200, 400] {
            let a = definite(n);
            let one = Cholesky::new(a.clone(), &Par::sequential()).unwrap();
            let two = Cholesky::new(a.clone(), &Par::new(2).unwrap()).unwrap();
            assert_eq!(one, two);
            assert!(furthest(&one.lower.dot(&one.lower.t()), &a) < 1e-12 * n as f64);
            assert!((0..n).all(|i| (i + 1..n).all(|j| one.lower[(i, j)] == 0.0)));
            let inverse = one.inverse(&Par::new(2).unwrap());
            assert_eq!(inverse, one.inverse(&Par::sequential()));
            assert_eq!(inverse, inverse.t());
            assert!(furthest(&inverse.dot(&a), &Array2::eye(n)) < 1e-11 * n as f64);
            let diagonal = one.inverse_diagonal(&Par::new(2).unwrap());
            assert!(diagonal.iter().zip(inverse.diag()).all(|(a, b)| (a - b).abs() < 1e-12));
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
        assert_eq!(Cholesky::robust_in_place(twice.clone(), &par).unwrap(), helped);
        // More than one tile, and a failure late: what was overwritten is found again.
        let mut wide = definite(300);
        let last = wide.row(299).to_owned();
        wide.row_mut(298).assign(&last);
        let column = wide.column(299).to_owned();
        wide.column_mut(298).assign(&column);
        wide[(298, 298)] = wide[(299, 299)];
        let copied = Cholesky::robust(&wide, &par).unwrap();
        assert_eq!(Cholesky::robust_in_place(wide, &par).unwrap(), copied);
        let indefinite = ndarray::array![[1.0, 2.0], [2.0, 1.0]];
        assert!(Cholesky::robust(&indefinite, &par).is_err());
        assert!(Cholesky::robust(&Array2::from_elem((2, 2), f64::NAN), &par).is_err());
        assert!((Cholesky::new(ndarray::array![[4.0]], &par).unwrap().log_det() - 4f64.ln()).abs() < 1e-15);
    }
}
