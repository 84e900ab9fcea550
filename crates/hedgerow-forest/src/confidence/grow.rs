//! Growing trees from rows and background rows.

use hedgerow_core::background::Background;
use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{ClassId, Dataset, LabelTable, Params as _, Progress, Result, Schema, Training};
use ndarray::Array2;

use super::{BACKGROUND, in_trees};
use crate::bag::Bagging;
use crate::grow::add_gains;
use crate::params::{ClassWeights, ForestParams};
use crate::train::{TreeBuilder, class_weights};
use crate::tree::Tree;

/// How far the range of a number is widened on each side, in deviations: so far that a row beyond all others shares its leaf with background rows alone.
const MARGIN: f64 = 1.5;

/// Rows that trees are grown from.
pub(super) struct Grower<'a> {
    pub(super) data: &'a Dataset,
    pub(super) params: &'a ForestParams,
    background: Background,
    /// What each row counts, times what its class counts; none where all count 1.
    weights: Option<Vec<f32>>,
    /// The schema of rows and background rows.
    schema: Schema,
}

/// Grown trees, and what those that left a row out say of it.
pub(super) struct Growth {
    pub(super) trees: Vec<Tree>,
    pub(super) gains: Vec<f64>,
    /// The summed shares of each class in the leaves of a row.
    pub(super) shares: Array2<f64>,
    /// How many trees left it out.
    pub(super) n_votes: Vec<u32>,
}

/// One tree.
struct Grown {
    tree: Tree,
    gains: Vec<f64>,
    /// The rows that it left out, each with the shares of the classes in its leaf.
    left_out: Vec<(usize, Vec<(usize, f64)>)>,
}

impl<'a> Grower<'a> {
    pub(super) fn new(data: &'a Dataset, params: &'a ForestParams) -> Result<Self> {
        let of_class = class_weights(data, params)?;
        let is_plain = data.weights.is_none() && of_class.iter().all(|weight| *weight == 1.0);
        let weight = |(row, class): (usize, &ClassId)| {
            data.weights.as_ref().map_or(1.0, |weights| weights[row]) * of_class[class.index()] as f32
        };
        let weights = (!is_plain).then(|| data.labels().iter().enumerate().map(weight).collect());
        let names: Vec<String> = (0..=data.schema.n_classes()).map(|class| class.to_string()).collect();
        let schema = Schema { labels: LabelTable::from(names), ..data.schema.clone() };
        let background = Background::around(&data.schema, &data.features, MARGIN);
        Ok(Self { data, params, background, weights, schema })
    }

    pub(super) fn n_trees(&self) -> usize {
        self.params.n_trees
    }

    /// What a row counts.
    pub(super) fn weight(&self, row: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| f64::from(weights[row]))
    }

    /// The summed weights of the rows of each class.
    pub(super) fn class_weights(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.data.schema.n_classes()];
        self.data
            .labels()
            .iter()
            .enumerate()
            .for_each(|(row, class)| sums[class.index()] += self.weight(row));
        sums
    }

    /// Grows so many trees with leaves of `leaf_rows` rows at least, each with so many background rows of its own. The first tree is always
    /// grown; once the budget is spent, there are no more.
    pub(super) fn grow(
        &self,
        leaf_rows: usize,
        n_background: usize,
        n_trees: usize,
        training: &Training<'_>,
    ) -> Result<Growth> {
        let (n, n_classes) = (self.data.n_rows(), self.data.schema.n_classes());
        let mut growth = Growth {
            trees: Vec::with_capacity(n_trees),
            gains: vec![0.0; self.data.schema.n_features()],
            shares: Array2::zeros((n, n_classes)),
            n_votes: vec![0; n],
        };
        let together = training.par.threads().max(1);
        while growth.trees.len() < n_trees.max(1) {
            let first = growth.trees.len();
            if first > 0 && training.budget.spent().is_some() {
                break;
            }
            training.observer.progress(Progress { done: first, total: Some(n_trees), accuracy: None });
            let wanted = together.min(n_trees.max(1) - first);
            let grown =
                training.par.map(wanted, |at| self.tree(leaf_rows, n_background, first + at, training));
            for grown in grown {
                let Grown { tree, gains, left_out } = grown?;
                add_gains(&mut growth.gains, &gains);
                for (row, shares) in left_out {
                    growth.n_votes[row] += 1;
                    shares.into_iter().for_each(|(class, share)| growth.shares[(row, class)] += share);
                }
                growth.trees.push(tree);
            }
        }
        Ok(growth)
    }

    /// The tree of a number.
    fn tree(
        &self,
        leaf_rows: usize,
        n_background: usize,
        number: usize,
        training: &Training<'_>,
    ) -> Result<Grown> {
        let (n, seed) = (self.data.n_rows(), self.params.seed);
        let times = self.bag(number);
        let rows: Vec<usize> =
            (0..n).flat_map(|row| std::iter::repeat_n(row, usize::from(times[row]))).collect();
        // The bag is a part of the rows, and so are its background rows of all background rows.
        let n_background = libm::round(n_background as f64 * rows.len() as f64 / n as f64) as usize;
        let table = self.with_background(&rows, n_background, number)?;
        let params = ForestParams {
            confidence: false,
            min_leaf_rows: leaf_rows,
            min_split_rows: self.params.min_split_rows.max(2 * leaf_rows),
            bagging: Bagging::All,
            learn_left_out: false,
            class_weights: ClassWeights::None,
            patience: 0,
            seed: Rng::new(seed, Purpose::Tree, number as u64).next_u64(),
            ..self.params.clone()
        };
        let present = table.class_counts().iter().filter(|count| **count > 0).count();
        let (tree, gains) = if present > 1 {
            let grown = TreeBuilder::new(&table, &params.check()?, &training.par.alone())?;
            let grown = grown.grow(0, &hedgerow_core::Budget::open(), usize::MAX, false);
            (grown.tree, grown.gains)
        } else {
            (single_leaf(&table), vec![0.0; self.data.schema.n_features()])
        };
        let mut row = vec![0.0; self.data.schema.n_features()];
        let of_row = |number: usize| {
            self.data.features.copy_rows(number..number + 1, &mut row);
            (number, shares(&tree, &row))
        };
        let left_out = (0..n).filter(|&row| times[row] == 0).map(of_row).collect();
        Ok(Grown { tree, gains, left_out })
    }

    /// How often each row is in the bag of a tree; rows of weight 0 are in none.
    fn bag(&self, number: usize) -> Vec<u8> {
        let n = self.data.n_rows();
        let mut times =
            self.params.bagging.draw(n, &mut Rng::new(self.params.seed, Purpose::Bag, number as u64));
        (0..n).filter(|&row| self.weight(row) == 0.0).for_each(|row| times[row] = 0);
        if times.iter().all(|&times| times == 0) {
            (0..n).for_each(|row| times[row] = u8::from(self.weight(row) > 0.0));
        }
        times
    }

    /// Rows and background rows, which count as much as the mean of the rows.
    fn with_background(&self, rows: &[usize], n_background: usize, number: usize) -> Result<Dataset> {
        let mut features = self.data.features.select(rows);
        let mut rng = Rng::new(self.params.seed, Purpose::Data, number as u64);
        let mut row = vec![0.0; self.data.schema.n_features()];
        for _ in 0..n_background {
            self.background.draw(&mut rng, &mut row);
            features.push(&row);
        }
        let real = rows.iter().map(|&row| ClassId(in_trees(self.data.labels()[row]) as u32));
        let labels = real.chain(std::iter::repeat_n(ClassId(BACKGROUND as u32), n_background));
        let weights = self.weights.as_ref().map(|all| {
            let mut weights: Vec<f32> = rows.iter().map(|&row| all[row]).collect();
            let mean = weights.iter().sum::<f32>() / weights.len().max(1) as f32;
            weights.resize(rows.len() + n_background, mean);
            weights
        });
        Dataset::new(self.schema.clone(), features, labels.collect::<Vec<_>>(), weights)
    }
}

/// A tree that is nothing but a leaf of all rows.
fn single_leaf(table: &Dataset) -> Tree {
    let mut weights = vec![0.0; table.schema.n_classes()];
    for (row, class) in table.labels().iter().enumerate() {
        weights[class.index()] += table.weights.as_ref().map_or(1.0, |weights| f64::from(weights[row]));
    }
    let present: Vec<(usize, f64)> =
        weights.into_iter().enumerate().filter(|(_, weight)| *weight > 0.0).collect();
    let mut tree = Tree::default();
    let leaf = tree.add_leaf(&present);
    tree.set_link(None, leaf);
    tree
}

/// The shares of classes in the leaf of a row, without that of background rows.
pub(super) fn shares(tree: &Tree, row: &[f32]) -> Vec<(usize, f64)> {
    let weights = tree.leaf_weights(tree.leaf(row));
    let total: f64 = weights.iter().map(|(_, weight)| weight).sum();
    let real = weights.into_iter().filter(|(class, weight)| *class != BACKGROUND && *weight > 0.0);
    real.map(|(class, weight)| (class - 1, weight / total)).collect()
}

/// A part of a data set's rows.
pub(super) fn some_of(data: &Dataset, most: usize, seed: u64) -> Option<Dataset> {
    let drawn = Rng::new(seed, Purpose::Validation, 11).sample(data.n_rows(), most)?;
    Some(data.select(&drawn))
}
