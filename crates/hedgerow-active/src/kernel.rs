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
        Self::with_contrast(rows, weights).0
    }

    /// The same, and its contrast: by how much of the squared distance of any two rows that to the tenth neighbor is less. With none, all rows are as far apart as
    /// neighbors, and being alike means nothing.
    pub(crate) fn with_contrast(rows: &Targets, weights: &[f32]) -> (Self, f32) {
        let step = rows.len().div_ceil(MOST_ROWS).max(1);
        let (mut tenths, mut medians): (Vec<f32>, Vec<f32>) = (0..rows.len())
            .step_by(step)
            .map(|place| {
                let mut squares = rows.squared_distances(&rows.row(place), weights);
                (nth(&mut squares, NEIGHBOR), nth(&mut squares, rows.len() / 2))
            })
            .unzip();
        let (n_tenths, n_medians) = (tenths.len() / 2, medians.len() / 2);
        let (near, any) = (nth(&mut tenths, n_tenths), nth(&mut medians, n_medians));
        let contrast = if any > 0.0 { (1.0 - near / any).max(0.0) } else { 1.0 };
        (Self::new(near), contrast)
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

/// The number at a place in order, or the last one where there are fewer; 1 of none.
fn nth(values: &mut [f32], at: usize) -> f32 {
    let at = at.min(values.len().saturating_sub(1));
    if values.is_empty() { 1.0 } else { *values.select_nth_unstable_by(at, f32::total_cmp).1 }
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
    #[test]
    fn contrast_is_lost_where_no_column_matters() {
        let contrast = |n_features: usize| {
            let x = Array2::from_shape_fn((400, n_features), |(row, column)| {
                ((row * (7919 + 31 * column) + 17 * column * column) % 400) as f32
            });
            let (schema, features) = (Schema::unnamed(n_features), Features::from_view(x.view()));
            let space = RankSpace::new(&schema, &features);
            let rows = space.place(&features, &(0..400).collect::<Vec<_>>(), &Par::sequential());
            let mut weights = vec![0.0; n_features];
            weights[0] = 1.0;
            [vec![1.0; n_features], weights].map(|weights| RankKernel::with_contrast(&rows, &weights).1)
        };
        let ([one, _], [many, first_of_many]) = (contrast(1), contrast(150));
        assert!(
            one > 0.98 && many < 0.6 && (first_of_many - one).abs() < 0.02,
            "{one} {many} {first_of_many}"
        );
    }
}
