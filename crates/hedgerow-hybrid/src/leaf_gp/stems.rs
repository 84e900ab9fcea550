//! The trees: which leaf a row falls into.
//!
//! A tree begins as one that a forest grew. A leaf that is split later becomes a small tree of its own behind the first; each such
//! piece is a [`Bed`], and a walk goes from bed to bed until it ends at a leaf.

use hedgerow_core::{Budget, Dataset, Par, Params as _, Result, Silent, Training};
use hedgerow_forest::Forest;
use hedgerow_forest::tree::Tree;
use serde::{Deserialize, Serialize};

use super::params::LeafGpParams;

/// Where a walk through a bed leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum End {
    /// To a leaf.
    Leaf(u32),
    /// On to a later bed.
    Bed(u32),
}

/// A piece of a tree.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Bed {
    pub(super) tree: Tree,
    /// Where each place of the tree leads, by place.
    pub(super) ends: Vec<(u32, End)>,
}

/// All trees.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Stems {
    pub(super) beds: Vec<Bed>,
    /// The first bed of each tree.
    pub(super) roots: Vec<u32>,
}

impl Stems {
    pub(super) fn n_trees(&self) -> usize {
        self.roots.len()
    }

    /// The leaf of a row in a tree; none for a place that no row had come to when the tree was grown.
    pub(super) fn leaf(&self, tree: usize, row: &[f32]) -> Option<u32> {
        self.way(tree, row).map(|(_, leaf)| leaf)
    }

    /// The same with the bed and the place in it that the leaf hangs on.
    pub(super) fn way(&self, tree: usize, row: &[f32]) -> Option<((usize, usize), u32)> {
        let mut at = *self.roots.get(tree)? as usize;
        loop {
            let bed = self.beds.get(at)?;
            let place = bed.tree.place(row, usize::MAX).0;
            let found = bed.ends.binary_search_by_key(&place, |end| end.0).ok()?;
            match bed.ends[found].1 {
                End::Leaf(leaf) => return Some(((at, found), leaf)),
                // Later beds only: a walk cannot go round in circles.
                End::Bed(next) if next as usize > at => at = next as usize,
                End::Bed(_) => return None,
            }
        }
    }

    /// Adds a bed whose places are given numbers by `leaf`, in the order in which rows (their places are given) come to them.
    /// Returns its number.
    pub(super) fn add(&mut self, tree: Tree, places: &[u32], mut leaf: impl FnMut() -> u32) -> u32 {
        let mut ends: Vec<(u32, End)> = Vec::new();
        for &place in places {
            if let Err(at) = ends.binary_search_by_key(&place, |end| end.0) {
                ends.insert(at, (place, End::Leaf(leaf())));
            }
        }
        self.beds.push(Bed { tree, ends });
        self.beds.len() as u32 - 1
    }

    /// The bed and the place in it that a leaf hangs on.
    pub(super) fn hangs_on(&self, leaf: usize) -> Option<(usize, usize)> {
        let wanted = End::Leaf(leaf as u32);
        self.beds.iter().enumerate().find_map(|(number, bed)| {
            bed.ends.iter().position(|(_, end)| *end == wanted).map(|at| (number, at))
        })
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        self.beds.iter().map(|bed| bed.tree.bytes() + 16 * bed.ends.len()).sum()
    }
}

/// Grows trees whose leaves hold one class or few enough rows; of one class there is nothing to grow.
pub(super) fn grow(
    data: &Dataset,
    params: &LeafGpParams,
    n_trees: usize,
    seed: u64,
    par: &Par,
) -> Result<Vec<Tree>> {
    if data.check_trainable().is_err() {
        return Ok(vec![Tree::default(); n_trees]);
    }
    // A tree is a moment's work beside the processes, and without trees there would be no model.
    let budget = Budget::open();
    let training = Training { budget: &budget, observer: &Silent, par };
    let forest = Forest::fit(data, &params.tree_params(n_trees, seed).check()?, &training)?.forest;
    Ok(forest.trees().to_vec())
}
