//! Counting a row in the leaf it falls into.

use super::in_trees;
use crate::tree::{Above, Target, Tree};
use hedgerow_core::ClassId;

/// Adds a row of a class to its leaf.
pub(super) fn learn(tree: &mut Tree, row: &[f32], class: ClassId, weight: f32) {
    if weight == 0.0 {
        return;
    }
    let (class, above) = (in_trees(class), above_leaf(tree, row));
    let leaf = tree.link(above);
    if let Target::Listed(at) = leaf.target()
        && let Some(entry) = tree.entry_of(at, class)
    {
        tree.leaves[entry].weight += weight;
        tree.leaves[at].weight += weight;
        return;
    }
    let mut weights = tree.leaf_weights(leaf);
    match weights.iter_mut().find(|(known, _)| *known == class) {
        Some((_, sum)) => *sum += f64::from(weight),
        None => weights.push((class, f64::from(weight))),
    }
    weights.retain(|(_, weight)| *weight > 0.0);
    weights.sort_by_key(|(class, _)| *class);
    let link = tree.add_leaf(&weights);
    tree.set_link(above, link);
}

/// The split above the leaf of a row, and whether the leaf is on its right side.
fn above_leaf(tree: &Tree, row: &[f32]) -> Above {
    let mut above: Above = None;
    while let Some(index) = tree.link(above).as_split() {
        let goes_right = !tree.splits[index].goes_left(row, &tree.sets);
        above = Some((index, goes_right));
    }
    above
}
