//! Where a tree of a forest grows: the same for all of them, but for their numbers.

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{Budget, Dataset};

use crate::codes::{CodeMatrix, Codes, Turned};
use crate::grow::{Ground, Grown, Matrix, grow};
use crate::params::ForestParams;

/// All that a tree needs.
pub(super) struct Stand<'a> {
    pub(super) data: &'a Dataset,
    pub(super) params: &'a ForestParams,
    pub(super) codes: &'a Codes<'a>,
    pub(super) turned: &'a Turned,
    pub(super) constant: &'a [u32],
    pub(super) by_class: &'a [u32],
    pub(super) classes: &'a [u16],
    pub(super) class_weights: &'a [f64],
    pub(super) budget: &'a Budget,
    pub(super) max_bytes: usize,
    pub(super) judge: bool,
}

impl Stand<'_> {
    /// Grows the tree of a number.
    pub(super) fn grow(&self, index: usize) -> Grown {
        let seed = self.params.seed;
        let mut times =
            self.params.bagging.draw(self.data.n_rows(), &mut Rng::new(seed, Purpose::Bag, index as u64));
        if self.by_class.iter().all(|&row| times[row as usize] == 0) {
            // A bag in which no row counts: such a tree takes all rows that do.
            self.by_class.iter().for_each(|&row| times[row as usize] = 1);
        }
        let ground = Ground {
            columns: &self.codes.columns,
            constant: self.constant,
            by_class: self.by_class,
            classes: self.classes,
            row_weights: self.data.weights.as_deref(),
            class_weights: self.class_weights,
            params: self.params,
            budget: self.budget,
            max_bytes: self.max_bytes,
            judge: self.judge,
            learn: self.params.learn_left_out && self.params.bagging.is_most_of(self.data.n_rows()),
            tell_leaves: false,
            noise: 0.0,
        };
        let rng = Rng::new(seed, Purpose::Tree, index as u64);
        let room = self.data.n_rows();
        match (&self.codes.matrix, self.turned) {
            (CodeMatrix::Bytes(by_row), Turned::Bytes(by_column)) => {
                grow(&ground, Matrix { by_row, by_column, room }, &times, rng)
            }
            (CodeMatrix::Bytes(by_row), _) => grow(&ground, Matrix::of_rows(by_row), &times, rng),
            (CodeMatrix::Words(by_row), Turned::Words(by_column)) => {
                grow(&ground, Matrix { by_row, by_column, room }, &times, rng)
            }
            (CodeMatrix::Words(by_row), _) => grow(&ground, Matrix::of_rows(by_row), &times, rng),
        }
    }
}
