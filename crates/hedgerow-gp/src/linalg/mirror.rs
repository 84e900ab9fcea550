//! The upper half of a symmetric matrix from its lower half.

use hedgerow_core::Par;
use ndarray::{Array2, NdFloat};

/// Rows and columns of a block that is turned at once, so that both its places are in the nearest memory.
const BLOCK: usize = 32;
/// Fewer rows than this are not halved.
const FEW: usize = 256;

/// Copies what is below the diagonal to the place above it.
pub(crate) fn mirror<T: NdFloat>(matrix: &mut Array2<T>, par: &Par) {
    let n = matrix.ncols().min(matrix.nrows());
    let width = matrix.ncols();
    if let Some(values) = matrix.as_slice_mut() {
        mirror_part(values, width, 0, n, par);
    }
}

/// The same for a square on the diagonal: the corner right of its upper half and above its lower half, then both halves.
/// `values` are its rows, `width` wide.
fn mirror_part<T: NdFloat>(values: &mut [T], width: usize, first: usize, last: usize, par: &Par) {
    let n = last - first;
    if n <= FEW {
        for i in 1..n {
            for j in 0..i {
                values[j * width + first + i] = values[i * width + first + j];
            }
        }
        return;
    }
    let half = n / 2;
    let (upper, lower) = values.split_at_mut(half * width);
    let from: &[T] = lower;
    par.for_chunks(upper, BLOCK * width, |block, rows| {
        let column = first + block * BLOCK;
        for start in (half..n).step_by(BLOCK) {
            for i in start..(start + BLOCK).min(n) {
                let source = &from[(i - half) * width + column..];
                for (row, value) in rows.chunks_mut(width).zip(source) {
                    row[first + i] = *value;
                }
            }
        }
    });
    mirror_part(upper, width, first, first + half, par);
    mirror_part(lower, width, first + half, last, par);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_halves_are_the_same_afterwards() {
        for n in [0, 1, 2, 33, 255, 257, 700] {
            let mut matrix =
                Array2::from_shape_fn((n, n), |(i, j)| if j > i { -1.0 } else { (i * n + j) as f64 });
            mirror(&mut matrix, &Par::new(2).unwrap());
            for ((i, j), value) in matrix.indexed_iter() {
                assert_eq!(*value, (i.max(j) * n + i.min(j)) as f64);
            }
        }
    }
}
