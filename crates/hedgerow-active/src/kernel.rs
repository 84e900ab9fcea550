//! How alike two rows are, from 0 to 1, by the ranks of their columns.

use crate::space::Targets;

/// The neighbor whose distance is the bandwidth.
const NEIGHBOR: usize = 10;
/// Rows whose neighbors tell that distance.
const MOST_ROWS: usize = 100;
/// Bandwidths beyond which rows are not alike at all, squared.
const REACH: f32 = 16.0;

/// (1 − d²/16h²)⁸ up to four bandwidths h and 0 beyond: nearly exp(−d²/2h²), by three multiplications and the same on every computer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RankKernel {
    /// 1/16h².
    factor: f32,
}

impl RankKernel {
    /// With the median distance of rows to their tenth neighbor as the bandwidth, by columns with these weights.
    pub(crate) fn of_neighbors(rows: &Targets, weights: &[f32]) -> Self {
        let step = rows.len().div_ceil(MOST_ROWS).max(1);
        let mut nearest: Vec<f32> = (0..rows.len())
            .step_by(step)
            .map(|place| tenth(rows.squared_distances(&rows.row(place), weights)))
            .collect();
        nearest.sort_by(f32::total_cmp);
        Self::new(nearest.get(nearest.len() / 2).copied().unwrap_or(1.0))
    }

    /// With a bandwidth, squared.
    pub(crate) fn new(bandwidth: f32) -> Self {
        Self { factor: 1.0 / (REACH * bandwidth.max(1e-6)) }
    }

    /// For a squared distance.
    pub(crate) fn at(self, square: f32) -> f32 {
        let near = (1.0 - self.factor * square).max(0.0);
        let near = near * near;
        let near = near * near;
        near * near
    }
}

/// The distance to the tenth neighbor, or to the last one where there are fewer; the row itself is among the distances.
fn tenth(mut squares: Vec<f32>) -> f32 {
    let at = NEIGHBOR.min(squares.len().saturating_sub(1));
    if squares.is_empty() { 1.0 } else { *squares.select_nth_unstable_by(at, f32::total_cmp).1 }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::{Features, Par, Schema};
    use ndarray::Array2;

    use super::*;
    use crate::space::RankSpace;

    #[test]
    fn nearly_a_normal_kernel() {
        let kernel = RankKernel::new(0.3 * 0.3);
        for d in [0.0_f32, 0.1, 0.3, 0.5, 0.7, 1.0, 1.3] {
            let normal = (-0.5 * d * d / 0.09).exp();
            assert!((kernel.at(d * d) - normal).abs() < 0.05, "{d}");
        }
        assert_eq!((kernel.at(0.0), kernel.at(2.0)), (1.0, 0.0));
    }

    #[test]
    fn its_bandwidth_is_the_distance_to_the_tenth_neighbor() {
        // 101 numbers: their ranks are evenly spaced, and the tenth neighbor of most is five places away.
        let x = Array2::from_shape_fn((101, 1), |(row, _)| (row * row) as f32);
        let (schema, features) = (Schema::unnamed(1), Features::from_view(x.view()));
        let space = RankSpace::new(&schema, &features);
        let rows = space.place(&features, &(0..101).collect::<Vec<_>>(), &Par::sequential());
        let kernel = RankKernel::of_neighbors(&rows, &[1.0]);
        let expected = RankKernel::new((5.0_f32 / 101.0).powi(2));
        assert!((kernel.factor / expected.factor - 1.0).abs() < 1e-4, "{kernel:?} {expected:?}");
    }
}
