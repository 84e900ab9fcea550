//! Single precision: half the time and half the memory, near enough to help conjugate gradients along.

use hedgerow_core::Par;
use ndarray::{Array1, Array2, ArrayView1};

use super::factor::{factor, tiles};
use super::narrow_dot as dot;

/// Rows that a thread works on at a time.
const ROWS: usize = 64;
/// Columns that a thread works on at a time.
const COLUMNS: usize = 256;

/// The lower triangular `L` with `L Lᵀ = A`, nearly.
pub(crate) struct Rough {
    /// Row by row. What is above the diagonal means nothing.
    lower: Array2<f32>,
}

impl Rough {
    /// Factors a symmetric matrix of `n` rows, each of which `fill` writes up to the diagonal; none if that fails, as it may for a
    /// matrix that is positive definite by a hair. The memory of another factor may be used again.
    pub(crate) fn new(
        n: usize,
        before: Option<Self>,
        par: &Par,
        fill: impl Fn(usize, &mut [f32]) + Sync,
    ) -> Option<Self> {
        let memory = before.map(|before| before.lower).filter(|lower| lower.dim() == (n, n));
        let mut lower = memory.unwrap_or_else(|| Array2::zeros((n, n)));
        par.for_chunks(lower.as_slice_mut()?, ROWS * n, |chunk, rows| {
            for (i, row) in rows.chunks_mut(n).enumerate() {
                let at = chunk * ROWS + i;
                fill(at, &mut row[..=at]);
            }
        });
        factor(&mut lower, par).then_some(Self { lower })
    }

    /// `A⁻¹ b`, nearly.
    pub(crate) fn solve(&self, b: ArrayView1<'_, f64>, par: &Par) -> Array1<f64> {
        let mut x: Vec<f32> = b.iter().map(|v| *v as f32).collect();
        self.forward(&mut x, par);
        self.backward(&mut x, par);
        x.into_iter().map(f64::from).collect()
    }

    /// `L⁻¹ x`: tile by tile, each then taken from all rows below.
    fn forward(&self, x: &mut [f32], par: &Par) {
        for (first, last) in tiles(x.len()) {
            for i in first..last {
                let row = self.row(i);
                x[i] = (x[i] - dot(&row[first..i], &x[first..i])) / row[i];
            }
            let (done, rest) = x.split_at_mut(last);
            let done = &done[first..];
            par.for_chunks(rest, ROWS, |chunk, rest| {
                for (i, x) in rest.iter_mut().enumerate() {
                    *x -= dot(&self.row(last + chunk * ROWS + i)[first..last], done);
                }
            });
        }
    }

    /// `L⁻ᵀ x`: tile by tile from the last, each then taken from all columns before.
    fn backward(&self, x: &mut [f32], par: &Par) {
        for (first, last) in tiles(x.len()).rev() {
            for i in (first..last).rev() {
                let row = self.row(i);
                x[i] /= row[i];
                let xi = x[i];
                x[first..i].iter_mut().zip(&row[first..i]).for_each(|(x, v)| *x -= xi * v);
            }
            let (rest, done) = x.split_at_mut(first);
            let done = &done[..last - first];
            par.for_chunks(rest, COLUMNS, |chunk, rest| {
                for (i, xi) in done.iter().enumerate() {
                    let row = &self.row(first + i)[chunk * COLUMNS..];
                    rest.iter_mut().zip(row).for_each(|(x, v)| *x -= xi * v);
                }
            });
        }
    }

    fn row(&self, i: usize) -> &[f32] {
        self.lower.row(i).to_slice().unwrap_or_default()
    }
}

/// `A v` for a matrix in single precision. All of it is read: one half would do, but takes twice the arithmetic a number, and that is slower.
pub(crate) fn rough_vec(a: &Array2<f32>, v: ArrayView1<'_, f64>, par: &Par) -> Array1<f64> {
    let v: Vec<f32> = v.iter().map(|v| *v as f32).collect();
    let mut out = vec![0.0; a.nrows()];
    par.for_chunks(&mut out, ROWS, |chunk, out| {
        for (i, out) in out.iter_mut().enumerate() {
            *out = f64::from(dot(a.row(chunk * ROWS + i).to_slice().unwrap_or_default(), &v));
        }
    });
    Array1::from(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_nearly_solves_and_refuses_what_has_no_factor() {
        let (one, two) = (Par::sequential(), Par::new(2).unwrap());
        for n in [1, 20, 300, 600] {
            let value = |i: usize, j: usize| {
                let distance = (i as f64 - j as f64) / 9.0;
                4.0 * (-0.5 * distance * distance).exp() + if i == j { 1.0 } else { 0.0 }
            };
            let fill = |i: usize, row: &mut [f32]| {
                row.iter_mut().enumerate().for_each(|(j, v)| *v = value(i, j) as f32);
            };
            let b = Array1::from_shape_fn(n, |i| (i as f64).sin());
            let factor = Rough::new(n, None, &two, fill).unwrap();
            let x = factor.solve(b.view(), &two);
            let again = Rough::new(n, Some(factor), &one, fill).unwrap();
            assert_eq!(x, again.solve(b.view(), &one));
            let matrix = Array2::from_shape_fn((n, n), |(i, j)| value(i, j));
            let back = matrix.dot(&x);
            let nearly = rough_vec(&matrix.mapv(|v| v as f32), x.view(), &two);
            assert!((nearly - &back).iter().all(|d| d.abs() < 1e-4));
            assert!((back - b).iter().all(|d| d.abs() < 1e-4));
        }
        assert!(Rough::new(3, None, &one, |_, row| row.fill(1.0)).is_none());
        assert!(Rough::new(3, None, &one, |_, row| row.fill(f32::INFINITY)).is_none());
    }
}
