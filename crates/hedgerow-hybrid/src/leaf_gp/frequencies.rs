//! Class frequencies in leaves, averaged over trees: what the trees predict without GPs.
//!
//! ```text
//! f_c(x) = 1/T Σ_t (n_tc + 1/K) / (n_t + 1)        n_tc: rows of class c in the leaf of tree t that x falls into, n_t: all of its rows
//! ```
//!
//! Each leaf counts one row more that is of all K classes alike: a class that has not come to a leaf is unlikely there, the more so the
//! larger the leaf, but never impossible.

use super::leaf::Leaf;

impl Leaf {
    /// Adds its class frequencies to those of other leaves.
    pub(super) fn add_frequencies(&self, sums: &mut [f64]) {
        let n: u32 = self.counts.iter().map(|(_, n)| *n).sum();
        let part = 1.0 / (f64::from(n) + 1.0);
        let of_all = part / sums.len().max(1) as f64;
        sums.iter_mut().for_each(|sum| *sum += of_all);
        for (class, count) in &self.counts {
            if let Some(sum) = sums.get_mut(usize::from(*class)) {
                *sum += part * f64::from(*count);
            }
        }
    }
}

/// The mean of the class frequencies of so many leaves; classes are alike where there is none.
pub(super) fn mean(sums: &mut [f64], n_leaves: u32) {
    if n_leaves == 0 {
        let alike = 1.0 / sums.len().max(1) as f64;
        sums.fill(alike);
    } else {
        sums.iter_mut().for_each(|sum| *sum /= f64::from(n_leaves));
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::testing::blobs;
    use hedgerow_core::{Budget, Dataset, OnlineModel as _, Par, Params as _, Rows, Silent, Training};
    use ndarray::Array2;

    use super::super::{LeafGp, LeafGpParams};
    use super::*;

    /// The formula, by leading every row that was learnt down every tree again.
    fn naive(model: &LeafGp, data: &Dataset, n_placed: usize, x: &Array2<f32>) -> Array2<f64> {
        let (n_trees, n_classes) = (model.trees.n_trees(), data.schema.n_classes());
        let learnt = data.features.to_array(0..n_placed);
        let leaf = |tree: usize, row: ndarray::ArrayView1<'_, f32>| model.trees.leaf(tree, &row.to_vec());
        Array2::from_shape_fn((x.nrows(), n_classes), |(row, class)| {
            let of_tree = |tree: usize| {
                let place = leaf(tree, x.row(row));
                let same: Vec<usize> =
                    (0..n_placed).filter(|r| leaf(tree, learnt.row(*r)) == place).collect();
                let own = same.iter().filter(|r| data.labels()[**r].index() == class).count();
                (own as f64 + 1.0 / n_classes as f64) / (same.len() as f64 + 1.0)
            };
            (0..n_trees).map(of_tree).sum::<f64>() / n_trees as f64
        })
    }

    #[test]
    fn frequencies_are_those_of_the_rows_in_leaves() {
        let data = blobs(330, 3, 4, 1);
        let (par, budget) = (Par::sequential(), Budget::open());
        let training = Training { par: &par, budget: &budget, observer: &Silent };
        let params = LeafGpParams { n_trees: 3, leaf_rows: 30, ..LeafGpParams::default() }.check().unwrap();
        let first = data.select(&(0..260).collect::<Vec<_>>());
        let mut model = hedgerow_core::fit(&first, &params, &training).unwrap().model;
        let test_rows = blobs(40, 3, 4, 2).features.to_array(0..40);
        let check = |model: &LeafGp, n_placed: usize| {
            let got = model.predictions(test_rows.view(), &par).frequencies;
            let expected = naive(model, &data, n_placed, &test_rows);
            assert!(got.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-12));
            assert!(got.rows().into_iter().all(|row| (row.sum() - 1.0).abs() < 1e-12));
        };
        check(&model, 260);
        let x = data.features.to_array(260..330);
        let rows = Rows::new(x.view(), &data.labels()[260..], None);
        model.learn(&data.schema, rows, &training).unwrap();
        let n_placed = model.online.as_ref().unwrap().n_placed;
        assert!(n_placed > 260);
        check(&model, n_placed);
        check(&model.frozen(), n_placed);
    }

    #[test]
    fn where_there_is_no_leaf_all_classes_are_alike() {
        let mut sums = [0.0; 4];
        mean(&mut sums, 0);
        assert_eq!(sums, [0.25; 4]);
        Leaf::default().add_frequencies(&mut sums);
        mean(&mut sums, 2);
        assert_eq!(sums, [0.25; 4]);
    }
}
