//! The directions in which rows vary most, found by products with the rows alone.
//!
//! Subspace iteration from random directions (Halko, Martinsson and Tropp, 2011, Finding structure with randomness, algorithm 4.4): no
//! matrix of all pairs of columns is made.

use ndarray::{Array2, ArrayView2, Axis};

use crate::rng::{Purpose, Rng};

/// Products with the rows and back. Directions need not be exact: the space they span matters.
const ROUNDS: usize = 3;

/// An orthonormal basis, a column each, of about the `n` directions in which centered rows vary most; fewer where they vary in fewer.
pub(super) fn directions(rows: ArrayView2<'_, f32>, n: usize) -> Array2<f32> {
    let mut rng = Rng::new(0, Purpose::Sample, 4);
    let mut basis = Array2::from_shape_fn((rows.ncols(), n), |_| rng.normal() as f32);
    for _ in 0..ROUNDS {
        basis = orthonormal(&rows.t().dot(&rows.dot(&basis)));
    }
    basis
}

/// Gram and Schmidt's way, twice; columns that depend on earlier ones are left out.
fn orthonormal(columns: &Array2<f32>) -> Array2<f32> {
    let mut kept: Vec<Vec<f64>> = Vec::new();
    let length = |v: &[f64]| libm::sqrt(v.iter().map(|v| v * v).sum());
    for column in columns.axis_iter(Axis(1)) {
        let mut column: Vec<f64> = column.iter().map(|v| f64::from(*v)).collect();
        let before = length(&column);
        for _ in 0..2 {
            for other in &kept {
                let along: f64 = column.iter().zip(other).map(|(a, b)| a * b).sum();
                column.iter_mut().zip(other).for_each(|(a, b)| *a -= along * b);
            }
        }
        let after = length(&column);
        // What is left of a dependent column is rounding of single precision.
        if after > 1e-5 * before && after > 0.0 {
            column.iter_mut().for_each(|v| *v /= after);
            kept.push(column);
        }
    }
    Array2::from_shape_fn((columns.nrows(), kept.len()), |(row, column)| kept[column][row] as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_directions_are_found() {
        let mut rng = Rng::new(5, Purpose::Data, 0);
        // Three strong directions among thirty columns, and noise.
        let strong: Vec<Vec<f64>> = (0..3).map(|_| (0..30).map(|_| rng.normal()).collect()).collect();
        let rows = Array2::from_shape_fn((400, 33), |_| rng.normal());
        let rows = Array2::from_shape_fn((400, 30), |(row, column)| {
            let of: f64 = (0..3).map(|k| 5.0 * rows[(row, 30 + k)] * strong[k][column]).sum();
            (of + 0.1 * rows[(row, column)]) as f32
        });
        let basis = directions(rows.view(), 3);
        let gram = basis.t().dot(&basis);
        assert!(gram.indexed_iter().all(|((i, j), v)| (v - f32::from(u8::from(i == j))).abs() < 1e-5));
        let left = &rows - &rows.dot(&basis).dot(&basis.t());
        let share = left.iter().map(|v| v * v).sum::<f32>() / rows.iter().map(|v| v * v).sum::<f32>();
        assert!(share < 1e-3, "{share}");
    }

    #[test]
    fn rows_that_vary_in_few_directions_have_few() {
        let rows = Array2::from_shape_fn((20, 6), |(row, column)| (row * (1 + column % 2)) as f32);
        assert_eq!(directions(rows.view(), 4).ncols(), 1);
        assert_eq!(directions(Array2::zeros((5, 3)).view(), 2).ncols(), 0);
    }
}
