//! The trees: which leaf a row falls into.
//!
//! A tree begins as one that a forest would grow. A leaf that is split later becomes a small tree of its own behind the first; each such
//! piece is a [`Subtree`], and a walk goes from subtree to subtree until it ends at a leaf.

use hedgerow_core::Result;
use hedgerow_core::saved::{array, columns, require};
use hedgerow_forest::tree::Tree;
use serde::{Deserialize, Serialize};

use super::leaf::Leaf;
use super::placement::PlacedTree;

/// Where a walk through a subtree leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// To a leaf.
    Leaf(u32),
    /// On to a later subtree.
    Subtree(u32),
}

/// A piece of a tree.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Subtree {
    pub(super) tree: Tree,
    /// Where each place of the tree leads, by place.
    pub(super) ends: Vec<(u32, End)>,
}

/// All trees.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Trees {
    #[serde(with = "columns")]
    pub(super) subtrees: Vec<Subtree>,
    /// The first subtree of each tree.
    #[serde(with = "array")]
    pub(super) roots: Vec<u32>,
}

impl Trees {
    pub(super) fn n_trees(&self) -> usize {
        self.roots.len()
    }

    /// Fails unless every walk by so many columns ends at one of so many leaves.
    pub(super) fn check(&self, n_leaves: usize, n_features: usize, n_classes: usize) -> Result<()> {
        let n = self.subtrees.len();
        require(self.roots.iter().all(|root| (*root as usize) < n), || format!("roots of {n} subtrees"))?;
        for (number, Subtree { tree, ends }) in self.subtrees.iter().enumerate() {
            tree.check(n_features, n_classes)?;
            let leads_on = |end: &End| match end {
                End::Leaf(leaf) => (*leaf as usize) < n_leaves,
                End::Subtree(next) => (*next as usize) < n && *next as usize > number,
            };
            let lead = ends.iter().all(|(_, end)| leads_on(end)) && ends.is_sorted_by(|a, b| a.0 < b.0);
            require(lead, || format!("the ends of subtree {number} lead nowhere"))?;
        }
        Ok(())
    }

    /// The leaf of a row in a tree; none for a place that no row had come to when the tree was grown.
    pub(super) fn leaf(&self, tree: usize, row: &[f32]) -> Option<u32> {
        let mut at = *self.roots.get(tree)? as usize;
        loop {
            let subtree = self.subtrees.get(at)?;
            let place = subtree.tree.place(row, usize::MAX).0;
            let found = subtree.ends.binary_search_by_key(&place, |end| end.0).ok()?;
            match subtree.ends[found].1 {
                End::Leaf(leaf) => return Some(leaf),
                // Later subtrees only: a walk cannot go round in circles.
                End::Subtree(next) if next as usize > at => at = next as usize,
                End::Subtree(_) => return None,
            }
        }
    }

    /// Adds a tree, whose leaves go to the end of all leaves.
    pub(super) fn add_tree(&mut self, placed: PlacedTree, leaves: &mut Vec<Leaf>) {
        let first = leaves.len() as u32;
        let root = self.add(placed.subtree, |leaf| first + leaf);
        self.roots.push(root);
        leaves.extend(placed.leaves);
    }

    /// Puts a tree in the place of a leaf. Its first leaf takes the number of that leaf, the others go to the end of all leaves.
    pub(super) fn replace_leaf(&mut self, leaf: usize, placed: PlacedTree, leaves: &mut Vec<Leaf>) {
        let Some((parent, end)) = self.parent_of(leaf) else { return };
        let first = leaves.len() as u32;
        let new = self.add(placed.subtree, |own| if own == 0 { leaf as u32 } else { first + own - 1 });
        self.subtrees[parent].ends[end].1 = End::Subtree(new);
        let mut own = placed.leaves.into_iter();
        own.next().into_iter().for_each(|first| leaves[leaf] = first);
        leaves.extend(own);
    }

    /// Adds a subtree that leads to leaves only, with new numbers for them. Returns its own number.
    fn add(&mut self, mut subtree: Subtree, number: impl Fn(u32) -> u32) -> u32 {
        for (_, end) in &mut subtree.ends {
            if let End::Leaf(leaf) = end {
                *leaf = number(*leaf);
            }
        }
        self.subtrees.push(subtree);
        self.subtrees.len() as u32 - 1
    }

    /// The subtree that leads to a leaf, and the place of the leaf among its ends.
    fn parent_of(&self, leaf: usize) -> Option<(usize, usize)> {
        let wanted = End::Leaf(leaf as u32);
        self.subtrees.iter().enumerate().find_map(|(number, subtree)| {
            subtree.ends.iter().position(|(_, end)| *end == wanted).map(|at| (number, at))
        })
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        self.subtrees.iter().map(Subtree::bytes).sum()
    }
}

impl Subtree {
    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        self.tree.bytes() + 16 * self.ends.len()
    }
}
