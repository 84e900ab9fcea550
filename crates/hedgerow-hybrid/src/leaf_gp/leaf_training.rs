//! The training of many leaves, within limits of time and memory.

use std::cmp::Reverse;
use std::sync::atomic::{AtomicUsize, Ordering};

use hedgerow_core::{Budget, ClassId, Error, Progress, Result, Training};
use ndarray::ArrayView2;

use super::kernel::LeafKernel;
use super::leaf::{Leaf, Trained};
use super::params::LeafGpParams;

/// Bytes that a leaf GP takes for the square of each row while it is trained.
const BYTES_A_PAIR: u64 = 40;
/// Fewest rows of a leaf GP that memory must suffice for.
const LEAST_ROWS: usize = 20;

/// What leaves are trained with.
#[derive(Clone, Copy)]
pub(super) struct LeafTraining<'a> {
    pub(super) params: &'a LeafGpParams,
    pub(super) kernel: LeafKernel,
    /// All prepared rows.
    pub(super) x: ArrayView2<'a, f32>,
    pub(super) labels: &'a [ClassId],
    pub(super) n_classes: usize,
    pub(super) n_trees: usize,
    /// Rows of the largest leaf.
    pub(super) largest: usize,
}

/// What came of the training of a leaf.
pub(super) enum Outcome {
    Trained(Trained),
    /// The leaf needs no GP, or numbers fail it.
    NoGp,
    /// The budget was spent.
    Untried,
}

impl LeafTraining<'_> {
    /// Trains leaves, given with their numbers, side by side as far as memory allows.
    pub(super) fn train(&self, leaves: &[(&Leaf, usize)], training: &Training<'_>) -> Result<Vec<Outcome>> {
        let (most_rows, n_jobs) = self.room(training.budget, training.par.threads())?;
        let done = AtomicUsize::new(0);
        let one = |place: usize| {
            let (leaf, number) = leaves[place];
            if training.budget.spent().is_some() {
                return Outcome::Untried;
            }
            let trained = leaf.train(self, most_rows, self.params.seed ^ number as u64);
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            if done.is_multiple_of(16) {
                training.observer.progress(Progress { done, total: Some(leaves.len()), accuracy: None });
            }
            trained.map_or(Outcome::NoGp, Outcome::Trained)
        };
        // The largest first, so that no thread is left with one of them at the end.
        let mut order: Vec<usize> = (0..leaves.len()).collect();
        order.sort_by_key(|&place| Reverse(leaves[place].0.rows.len()));
        let alone = training.par.alone();
        let par = if n_jobs >= training.par.threads() { training.par } else { &alone };
        let outcomes = par.map(order.len(), |i| one(order[i]));
        let mut outcomes: Vec<(usize, Outcome)> = order.into_iter().zip(outcomes).collect();
        outcomes.sort_by_key(|(place, _)| *place);
        Ok(outcomes.into_iter().map(|(_, outcome)| outcome).collect())
    }

    /// Most rows of a leaf GP, and how many may be trained at a time.
    fn room(&self, budget: &Budget, threads: usize) -> Result<(usize, usize)> {
        let most = self.params.leaf_rows;
        let Some(limit) = budget.bytes else { return Ok((most, threads)) };
        let of_scores = (self.n_trees * self.x.nrows()) as u64 * (2 * self.n_classes as u64 + 1);
        let fixed = 4 * (self.x.len() as u64 + of_scores);
        let left = limit.saturating_sub(fixed);
        let needed = |rows: usize| BYTES_A_PAIR * (rows as u64).pow(2) + 8 * (rows * self.x.ncols()) as u64;
        let largest = self.largest.min(most);
        let n_jobs = (left / needed(largest).max(1)) as usize;
        if n_jobs >= 1 {
            return Ok((most, n_jobs));
        }
        let fits = (1..=largest).rev().find(|&rows| needed(rows) <= left).unwrap_or(0);
        if fits >= LEAST_ROWS {
            return Ok((fits, 1));
        }
        let (n_trees, n_rows) = (self.params.n_trees, self.x.nrows());
        let what = format!("{n_trees} trees over {n_rows} rows with GPs in their leaves");
        Err(Error::too_few_bytes(what, fixed + needed(LEAST_ROWS), limit))
    }
}
