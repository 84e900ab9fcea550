//! Trees as arrays: those of all trees one after the other, so that a forest of many trees is few arrays.

use hedgerow_core::saved::{Lists, column, lists_of};
use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Deserializer, Serializer};

use super::{LeafEntry, Link, Split, Tree};

/// Keeps trees as arrays: `#[serde(with = "hedgerow_forest::tree::columns")]`. They have to be checked after reading ([`Tree::check`]).
pub fn serialize<S: Serializer>(trees: &[Tree], serializer: S) -> Result<S::Ok, S::Error> {
    serialize_all(|| trees.iter(), serializer)
}

/// The same for trees that are parts of something else.
pub fn serialize_all<'a, I: Iterator<Item = &'a Tree>, S: Serializer>(
    trees: impl Fn() -> I,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let splits = || trees().flat_map(|tree| &tree.splits);
    let leaves = || trees().flat_map(|tree| &tree.leaves);
    let mut out = serializer.serialize_struct("Trees", 9)?;
    out.serialize_field("roots", &column(|| trees().map(|tree| tree.root.bits())))?;
    let thresholds = || trees().map(|tree| tree.splits.iter().map(|split| split.threshold));
    out.serialize_field("thresholds", &lists_of(thresholds))?;
    out.serialize_field("features", &column(|| splits().map(|split| split.feature)))?;
    out.serialize_field("flags", &column(|| splits().map(|split| split.flags as u8)))?;
    out.serialize_field("yes", &column(|| splits().map(|split| split.links[0].bits())))?;
    out.serialize_field("no", &column(|| splits().map(|split| split.links[1].bits())))?;
    let classes = || trees().map(|tree| tree.leaves.iter().map(|entry| entry.class));
    out.serialize_field("leaf_classes", &lists_of(classes))?;
    out.serialize_field("leaf_weights", &column(|| leaves().map(|entry| entry.weight)))?;
    out.serialize_field("sets", &lists_of(|| trees().map(|tree| tree.sets.iter().copied())))?;
    out.end()
}

/// Reads trees.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Tree>, D::Error> {
    Columns::deserialize(deserializer)?.trees().map_err(serde::de::Error::custom)
}

/// What is written, as it is read.
#[derive(Deserialize)]
struct Columns {
    #[serde(with = "hedgerow_core::saved::array")]
    roots: Vec<u32>,
    thresholds: Lists<f32>,
    #[serde(with = "hedgerow_core::saved::array")]
    features: Vec<u16>,
    #[serde(with = "hedgerow_core::saved::array")]
    flags: Vec<u8>,
    #[serde(with = "hedgerow_core::saved::array")]
    yes: Vec<u32>,
    #[serde(with = "hedgerow_core::saved::array")]
    no: Vec<u32>,
    leaf_classes: Lists<u32>,
    #[serde(with = "hedgerow_core::saved::array")]
    leaf_weights: Vec<f32>,
    sets: Lists<u32>,
}

impl Columns {
    fn trees(self) -> Result<Vec<Tree>, String> {
        let n_trees = self.roots.len();
        let n_lists = [self.thresholds.n_lists(), self.leaf_classes.n_lists(), self.sets.n_lists()];
        let n_splits = self.thresholds.values().len();
        let lengths = [self.features.len(), self.flags.len(), self.yes.len(), self.no.len()];
        let n_leaves = self.leaf_classes.values().len();
        if n_lists != [n_trees; 3] || lengths != [n_splits; 4] || self.leaf_weights.len() != n_leaves {
            return Err(format!("{n_trees} trees of {n_splits} splits and {n_leaves} leaves do not fit"));
        }
        let mut links = self.yes.iter().zip(&self.no).map(|(&yes, &no)| [yes, no].map(Link::from_bits));
        let mut asked = self.features.iter().zip(&self.flags);
        let mut weights = self.leaf_weights.iter();
        let lists = self.thresholds.iter().zip(self.leaf_classes.iter()).zip(self.sets.iter());
        let tree = |(&root, ((thresholds, classes), sets)): (&u32, ((&[f32], &[u32]), &[u32]))| Tree {
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
        };
        Ok(self.roots.iter().zip(lists).map(tree).collect())
    }
}
