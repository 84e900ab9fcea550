//! Products with a symmetric matrix of which only the lower half is read: what such products wait for is memory.

use hedgerow_core::Par;
use ndarray::{Array1, Array2, ArrayView1, NdFloat};

/// Rows that a thread works on at a time.
const ROWS: usize = 128;
/// Numbers that are worked on at a time.
const LANES: usize = 8;

/// `A v`. Parts of it are summed in the order of rows, whatever the threads.
pub(crate) fn symmetric_vec<T: NdFloat>(a: &Array2<T>, v: ArrayView1<'_, T>, par: &Par) -> Array1<T> {
    let n = a.nrows();
    let v = v.to_vec();
    let parts = par.map(n.div_ceil(ROWS), |part| {
        let first = part * ROWS;
        let last = (first + ROWS).min(n);
        let mut out = vec![T::zero(); last];
        for i in first..last {
            let row = a.row(i);
            let Some(row) = row.as_slice() else { continue };
            let along = both(&row[..i], &v[..i], v[i], &mut out[..i]);
            out[i] += along + row[i] * v[i];
        }
        out
    });
    let mut sum = vec![T::zero(); n];
    for part in parts {
        sum.iter_mut().zip(part).for_each(|(sum, v)| *sum += v);
    }
    Array1::from(sum)
}

/// The product of a row with `v`; the row times `factor` is added to `out`.
fn both<T: NdFloat>(row: &[T], v: &[T], factor: T, out: &mut [T]) -> T {
    let whole = row.len() - row.len() % LANES;
    let mut lanes = [T::zero(); LANES];
    let (rows, rest) = row.split_at(whole);
    let (vs, rest_v) = v.split_at(whole);
    let (outs, rest_out) = out.split_at_mut(whole);
    let pieces = rows.chunks_exact(LANES).zip(vs.chunks_exact(LANES)).zip(outs.chunks_exact_mut(LANES));
    for ((row, v), out) in pieces {
        for lane in 0..LANES {
            lanes[lane] += row[lane] * v[lane];
            out[lane] += factor * row[lane];
        }
    }
    let mut sum = lanes.iter().fold(T::zero(), |sum, v| sum + *v);
    for ((row, v), out) in rest.iter().zip(rest_v).zip(rest_out) {
        sum += *row * *v;
        *out += factor * *row;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_upper_half_does_not_matter() {
        for n in [1, 7, 8, 130, 300] {
            let whole = Array2::from_shape_fn((n, n), |(i, j)| ((i * j) as f64).sin() + (i + j) as f64);
            let lower = Array2::from_shape_fn((n, n), |(i, j)| if j > i { f64::NAN } else { whole[(i, j)] });
            let v = Array1::from_shape_fn(n, |i| (i as f64).cos());
            let product = symmetric_vec(&lower, v.view(), &Par::new(2).unwrap());
            assert_eq!(product, symmetric_vec(&lower, v.view(), &Par::sequential()));
            assert!((&product - &whole.dot(&v)).iter().all(|d| d.abs() < 1e-9));
            let nearly =
                symmetric_vec(&lower.mapv(|v| v as f32), v.mapv(|v| v as f32).view(), &Par::sequential());
            assert!(nearly.iter().zip(&product).all(|(a, b)| (f64::from(*a) - b).abs() < 0.1));
        }
    }
}
