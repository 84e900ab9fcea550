//! The shares of a budget: half of the time and memory for the forest, the rest for the GP over it.

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{Budget, Error, Result, Schema};

use super::leaves::Leaves;
use super::params::{ForestKernelParams, KernelLearner};
use super::sparse::MOST_CANDIDATES;

/// Fewest rows that a GP is trained on where memory is short.
const LEAST_ROWS: u64 = 100;

/// Half of the time and memory that are left.
pub(super) fn half(budget: &Budget) -> Budget {
    Budget { bytes: budget.bytes.map(|bytes| bytes / 2), ..budget.half_of_time() }
}

/// Bytes that the training of a GP takes: for each row, and beside that.
pub(super) fn bytes_needed(params: &ForestKernelParams, schema: &Schema) -> [u64; 2] {
    let (n_trees, n_classes) = (params.forest.n_trees.max(1), schema.n_classes().max(2));
    // Leaves, five tables of labels, the scores of leaves (a leaf for every other row and tree), and a copy of the row.
    let of_scores = n_trees * (8 + 8 * n_classes) / 2;
    let of_row = Leaves::bytes_a_row(n_trees) + 40 * n_classes + of_scores + 4 * schema.n_features();
    let of_choice = if params.learner == KernelLearner::Ivm {
        let n_union = (params.n_active * n_classes).min(MOST_CANDIDATES);
        16 * MOST_CANDIDATES * MOST_CANDIDATES + 24 * n_union * n_union
    } else {
        0
    };
    [of_row as u64, of_choice as u64]
}

/// Rows that a GP may be trained on in half of the memory.
pub(super) fn most_rows(params: &ForestKernelParams, schema: &Schema, budget: &Budget) -> Result<usize> {
    let Some(limit) = budget.bytes else { return Ok(usize::MAX) };
    let [of_row, fixed] = bytes_needed(params, schema);
    let most = (limit / 2).saturating_sub(fixed) / of_row;
    if most >= LEAST_ROWS {
        return Ok(usize::try_from(most).unwrap_or(usize::MAX));
    }
    let what = format!("a GP with the kernel of {} trees (n_trees)", params.forest.n_trees);
    Err(Error::too_few_bytes(what, 2 * (fixed + LEAST_ROWS * of_row), limit))
}

/// At most so many rows, drawn at random, in rising order; none if they are all.
pub(super) fn draw_rows(n_rows: usize, most: usize, seed: u64) -> Option<Vec<usize>> {
    Rng::new(seed, Purpose::Sample, 10).sample(n_rows, most)
}
