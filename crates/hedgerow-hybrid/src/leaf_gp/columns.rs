//! Leaves and subtrees as arrays: those of all of them one after the other.

use hedgerow_core::saved::Number;
use serde::{Deserialize, Serialize, Serializer};

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

/// Keeps subtrees as arrays.
pub(super) mod subtrees {
    use hedgerow_core::saved::{Lists, array, column, lists_of};
    use hedgerow_forest::tree::{Tree, columns};
    use serde::de::Error as _;
    use serde::ser::SerializeStruct as _;
    use serde::{Deserializer, Serializer};

    use super::{Deserialize, End, Serialize, Subtree};

    struct Trees<'a>(&'a [Subtree]);

    impl Serialize for Trees<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            columns::serialize_all(|| self.0.iter().map(|subtree| &subtree.tree), serializer)
        }
    }

    #[derive(Deserialize)]
    struct Columns {
        #[serde(with = "columns")]
        trees: Vec<Tree>,
        places: Lists<u32>,
        #[serde(with = "array")]
        ends: Vec<End>,
    }

    pub(in super::super) fn serialize<S: Serializer>(
        subtrees: &[Subtree],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Subtrees", 3)?;
        out.serialize_field("trees", &Trees(subtrees))?;
        let places = || subtrees.iter().map(|subtree| subtree.ends.iter().map(|(place, _)| *place));
        out.serialize_field("places", &lists_of(places))?;
        let ends = || subtrees.iter().flat_map(|subtree| subtree.ends.iter().map(|(_, end)| *end));
        out.serialize_field("ends", &column(ends))?;
        out.end()
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Subtree>, D::Error> {
        let Columns { trees, places, ends } = Columns::deserialize(deserializer)?;
        if places.n_lists() != trees.len() || places.values().len() != ends.len() {
            return Err(D::Error::custom(format!("{} subtrees do not fit their ends", trees.len())));
        }
        let mut ends = ends.into_iter();
        let own = |places: &[u32]| places.iter().copied().zip(&mut ends).collect();
        let all_ends: Vec<Vec<(u32, End)>> = places.iter().map(own).collect();
        Ok(trees.into_iter().zip(all_ends).map(|(tree, ends)| Subtree { tree, ends }).collect())
    }
}

/// Keeps leaves as arrays.
pub(super) mod leaves {
    use std::sync::Arc;

    use hedgerow_core::saved::{Lists, array, column, lists_of};
    use ndarray::{Array1, Array2};
    use serde::Deserializer;
    use serde::de::Error as _;
    use serde::ser::SerializeStruct as _;

    use super::{Deserialize, Gp, Leaf, Serializer};

    #[derive(Deserialize)]
    struct Columns {
        rows: Lists<u32>,
        classes: Lists<u16>,
        #[serde(with = "array")]
        counts: Vec<u32>,
        gp_rows: Lists<u32>,
        gp_classes: Lists<u16>,
        #[serde(with = "array")]
        weights: Vec<f64>,
        #[serde(with = "array")]
        offsets: Vec<f64>,
        /// 0 for a leaf without a GP.
        #[serde(with = "array")]
        length_scales: Vec<f64>,
    }

    pub(in super::super) fn serialize<S: Serializer>(
        leaves: &[Leaf],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let each = || leaves.iter();
        let gps = || leaves.iter().filter_map(|leaf| leaf.gp.as_deref());
        let length_scale = |leaf: &Leaf| leaf.gp.as_ref().map_or(0.0, |gp| gp.length_scale);
        let mut out = serializer.serialize_struct("Leaves", 8)?;
        out.serialize_field("rows", &lists_of(|| each().map(|leaf| leaf.rows.iter().copied())))?;
        out.serialize_field("classes", &lists_of(|| each().map(|leaf| leaf.counts.iter().map(|c| c.0))))?;
        out.serialize_field("counts", &column(|| each().flat_map(|leaf| leaf.counts.iter().map(|c| c.1))))?;
        out.serialize_field("gp_rows", &lists_of(|| each().map(|leaf| of_gp(leaf, |gp| &gp.rows))))?;
        out.serialize_field("gp_classes", &lists_of(|| each().map(|leaf| of_gp(leaf, |gp| &gp.classes))))?;
        out.serialize_field("weights", &column(|| gps().flat_map(|gp| gp.weights.iter().copied())))?;
        out.serialize_field("offsets", &column(|| gps().flat_map(|gp| gp.offsets.iter().copied())))?;
        out.serialize_field("length_scales", &column(|| each().map(length_scale)))?;
        out.end()
    }

    fn of_gp<N: Copy + 'static>(leaf: &Leaf, list: fn(&Gp) -> &[N]) -> impl ExactSizeIterator<Item = N> {
        leaf.gp.as_deref().map_or(&[][..], list).iter().copied()
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Leaf>, D::Error> {
        let columns = Columns::deserialize(deserializer)?;
        columns.leaves().ok_or_else(|| D::Error::custom("lists of leaves do not fit each other"))
    }

    impl Columns {
        fn leaves(self) -> Option<Vec<Leaf>> {
            let n_lists = [&self.classes, &self.gp_classes].map(Lists::n_lists);
            let fits = n_lists == [self.rows.n_lists(); 2]
                && [self.gp_rows.n_lists(), self.length_scales.len()] == n_lists
                && self.counts.len() == self.classes.values().len()
                && self.offsets.len() == self.gp_classes.values().len();
            let (mut counts, mut weights) = (self.counts.iter().copied(), self.weights.iter().copied());
            let mut offsets = self.offsets.iter().copied();
            let of_gps = self.gp_rows.iter().zip(self.gp_classes.iter()).zip(&self.length_scales);
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
            let leaves: Option<Vec<Leaf>> =
                self.rows.iter().zip(self.classes.iter()).zip(of_gps).map(leaf).collect();
            leaves.filter(|_| fits && weights.next().is_none())
        }
    }
}
