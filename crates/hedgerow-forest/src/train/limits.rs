//! Keeping to a number of bytes.

use std::sync::Arc;

use hedgerow_core::{Budget, Dataset, Error, Result};

use super::oob::Tally;
use crate::bag::Bagging;
use crate::params::ForestParams;
use crate::tree::Tree;

/// Watches the bytes.
pub(super) struct Limiter {
    /// Bytes for trees; none if there is no limit.
    for_trees: Option<u64>,
    threads: usize,
    /// Whether out-of-bag tables fit.
    pub(super) oob_fits: bool,
    /// Whether what prediction sets are made from fits beside them.
    pub(super) sets_fit: bool,
}

impl Limiter {
    /// Sets working space aside; fails if nothing is left for trees.
    pub(super) fn new(
        budget: &Budget,
        data: &Dataset,
        params: &ForestParams,
        threads: usize,
    ) -> Result<Self> {
        let n_rows = data.n_rows() as u64;
        let n_classes = data.schema.n_classes();
        let values = n_rows * data.schema.n_features() as u64;
        let is_bytes = matches!(data.features, hedgerow_core::Features::Bytes { .. });
        // Codes, their tables and the sorting of columns; class order and classes.
        let tables = 4 * n_rows.min(u64::from(u16::MAX)) * data.schema.n_features() as u64;
        let codes = if is_bytes { 0 } else { 2 * values + tables + 8 * n_rows * threads as u64 };
        let shared = codes + n_rows * (4 + 2);
        // For each thread the bag (rows, rows set aside, how often, votes), and the rows a search looks at.
        let bag = if params.bagging == Bagging::Bootstrap { 14 * n_rows / 10 } else { n_rows };
        let looked_at = if params.sample_rows == 0 { 48 * bag } else { 0 };
        let each = bag * (4 + 4 + 1 + 8) + looked_at + (1 << 20);
        let working = shared + each * threads as u64;
        let leaves_rows_out = params.bagging != Bagging::All;
        let oob = if leaves_rows_out { Tally::bytes(data.n_rows(), n_classes, params) } else { 0 };
        // A copy of the model is made from a copy of the tables.
        let times = 1 + budget.copies.min(1);
        let sets = times * Tally::set_bytes(data.n_rows(), n_classes, params);
        let Some(limit) = budget.bytes else {
            return Ok(Self { for_trees: None, threads, oob_fits: true, sets_fit: true });
        };
        let left = limit.saturating_sub(working);
        let oob_fits = oob < left / 2 || params.patience > 0;
        let left = left.saturating_sub(if oob_fits { times * oob } else { 0 });
        let sets_fit = leaves_rows_out && oob_fits && sets < left / 4;
        let left = left.saturating_sub(if sets_fit { sets } else { 0 });
        if left < 64 << 10 {
            return Err(Error::BudgetTooSmall {
                what: "growing a tree".into(),
                needed: format!("{:.1} MB beside the data", (limit - left + (64 << 10)) as f64 / 1e6),
                limit: format!("{:.1} MB", limit as f64 / 1e6),
            });
        }
        Ok(Self { for_trees: Some(left / (1 + budget.copies)), threads, oob_fits, sets_fit })
    }

    /// Whether bytes must be counted often. (Trees look at the clock themselves.)
    pub(super) fn is_tight(&self) -> bool {
        self.for_trees.is_some()
    }

    /// How many more trees of the size of those so far still fit; none if not one.
    pub(super) fn affordable(&self, trees: &[Arc<Tree>]) -> Option<usize> {
        let Some(limit) = self.for_trees else { return Some(usize::MAX) };
        if trees.is_empty() {
            return Some(1);
        }
        let used: u64 = trees.iter().map(|t| t.bytes() as u64).sum();
        let largest = trees.iter().map(|t| t.bytes() as u64).max().unwrap_or(1);
        // While a tree grows its arrays may be twice as long as they end up.
        let fits = limit.saturating_sub(used) / (2 * largest);
        (fits > 0).then_some(fits as usize)
    }

    /// Bytes that one of the trees grown side by side may take.
    pub(super) fn bytes_for_a_tree(&self, trees: &[Arc<Tree>]) -> usize {
        let Some(limit) = self.for_trees else { return usize::MAX };
        let used: u64 = trees.iter().map(|t| t.bytes() as u64).sum();
        let side_by_side = if trees.is_empty() { 1 } else { self.threads as u64 };
        (limit.saturating_sub(used) / side_by_side / 2) as usize
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::{ClassId, Features, Schema};

    use super::*;

    /// A table of numbers that are no bytes, of which so many columns vary.
    fn table(n_columns: usize, n_varying: usize) -> Dataset {
        let value = |(row, column): (usize, usize)| {
            if column < n_varying { (row * (column + 3)) as f32 / 7.0 } else { 0.5 }
        };
        let x = ndarray::Array2::from_shape_fn((5_000, n_columns), value);
        let mut schema = Schema::unnamed(n_columns);
        schema.labels = vec!["a".to_string(), "b".into()].into();
        let labels: Vec<ClassId> = (0..5_000).map(|row| ClassId(row % 2)).collect();
        Dataset::new(schema, Features::from_view(x.view()), labels, None).unwrap()
    }

    /// Codes take two bytes a value, of columns that vary too: what is left for trees shrinks by that at least.
    #[test]
    fn codes_of_every_column_are_set_aside() {
        let budget = Budget { bytes: Some(1 << 30), ..Budget::open() };
        let left = |data: &Dataset| {
            Limiter::new(&budget, data, &ForestParams::default(), 1).unwrap().for_trees.unwrap()
        };
        for n_varying in [0, 10, 110] {
            let (few, many) = (left(&table(10, n_varying.min(10))), left(&table(110, n_varying)));
            assert!(few - many >= 2 * 5_000 * 100, "{n_varying} columns that vary: {few} and {many} left");
        }
    }
}
