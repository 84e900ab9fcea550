//! The share of columns in which two rows are equal.

use hedgerow_core::Par;
use ndarray::{Array2, ArrayView2};

use crate::linalg::on_rows;

/// Rows that a thread works on at a time.
const ROWS: usize = 32;

/// For rows of `a` and rows of `b`. Rows without columns are equal.
pub(super) fn shares(a: ArrayView2<'_, f64>, b: ArrayView2<'_, f64>, par: &Par) -> Array2<f64> {
    let sizes = [a.nrows(), b.nrows(), a.ncols()];
    if let (Some(own), Some(others)) = (whole(a), whole(b)) {
        return count(&own, &others, sizes, par);
    }
    let plain = |x: ArrayView2<'_, f64>| x.iter().copied().collect::<Vec<f64>>();
    count(&plain(a), &plain(b), sizes, par)
}

/// Small whole numbers, as node numbers are, in half the memory.
fn whole(x: ArrayView2<'_, f64>) -> Option<Vec<i32>> {
    x.iter().map(|&v| (f64::from(v as i32) == v).then_some(v as i32)).collect()
}

fn count<T: PartialEq + Sync>(a: &[T], b: &[T], [n, m, width]: [usize; 3], par: &Par) -> Array2<f64> {
    if width == 0 {
        return Array2::ones((n, m));
    }
    let mut out = Array2::zeros((n, m));
    on_rows(&mut out, ROWS, par, |first, mut rows| {
        for (i, mut row) in rows.rows_mut().into_iter().enumerate() {
            let own = &a[(first + i) * width..][..width];
            for (to, other) in row.iter_mut().zip(b.chunks_exact(width)) {
                let equal: u32 = own.iter().zip(other).map(|(a, b)| u32::from(a == b)).sum();
                *to = f64::from(equal) / width as f64;
            }
        }
    });
    out
}
