//! Rows made ready for trees, and the growth of one tree from them: the same for all trees of a forest, but for their numbers.

use hedgerow_core::error::check_shapes;
use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{Budget, Checked, DataProblem, Dataset, Par, Result, Task};

use super::class_weights;
use super::oob::Tally;
use crate::codes::{CodeMatrix, Codes};
use crate::grow::{Grown, GrowthInput, grow};
use crate::params::ForestParams;
use crate::tree::Tree;

/// Grows the trees of a forest, in any order and on any thread: same number, same tree.
pub struct TreeBuilder {
    pub(super) data: Dataset,
    pub(super) params: ForestParams,
    pub(super) class_weights: Vec<f64>,
    codes: Codes,
    by_class: Vec<u32>,
    classes: Vec<u16>,
    /// Prediction sets are made from every so many rows; 0 if they are not.
    pub(super) set_stride: usize,
}

impl TreeBuilder {
    /// Encodes the rows.
    pub fn new(data: &Dataset, params: &Checked<ForestParams>, par: &Par) -> Result<Self> {
        Self::with_layout(data, params.get(), false, par)
    }

    /// The same; where memory is short, without the copy by column that makes searches faster.
    pub(super) fn with_layout(
        data: &Dataset,
        params: &ForestParams,
        is_tight: bool,
        par: &Par,
    ) -> Result<Self> {
        data.check_trainable(Task::Classification)?;
        let n_rows = data.n_rows();
        if n_rows > u32::MAX as usize {
            return Err(DataProblem::TooManyRows { got: n_rows, most: u32::MAX as usize }.into());
        }
        let class_weights = class_weights(data, params)?;
        let counts = |&row: &u32| {
            let row = row as usize;
            class_weights[data.labels()[row].index()] > 0.0
                && data.weights.as_ref().is_none_or(|w| w[row] > 0.0)
        };
        let mut by_class: Vec<u32> = (0..n_rows as u32).filter(counts).collect();
        by_class.sort_by_key(|&row| data.labels()[row as usize]);
        let label = |row: Option<&u32>| row.map(|&row| data.labels()[row as usize]);
        if label(by_class.first()) == label(by_class.last()) {
            return Err(DataProblem::NoWeight.into());
        }
        Ok(Self {
            codes: Codes::new(data, !is_tight, par),
            by_class,
            classes: data.labels().iter().map(|c| c.0 as u16).collect(),
            set_stride: Tally::set_stride(n_rows, data.schema.n_classes()),
            class_weights,
            params: params.clone(),
            data: data.clone(),
        })
    }

    /// The tree of a number.
    pub fn tree(&self, number: usize) -> Tree {
        self.grow(number, &Budget::open(), usize::MAX, false).tree
    }

    /// The weight of a row, and the same times that of its class.
    pub(super) fn weights(&self, row: usize) -> [f64; 2] {
        let of_row = self.data.weights.as_ref().map_or(1.0, |w| f64::from(w[row]));
        [of_row, of_row * self.class_weights[self.data.labels()[row].index()]]
    }

    /// The tree of a number from a bag of the caller's, which tells how often each row is in it, and for each column how much impurity its splits
    /// removed. What the bag leaves out is not learnt. Fails unless the bag is of as many rows as there are.
    pub fn tree_of_bag(&self, number: usize, bag: &[u8]) -> Result<(Tree, Vec<f64>)> {
        check_shapes([("rows of the bag", self.data.n_rows(), bag.len())])?;
        let grown = self.grow_bag(number, bag.to_vec(), (&Budget::open(), usize::MAX), false, false);
        Ok((grown.tree, grown.gains))
    }

    /// Grows the tree of a number, of so many bytes at most.
    pub(crate) fn grow(&self, number: usize, budget: &Budget, max_bytes: usize, votes: bool) -> Grown {
        let (params, n_rows) = (&self.params, self.data.n_rows());
        let mut bag_rng = Rng::new(params.seed, Purpose::Bag, number as u64);
        let times = params.bagging.draw(n_rows, &mut bag_rng);
        let learn = params.learn_left_out && params.bagging.is_most_of(n_rows);
        self.grow_bag(number, times, (budget, max_bytes), votes, learn)
    }

    fn grow_bag(
        &self,
        number: usize,
        mut times: Vec<u8>,
        (budget, max_bytes): (&Budget, usize),
        votes: bool,
        learn: bool,
    ) -> Grown {
        let params = &self.params;
        if self.by_class.iter().all(|&row| times[row as usize] == 0) {
            // A bag in which no row counts: such a tree takes all rows that do.
            self.by_class.iter().for_each(|&row| times[row as usize] = 1);
        }
        let input = GrowthInput {
            columns: &self.codes.columns,
            constant: &self.codes.constant,
            by_class: &self.by_class,
            classes: &self.classes,
            row_weights: self.data.weights.as_deref(),
            class_weights: &self.class_weights,
            params,
            budget,
            max_bytes,
            votes_for_left_out: votes,
            set_stride: if votes { self.set_stride } else { 0 },
            learn,
            tell_leaves: false,
            noise: 0.0,
        };
        let rng = Rng::new(params.seed, Purpose::Tree, number as u64);
        match &self.codes.matrix {
            CodeMatrix::Bytes(table) => grow(&input, table.matrix(), &times, rng),
            CodeMatrix::Words(table) => grow(&input, table.matrix(), &times, rng),
        }
    }
}
