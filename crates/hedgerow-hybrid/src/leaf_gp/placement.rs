//! Placement of rows in the leaves of new trees.

use std::ops::Range;

use hedgerow_core::{ClassId, Dataset, Features, Par, Params as _, Result, Schema};
use hedgerow_forest::TreeBuilder;
use hedgerow_forest::tree::Tree;

use super::LeafGp;
use super::leaf::Leaf;
use super::trees::{End, Subtree};

/// A tree with rows in its leaves, which are numbered from 0 in the order in which rows come to them.
#[derive(Debug, Clone)]
pub(super) struct PlacedTree {
    pub(super) subtree: Subtree,
    pub(super) leaves: Vec<Leaf>,
}

impl PlacedTree {
    /// Puts rows, given by their numbers, where a tree leads them. `features` and `labels` are those of all rows.
    pub(super) fn new(
        tree: Tree,
        rows: impl IntoIterator<Item = u32>,
        features: &Features,
        labels: &[ClassId],
    ) -> Self {
        let mut ends: Vec<(u32, End)> = Vec::new();
        let mut leaves: Vec<Leaf> = Vec::new();
        let mut values = vec![0.0; features.n_features()];
        for row in rows {
            features.copy_rows(row as usize..row as usize + 1, &mut values);
            let place = tree.place(&values, usize::MAX).0;
            let at = ends.binary_search_by_key(&place, |end| end.0).unwrap_or_else(|at| {
                ends.insert(at, (place, End::Leaf(leaves.len() as u32)));
                leaves.push(Leaf::default());
                at
            });
            if let End::Leaf(leaf) = ends[at].1 {
                leaves[leaf as usize].rows.push(row);
            }
        }
        leaves.iter_mut().for_each(|leaf| leaf.count(labels));
        Self { subtree: Subtree { tree, ends }, leaves }
    }
}

impl LeafGp {
    /// Makes a small tree of a leaf of several classes. Returns the leaves that are new; none if nothing separates its rows.
    pub(super) fn split(
        &mut self,
        leaf: usize,
        schema: &Schema,
        seed: u64,
        par: &Par,
    ) -> Result<Range<usize>> {
        let rows = self.leaves[leaf].rows.clone();
        let own: Vec<usize> = rows.iter().map(|&row| row as usize).collect();
        let labels: Vec<_> = own.iter().map(|&row| self.labels[row]).collect();
        let data = Dataset::new(schema.clone(), self.features.select(&own), labels, None)?;
        let tree = TreeBuilder::new(&data, &self.params.tree_params(1, seed).check()?, par)?.tree(0);
        let placed = PlacedTree::new(tree, rows, &self.features, &self.labels);
        let first_new = self.leaves.len();
        if placed.leaves.len() > 1 {
            self.trees.replace_leaf(leaf, placed, &mut self.leaves);
        }
        Ok(first_new..self.leaves.len())
    }
}
