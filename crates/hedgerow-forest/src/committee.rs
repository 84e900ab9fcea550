//! A forest as a committee of its trees.

use hedgerow_core::{Committee, Par, Result};
use ndarray::{Array2, Array3, ArrayView2};

use crate::forest::Forest;

impl Committee for Forest {
    fn n_members(&self) -> usize {
        self.trees.len()
    }

    /// The class shares of the leaf of each row, whatever its size.
    fn predict_members_impl(&self, x: ArrayView2<'_, f32>, par: &Par) -> Array3<f64> {
        let x = x.as_standard_layout();
        let (n_rows, n_classes) = (x.nrows(), self.n_classes);
        let mut out = Array3::zeros((self.trees.len(), n_rows, n_classes));
        let (Some(rows), Some(shares)) = (x.as_slice(), out.as_slice_mut()) else { return out };
        let width = self.n_features.max(1);
        par.for_chunks(shares, (n_rows * n_classes).max(1), |number, out| {
            let tree = &self.trees[number];
            for (row, out) in rows.chunks(width).zip(out.chunks_mut(n_classes.max(1))) {
                let mut total = 0.0;
                tree.visit_leaf(tree.leaf(row), |class, weight| {
                    out[class] += f64::from(weight);
                    total += f64::from(weight);
                });
                // A leaf without rows, as a tree has before it has learnt any, tells nothing.
                if total > 0.0 {
                    out.iter_mut().for_each(|share| *share /= total);
                } else {
                    out.fill(1.0 / n_classes as f64);
                }
            }
        });
        out
    }

    fn cells(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Option<Array2<u32>>> {
        self.leaf_places(x, par).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::testing::blobs;
    use hedgerow_core::{Budget, Classifier as _, Params as _, Silent, Training};
    use ndarray::Axis;

    use super::*;
    use crate::params::{ForestParams, LeafPower};

    #[test]
    fn the_mean_of_the_trees_is_the_forest() {
        let data = blobs(150, 3, 3, 2);
        let leaf_power = LeafPower::Fixed(0.0);
        let params =
            ForestParams { n_trees: 7, min_leaf_rows: 4, calibrate: false, leaf_power, ..Default::default() };
        let par = Par::sequential();
        let training = Training { par: &par, budget: &Budget::open(), observer: &Silent };
        let forest = Forest::fit(&data, &params.check().unwrap(), &training).unwrap().forest;
        let x = data.features.to_array(0..40);
        let members = forest.predict_members(x.view(), &Par::new(2).unwrap()).unwrap();
        assert_eq!(members.dim(), (7, 40, 3));
        assert!(members.sum_axis(Axis(2)).iter().all(|sum| (sum - 1.0).abs() < 1e-12));
        let mean = members.mean_axis(Axis(0)).unwrap();
        let proba = forest.predict_proba(x.view(), &par).unwrap();
        assert!(mean.iter().zip(&proba).all(|(a, b)| (a - b).abs() < 1e-9));
        assert!(forest.predict_members(x.slice(ndarray::s![.., ..2]), &par).is_err());
        let cells = forest.cells(x.view(), &par).unwrap().unwrap();
        for (row, other) in [(0, 3), (1, 4), (2, 9)] {
            for tree in 0..7 {
                if cells[(row, tree)] == cells[(other, tree)] {
                    assert_eq!(members.row_of(tree, row), members.row_of(tree, other));
                }
            }
        }
    }

    trait RowOf {
        fn row_of(&self, member: usize, row: usize) -> Vec<f64>;
    }

    impl RowOf for Array3<f64> {
        fn row_of(&self, member: usize, row: usize) -> Vec<f64> {
            self.slice(ndarray::s![member, row, ..]).to_vec()
        }
    }
}
