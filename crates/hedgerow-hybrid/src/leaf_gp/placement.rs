//! Placement of rows in the leaves of new trees.

use hedgerow_core::{ClassId, Dataset, Features, Par, Params as _, Result, Schema};
use hedgerow_forest::TreeBuilder;
use hedgerow_forest::tree::Tree;

use super::leaf::Leaf;
use super::params::LeafGpParams;
use super::trees::{End, Subtree, Trees};

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

/// All rows, and how trees are grown on some of them.
pub(super) struct AllRows<'a> {
    pub(super) schema: &'a Schema,
    pub(super) features: &'a Features,
    pub(super) labels: &'a [ClassId],
    pub(super) params: &'a LeafGpParams,
}

/// Makes a small tree of a leaf of several classes. Returns the leaves that are new; none if nothing separates its rows.
pub(super) fn split(
    trees: &mut Trees,
    leaves: &mut Vec<Leaf>,
    leaf: usize,
    all: &AllRows<'_>,
    seed: u64,
    par: &Par,
) -> Result<std::ops::Range<usize>> {
    let rows = leaves[leaf].rows.clone();
    let own: Vec<usize> = rows.iter().map(|&row| row as usize).collect();
    let labels: Vec<_> = own.iter().map(|&row| all.labels[row]).collect();
    let data = Dataset::new(all.schema.clone(), all.features.select(&own), labels, None)?;
    let tree = TreeBuilder::new(&data, &all.params.tree_params(1, seed).check()?, par)?.tree(0);
    let placed = PlacedTree::new(tree, rows, all.features, all.labels);
    let first_new = leaves.len();
    if placed.leaves.len() > 1 {
        trees.replace_leaf(leaf, placed, leaves);
    }
    Ok(first_new..leaves.len())
}
