//! Trees on half-samples of the rows: what other training sets would have made of the forest.
//!
//! The trees of a bag share one half of the rows. A half drawn without replacement differs from another half as much as one training set does from
//! another of the full size, so the variance between bags is that over training sets, once the variance of the trees within a bag is taken off it
//! (Sexton & Laake, 2009, Standard errors for bagged and random forest estimators; Athey, Tibshirani & Wager, 2019, Generalized random forests).

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::saved::require;
use hedgerow_core::{Committee as _, Dataset, Par, Params as _, Result, Schema};
use hedgerow_forest::{Bagging, Forest, ForestParams, MaxFeatures, TreeBuilder};
use ndarray::{Array2, ArrayView2, ArrayView3};
use serde::{Deserialize, Serialize};

/// Half-samples, and trees from each.
pub(super) const N_BAGS: usize = 60;
pub(super) const TREES: usize = 4;
/// Fewest rows of a leaf.
const LEAF_ROWS: usize = 3;
/// Rows of a node that the search for its split looks at.
const SEARCHED_ROWS: usize = 512;
/// Columns tried at a node: all up to so many, the square root of more than their square.
const FEW_COLUMNS: f64 = 20.0;
/// Rows predicted together.
pub(super) const BLOCK: usize = 256;

/// The trees, bag after bag.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Bags {
    forest: Forest,
}

/// The class shares of rows.
pub(super) struct Shares {
    /// The means over bags.
    pub(super) mean: Array2<f64>,
    /// The variances of these means over training sets.
    pub(super) variance: Array2<f64>,
}

impl Bags {
    /// Grows trees, and predicts each row by the bags that left it out.
    pub(super) fn grow(data: &Dataset, seed: u64, par: &Par) -> Result<(Self, Array2<f64>)> {
        let (n, n_features) = (data.n_rows(), data.schema.n_features());
        let n_columns = f64::max(libm::sqrt(n_features as f64), FEW_COLUMNS).min(n_features as f64);
        let params = ForestParams {
            n_trees: N_BAGS * TREES,
            bagging: Bagging::Fraction(0.5),
            learn_left_out: false,
            max_features: MaxFeatures::Count(n_columns as usize),
            min_leaf_rows: LEAF_ROWS,
            sample_rows: SEARCHED_ROWS,
            calibrate: false,
            seed,
            ..ForestParams::default()
        };
        let builder = TreeBuilder::new(data, &params.clone().check()?, par)?;
        let halves: Vec<Vec<u8>> = (0..N_BAGS).map(|bag| half(n, seed, bag)).collect();
        let grown = par.map(N_BAGS * TREES, |number| builder.tree_of_bag(number, &halves[number / TREES]));
        let mut gains = vec![0.0; n_features];
        let mut trees = Vec::with_capacity(grown.len());
        for grown in grown {
            let (tree, of_tree) = grown?;
            gains.iter_mut().zip(of_tree).for_each(|(sum, gain)| *sum += gain);
            trees.push(tree);
        }
        let bags = Self { forest: Forest::from_parts(params, data.schema.n_classes(), trees, None, gains) };
        let left_out = bags.left_out(data, &halves, par);
        Ok((bags, left_out))
    }

    /// The shares of each row in the trees whose bag left it out; those of all where every bag holds it.
    fn left_out(&self, data: &Dataset, halves: &[Vec<u8>], par: &Par) -> Array2<f64> {
        let (n, n_classes) = (data.n_rows(), data.schema.n_classes());
        let mut out = Array2::zeros((n, n_classes));
        par.for_chunks(out.as_slice_mut().unwrap_or_default(), BLOCK * n_classes.max(1), |block, out| {
            let first = block * BLOCK;
            let x = data.features.to_array(first..first + out.len() / n_classes);
            let members = self.forest.predict_members_impl(x.view(), &Par::sequential());
            for (i, out) in out.chunks_mut(n_classes).enumerate() {
                let is_out = |bag: &usize| halves[*bag][first + i] == 0;
                let mut bags: Vec<usize> = (0..halves.len()).filter(is_out).collect();
                if bags.is_empty() {
                    bags = (0..halves.len()).collect();
                }
                for tree in bags.iter().flat_map(|bag| bag * TREES..(bag + 1) * TREES) {
                    out.iter_mut().enumerate().for_each(|(class, out)| *out += members[(tree, i, class)]);
                }
                let n_trees = (bags.len() * TREES) as f64;
                out.iter_mut().for_each(|out| *out /= n_trees);
            }
        });
        out
    }

    /// The shares of a block of rows.
    pub(super) fn shares(&self, x: ArrayView2<'_, f32>) -> Shares {
        spread(self.forest.predict_members_impl(x, &Par::sequential()).view(), TREES)
    }

    /// For each column the share of all impurity removed that its splits removed.
    pub(super) fn importances(&self) -> Vec<f64> {
        self.forest.impurity_importances()
    }

    /// Fails unless what was read fits the schema.
    pub(super) fn complete(&mut self, schema: &Schema) -> Result<()> {
        self.forest.check(schema)?;
        let n_trees = self.forest.trees().len();
        require(n_trees == N_BAGS * TREES, || format!("{n_trees} trees in bags"))
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        self.forest.bytes()
    }
}

/// How often each row is in a bag: a half of the rows once.
fn half(n: usize, seed: u64, bag: usize) -> Vec<u8> {
    let mut times = vec![0; n];
    let places = Rng::new(seed, Purpose::Bag, bag as u64).sample(n, n.div_ceil(2));
    match places {
        Some(places) => places.into_iter().for_each(|row| times[row] = 1),
        None => times.fill(1),
    }
    times
}

/// Mean and variance of members (trees, rows, classes), so many of each bag: the variance of the means of bags, less that which comes from
/// having so few trees in a bag.
fn spread(members: ArrayView3<'_, f64>, per_bag: usize) -> Shares {
    let (n_members, n_rows, n_classes) = members.dim();
    let n_bags = (n_members / per_bag.max(1)).max(1);
    let mut shares =
        Shares { mean: Array2::zeros((n_rows, n_classes)), variance: Array2::zeros((n_rows, n_classes)) };
    let count = per_bag as f64;
    for row in 0..n_rows {
        for class in 0..n_classes {
            let (mut sum, mut squares, mut within) = (0.0, 0.0, 0.0);
            for bag in 0..n_bags {
                let of = |tree: usize| members[(bag * per_bag + tree, row, class)];
                let mean = (0..per_bag).map(of).sum::<f64>() / count;
                let deviations: f64 = (0..per_bag).map(|tree| (of(tree) - mean) * (of(tree) - mean)).sum();
                sum += mean;
                squares += mean * mean;
                within += deviations / (count - 1.0).max(1.0);
            }
            let n = n_bags as f64;
            let mean = sum / n;
            let between = f64::max(squares - n * mean * mean, 0.0) / (n - 1.0).max(1.0);
            shares.mean[(row, class)] = mean;
            shares.variance[(row, class)] = f64::max(between - within / n / count, 0.0);
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use hedgerow_core::testing::blobs;
    use ndarray::array;

    use super::*;

    #[test]
    fn variances_by_hand() {
        // Two bags of two trees: means 0.3 and 0.6, variances within 0.02 and 0.08.
        let members = array![[[0.2]], [[0.4]], [[0.4]], [[0.8]]];
        let shares = spread(members.view(), 2);
        assert!((shares.mean[(0, 0)] - 0.45).abs() < 1e-15);
        assert!((shares.variance[(0, 0)] - (0.045 - 0.05 / 2.0)).abs() < 1e-15);
        let alike = array![[[0.0]], [[1.0]], [[0.0]], [[1.0]]];
        assert_eq!(spread(alike.view(), 2).variance[(0, 0)], 0.0, "never below 0");
    }

    #[test]
    fn halves_are_halves_and_rows_are_predicted_without_themselves() {
        let data = blobs(301, 3, 2, 4);
        for bag in 0..3 {
            assert_eq!(half(301, 5, bag).iter().filter(|times| **times == 1).count(), 151);
        }
        assert_ne!(half(301, 5, 0), half(301, 5, 1));
        let (bags, left_out) = Bags::grow(&data, 5, &Par::sequential()).unwrap();
        let again = Bags::grow(&data, 5, &Par::new(2).unwrap()).unwrap();
        assert!(bags == again.0 && left_out == again.1, "threads change nothing");
        // Row 7 by hand.
        let out: Vec<usize> = (0..N_BAGS).filter(|bag| half(301, 5, *bag)[7] == 0).collect();
        let members =
            bags.forest.predict_members_impl(data.features.to_array(7..8).view(), &Par::sequential());
        let trees = out.iter().flat_map(|bag| bag * TREES..(bag + 1) * TREES);
        let sum: f64 = trees.map(|tree| members[(tree, 0, 1)]).sum();
        assert!((left_out[(7, 1)] - sum / (out.len() * TREES) as f64).abs() < 1e-12);
        assert!(left_out.rows().into_iter().all(|row| (row.sum() - 1.0).abs() < 1e-9));
        assert_eq!(bags.importances().len(), 3);
    }
}
