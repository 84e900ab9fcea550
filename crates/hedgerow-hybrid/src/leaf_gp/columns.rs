//! Leaves and subtrees as columns.

use std::sync::Arc;

use hedgerow_core::saved::{Lists, Number};
use hedgerow_forest::tree::Tree;
use ndarray::{Array1, Array2};

use super::leaf::{Gp, Leaf};
use super::trees::{End, Subtree};

/// The leaf or subtree, and above its 32 bits whether it is a subtree.
impl Number for End {
    type Raw = u64;

    fn raw(self) -> u64 {
        match self {
            Self::Leaf(number) => u64::from(number),
            Self::Subtree(number) => 1 << 32 | u64::from(number),
        }
    }

    fn from_raw(raw: u64) -> Option<Self> {
        match raw >> 32 {
            0 => Some(Self::Leaf(raw as u32)),
            1 => Some(Self::Subtree(raw as u32)),
            _ => None,
        }
    }
}

hedgerow_core::columns! {
    SubtreeColumns of Subtree {
        parts trees: Tree = |subtree| &subtree.tree,
        lists places: u32 = |subtree| subtree.ends.iter().map(|(place, _)| *place),
        all ends: End = |subtree| subtree.ends.iter().map(|(_, end)| *end),
    }
    |SubtreeColumns { trees, places, ends }| {
        let fits = places.n_lists() == trees.0.len() && places.values().len() == ends.0.len();
        let mut ends = ends.0.into_iter();
        let subtree = |(tree, places): (Tree, &[u32])| Subtree {
            tree,
            ends: places.iter().copied().zip(&mut ends).collect(),
        };
        fits.then(|| trees.0.into_iter().zip(places.iter()).map(subtree).collect())
    }
}

// A leaf without a GP has the length scale 0.
hedgerow_core::columns! {
    LeafColumns of Leaf {
        lists rows: u32 = |leaf| leaf.rows.iter().copied(),
        lists classes: u16 = |leaf| leaf.counts.iter().map(|count| count.0),
        all counts: u32 = |leaf| leaf.counts.iter().map(|count| count.1),
        lists gp_rows: u32 = |leaf| of_gp(leaf, |gp| &gp.rows),
        lists gp_classes: u16 = |leaf| of_gp(leaf, |gp| &gp.classes),
        all weights: f64 = |leaf| leaf.gp.iter().flat_map(|gp| gp.weights.iter().copied()),
        all offsets: f64 = |leaf| leaf.gp.iter().flat_map(|gp| gp.offsets.iter().copied()),
        each length_scales: f64 = |leaf| leaf.gp.as_ref().map_or(0.0, |gp| gp.length_scale),
    }
    LeafColumns::leaves
}

fn of_gp<N: Copy + 'static>(leaf: &Leaf, list: fn(&Gp) -> &[N]) -> impl ExactSizeIterator<Item = N> {
    leaf.gp.as_deref().map_or(&[][..], list).iter().copied()
}

impl LeafColumns {
    fn leaves(self) -> Option<Vec<Leaf>> {
        let n_lists = [&self.classes, &self.gp_classes].map(Lists::n_lists);
        let fits = n_lists == [self.rows.n_lists(); 2]
            && [self.gp_rows.n_lists(), self.length_scales.0.len()] == n_lists
            && self.counts.0.len() == self.classes.values().len()
            && self.offsets.0.len() == self.gp_classes.values().len();
        let (mut counts, mut weights) = (self.counts.0.into_iter(), self.weights.0.into_iter());
        let mut offsets = self.offsets.0.into_iter();
        let of_gps = self.gp_rows.iter().zip(self.gp_classes.iter()).zip(&self.length_scales.0);
        let leaf = |((rows, classes), ((gp_rows, gp_classes), &length_scale))| {
            let (rows, classes): (&[u32], &[u16]) = (rows, classes);
            let shape = (<[u32]>::len(gp_rows), <[u16]>::len(gp_classes));
            let own = weights.by_ref().take(shape.0.checked_mul(shape.1)?).collect();
            let gp = Gp {
                rows: gp_rows.to_vec(),
                classes: gp_classes.to_vec(),
                weights: Array2::from_shape_vec(shape, own).ok()?,
                offsets: Array1::from_iter(offsets.by_ref().take(shape.1)),
                length_scale,
            };
            let has_gp = length_scale != 0.0;
            (has_gp || shape == (0, 0)).then(|| Leaf {
                rows: rows.to_vec(),
                counts: classes.iter().copied().zip(&mut counts).collect(),
                gp: has_gp.then(|| Arc::new(gp)),
            })
        };
        let leaves = self.rows.iter().zip(self.classes.iter()).zip(of_gps).map(leaf);
        let leaves: Option<Vec<Leaf>> = leaves.collect();
        leaves.filter(|_| fits && weights.next().is_none())
    }
}
