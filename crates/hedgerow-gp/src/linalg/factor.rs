//! Tiles of a factor, in single or double precision.
//!
//! Tiles are taken from left to right: what the columns before take from one is a product of matrices, spread over threads by rows.

use hedgerow_core::Par;
use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, NdFloat, s};

use super::on_rows;

/// Rows and columns of a tile.
pub(super) const TILE: usize = 256;
/// Rows and columns of a block of a tile.
const BLOCK: usize = 16;
/// Rows that a thread works on at a time.
const ROWS: usize = 128;

/// Puts the factor of a matrix, of which only the lower half is read, in its place; false if it is not positive definite.
pub(super) fn factor<T: NdFloat>(matrix: &mut Array2<T>, par: &Par) -> bool {
    for (first, last) in tiles(matrix.nrows()) {
        // What the columns to the left take from these, some rows at a time.
        let left = matrix.slice(s![first..last, ..first]).to_owned();
        on_rows(&mut matrix.slice_mut(s![first.., ..]), ROWS, par, |_, mut rows| {
            let (done, mut now) = rows.multi_slice_mut((s![.., ..first], s![.., first..last]));
            take(&done.view(), &left.t(), &mut now);
        });
        if !factor_tile(matrix.slice_mut(s![first..last, first..last])) {
            return false;
        }
        let tile = matrix.slice(s![first..last, first..last]).to_owned();
        on_rows(&mut matrix.slice_mut(s![last.., ..]), ROWS, par, |_, mut rows| {
            solve_tile(tile.view(), rows.slice_mut(s![.., first..last]));
        });
    }
    true
}

/// Firsts and ends of tiles.
pub(super) fn tiles(n: usize) -> impl DoubleEndedIterator<Item = (usize, usize)> {
    (0..n.div_ceil(TILE)).map(move |tile| (tile * TILE, ((tile + 1) * TILE).min(n)))
}

/// The same for one tile: by halves, down to blocks.
fn factor_tile<T: NdFloat>(mut tile: ArrayViewMut2<'_, T>) -> bool {
    let n = tile.nrows();
    if n <= BLOCK {
        return factor_block(&mut tile);
    }
    let half = middle(n);
    let (mut first, mut below, mut last) =
        tile.multi_slice_mut((s![..half, ..half], s![half.., ..half], s![half.., half..]));
    if !factor_tile(first.view_mut()) {
        return false;
    }
    solve_tile(first.view(), below.view_mut());
    take(&below.view(), &below.t(), &mut last);
    factor_tile(last)
}

/// Where a tile is halved: at a whole number of blocks.
fn middle(n: usize) -> usize {
    (n / BLOCK).div_ceil(2) * BLOCK
}

fn factor_block<T: NdFloat>(block: &mut ArrayViewMut2<'_, T>) -> bool {
    let n = block.nrows();
    for i in 0..n {
        for j in 0..=i {
            let sum = (0..j).fold(T::zero(), |sum, k| sum + block[(i, k)] * block[(j, k)]);
            let rest = block[(i, j)] - sum;
            if i > j {
                block[(i, j)] = rest / block[(j, j)];
            } else if rest > T::zero() && rest.is_finite() {
                block[(i, i)] = rest.sqrt();
            } else {
                return false;
            }
        }
        block.slice_mut(s![i, i + 1..]).fill(T::zero());
    }
    true
}

/// `L⁻¹ b` for every row `b`, `L` being a tile.
pub(super) fn solve_tile<T: NdFloat>(tile: ArrayView2<'_, T>, mut rows: ArrayViewMut2<'_, T>) {
    let n = tile.nrows();
    if n <= BLOCK {
        solve_block(tile, rows);
        return;
    }
    let half = middle(n);
    let (mut first, mut last) = rows.multi_slice_mut((s![.., ..half], s![.., half..]));
    solve_tile(tile.slice(s![..half, ..half]), first.view_mut());
    take(&first.view(), &tile.slice(s![half.., ..half]).t(), &mut last);
    solve_tile(tile.slice(s![half.., half..]), last);
}

/// The same for a block of a tile. Rows are turned into columns, so that many are solved at a time.
fn solve_block<T: NdFloat>(block: ArrayView2<'_, T>, mut rows: ArrayViewMut2<'_, T>) {
    const LANES: usize = 32;
    let n = block.nrows();
    let mut columns = [[T::zero(); LANES]; BLOCK];
    for mut rows in rows.axis_chunks_iter_mut(Axis(0), LANES) {
        for (lane, row) in rows.rows().into_iter().enumerate() {
            row.iter().zip(&mut columns).for_each(|(v, column)| column[lane] = *v);
        }
        for i in 0..n {
            let (done, rest) = columns.split_at_mut(i);
            let now = &mut rest[0];
            for (k, done) in done.iter().enumerate() {
                let factor = block[(i, k)];
                now.iter_mut().zip(done).for_each(|(v, d)| *v -= factor * *d);
            }
            let pivot = block[(i, i)];
            now.iter_mut().for_each(|v| *v /= pivot);
        }
        for (lane, mut row) in rows.rows_mut().into_iter().enumerate() {
            row.iter_mut().zip(&columns).for_each(|(v, column)| *v = column[lane]);
        }
    }
}

/// `L⁻ᵀ b` for every row `b`, `L` being a tile.
pub(super) fn solve_tile_back(tile: ArrayView2<'_, f64>, mut rows: ArrayViewMut2<'_, f64>) {
    let n = tile.nrows();
    for first in (0..n).step_by(BLOCK).rev() {
        let last = (first + BLOCK).min(n);
        let (mut now, done) = rows.multi_slice_mut((s![.., first..last], s![.., last..]));
        general_mat_mul(-1.0, &done, &tile.slice(s![last.., first..last]), 1.0, &mut now);
        for mut row in now.rows_mut() {
            for i in (first..last).rev() {
                let xi = row[i - first] / tile[(i, i)];
                row[i - first] = xi;
                row.slice_mut(s![..i - first]).scaled_add(-xi, &tile.slice(s![i, first..i]));
            }
        }
    }
}

/// `from − a b`, in the place of `from`.
fn take<T: NdFloat>(a: &ArrayView2<'_, T>, b: &ArrayView2<'_, T>, from: &mut ArrayViewMut2<'_, T>) {
    general_mat_mul(-T::one(), a, b, T::one(), from);
}
