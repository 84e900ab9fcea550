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
        return matching_shares(&own, &others, sizes, par);
    }
    let plain = |x: ArrayView2<'_, f64>| x.iter().copied().collect::<Vec<f64>>();
    matching_shares(&plain(a), &plain(b), sizes, par)
}

/// Small whole numbers, as node numbers are, in half the memory.
fn whole(x: ArrayView2<'_, f64>) -> Option<Vec<i32>> {
    x.iter().map(|&v| (f64::from(v as i32) == v).then_some(v as i32)).collect()
}

/// The share of equal values between each of `n` rows of `a` and each of `m` rows of `b`, which have `width` values each.
pub fn matching_shares<T: PartialEq + Sync>(
    a: &[T],
    b: &[T],
    [n, m, width]: [usize; 3],
    par: &Par,
) -> Array2<f64> {
    if width == 0 {
        return Array2::ones((n, m));
    }
    let mut out = Array2::zeros((n, m));
    on_rows(&mut out, ROWS, par, |first, mut rows| {
        for (i, mut row) in rows.rows_mut().into_iter().enumerate() {
            let own = &a[(first + i) * width..][..width];
            for (to, other) in row.iter_mut().zip(b.chunks_exact(width)) {
                *to = f64::from(n_equal(own, other)) / width as f64;
            }
        }
    });
    out
}

/// In how many places two lists are equal. Counts of few places fit two bytes, which lets more of them be counted at a time.
fn n_equal<T: PartialEq>(a: &[T], b: &[T]) -> u32 {
    const FEW: usize = 1 << 15;
    let few = |(a, b): (&[T], &[T])| a.iter().zip(b).map(|(a, b)| u16::from(a == b)).sum::<u16>();
    a.chunks(FEW).zip(b.chunks(FEW)).map(|pair| u32::from(few(pair))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_places_are_counted() {
        let a: Vec<u16> = (0..1000).map(|i| i % 7).collect();
        let b: Vec<u16> = (0..1000).map(|i| i % 5).collect();
        let naive = a.iter().zip(&b).filter(|(a, b)| a == b).count() as u32;
        assert_eq!(n_equal(&a, &b), naive);
        let long = vec![1_u32; 100_000];
        assert_eq!(n_equal(&long, &long), 100_000);
    }
}
