//! One tree of a run: its leaves, and how far they have been trained.

use std::cmp::Reverse;
use std::sync::Arc;

use super::super::leaf::{Leaf, Trained};
use super::super::placement::PlacedTree;
use super::rows::TrainingRows;

/// Work of a slice: multiplications, about. Leaves of 200 rows and 784 columns take 40 million each.
const WORK: u64 = 200_000_000;

/// A tree by its number.
pub(super) enum Slot {
    /// To be grown.
    Open,
    /// A step of this lane is growing it.
    Growing(usize),
    /// It will not be grown.
    Lost,
    Grown(Box<TreeState>),
}

/// A grown tree.
pub(super) struct TreeState {
    pub(super) placed: Arc<PlacedTree>,
    /// The GP of each leaf that has been trained.
    pub(super) trained: Vec<Option<Trained>>,
    /// Leaves that are to be trained; the next one is the last.
    pub(super) open: Vec<u32>,
    /// Leaves that a step is training.
    pub(super) n_in_training: usize,
    /// Leaves of more than one class.
    pub(super) n_mixed: usize,
    /// Rows of each leaf whose leave-one-out scores are largest for their own class.
    n_right: Vec<usize>,
    n_rows: usize,
    pub(super) bytes: usize,
}

impl Slot {
    pub(super) fn grown(&self) -> Option<&TreeState> {
        if let Self::Grown(state) = self { Some(state) } else { None }
    }

    pub(super) fn grown_mut(&mut self) -> Option<&mut TreeState> {
        if let Self::Grown(state) = self { Some(state) } else { None }
    }
}

impl TreeState {
    /// No leaf has been trained.
    pub(super) fn new(placed: PlacedTree, rows: &TrainingRows) -> Self {
        let (labels, leaves) = (rows.data.labels(), &placed.leaves);
        let by_frequency = |leaf: &Leaf| leaf.loo_frequencies(rows.params.fusion, labels);
        let n_right = leaves.iter().map(|leaf| leaf.n_right(&by_frequency(leaf), labels)).collect();
        let mut open: Vec<u32> = (0..leaves.len() as u32).collect();
        open.retain(|leaf| !leaves[*leaf as usize].is_pure());
        // The leaf whose most frequent class is wrong about most rows comes first.
        let n_wrong = |leaf: &u32| {
            let counts = || leaves[*leaf as usize].counts.iter().map(|(_, n)| *n);
            counts().sum::<u32>() - counts().max().unwrap_or(0)
        };
        open.sort_by_key(|leaf| (n_wrong(leaf), Reverse(*leaf)));
        Self {
            trained: vec![None; leaves.len()],
            n_mixed: open.len(),
            open,
            n_in_training: 0,
            n_right,
            n_rows: labels.len(),
            bytes: placed.subtree.bytes() + leaves.iter().map(Leaf::bytes).sum::<usize>(),
            placed: Arc::new(placed),
        }
    }

    /// Takes the next leaves out: enough for a slice, or all.
    pub(super) fn take_open(&mut self, is_slice: bool, n_columns: usize) -> Vec<u32> {
        let (mut taken, mut work) = (Vec::new(), 0);
        while !(is_slice && work >= WORK)
            && let Some(leaf) = self.open.pop()
        {
            let own = &self.placed.leaves[leaf as usize];
            let (n, classes) = (own.rows.len() as u64, own.counts.len() as u64);
            work += n * n * (n + n_columns as u64 + 10 * classes);
            taken.push(leaf);
        }
        self.n_in_training += taken.len();
        taken
    }

    /// Takes in a trained leaf.
    pub(super) fn add(&mut self, leaf: u32, trained: Trained) {
        self.bytes += trained.gp.bytes() + 8 * trained.loo.len();
        self.n_right[leaf as usize] = trained.n_right;
        self.trained[leaf as usize] = Some(trained);
    }

    pub(super) fn is_done(&self) -> bool {
        self.open.is_empty() && self.n_in_training == 0
    }

    /// Leaves that have been trained or need no GP.
    pub(super) fn n_done(&self) -> usize {
        self.n_mixed.saturating_sub(self.open.len() + self.n_in_training)
    }

    /// The share of rows whose leave-one-out scores are right.
    pub(super) fn accuracy(&self) -> f64 {
        self.n_right.iter().sum::<usize>() as f64 / self.n_rows.max(1) as f64
    }
}
