//! Trees as columns: those of all trees one after the other, so that a forest of many trees is few arrays.

use super::{LeafEntry, Link, Split, Tree};

hedgerow_core::columns! {
    TreeColumns of Tree {
        each roots: u32 = |tree| tree.root.bits(),
        lists thresholds: f32 = |tree| tree.splits.iter().map(|split| split.threshold),
        all features: u16 = |tree| tree.splits.iter().map(|split| split.feature),
        all flags: u8 = |tree| tree.splits.iter().map(|split| split.flags as u8),
        all yes: u32 = |tree| tree.splits.iter().map(|split| split.links[0].bits()),
        all no: u32 = |tree| tree.splits.iter().map(|split| split.links[1].bits()),
        lists leaf_classes: u32 = |tree| tree.leaves.iter().map(|entry| entry.class),
        all leaf_weights: f32 = |tree| tree.leaves.iter().map(|entry| entry.weight),
        lists sets: u32 = |tree| tree.sets.iter().copied(),
    }
    TreeColumns::trees
}

impl TreeColumns {
    /// The trees, which have yet to be checked.
    fn trees(self) -> Option<Vec<Tree>> {
        let n_lists = [self.thresholds.n_lists(), self.leaf_classes.n_lists(), self.sets.n_lists()];
        let lengths = [self.features.0.len(), self.flags.0.len(), self.yes.0.len(), self.no.0.len()];
        let fits = n_lists == [self.roots.0.len(); 3]
            && lengths == [self.thresholds.values().len(); 4]
            && self.leaf_weights.0.len() == self.leaf_classes.values().len();
        let mut links = self.yes.0.iter().zip(&self.no.0).map(|(&yes, &no)| [yes, no].map(Link::from_bits));
        let mut asked = self.features.0.iter().zip(&self.flags.0);
        let mut weights = self.leaf_weights.0.iter();
        let lists = self.thresholds.iter().zip(self.leaf_classes.iter()).zip(self.sets.iter());
        let trees = self.roots.0.iter().zip(lists).map(|(&root, ((thresholds, classes), sets))| Tree {
            root: Link::from_bits(root),
            splits: (thresholds.iter().zip(&mut links).zip(&mut asked))
                .map(|((&threshold, links), (&feature, &flags))| {
                    Split::from_parts(threshold, feature, u16::from(flags), links)
                })
                .collect(),
            leaves: (classes.iter().zip(&mut weights))
                .map(|(&class, &weight)| LeafEntry { class, weight })
                .collect(),
            sets: sets.to_vec(),
        });
        fits.then(|| trees.collect())
    }
}
