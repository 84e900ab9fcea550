//! Trees find their leaves: rows are put where a new tree leads them, and leaves that have outgrown their size become small trees.

use hedgerow_core::{ClassId, Dataset, Features, Par, Result, Schema};
use hedgerow_forest::tree::Tree;
use ndarray::ArrayView2;

use super::leaf::Leaf;
use super::params::LeafGpParams;
use super::stems::{self, End, Stems};

/// Rows that a new tree leads to its leaves.
pub(super) struct Planted<'a> {
    /// Their numbers.
    pub(super) rows: &'a [u32],
    /// The place in the tree that each comes to.
    pub(super) places: &'a [u32],
    /// The classes of all rows, by number.
    pub(super) labels: &'a [ClassId],
}

/// Where rows end in a tree.
pub(super) fn places(tree: &Tree, raw: ArrayView2<'_, f32>) -> Vec<u32> {
    raw.rows().into_iter().map(|row| tree.place(&row.to_vec(), usize::MAX).0).collect()
}

/// Adds a bed whose leaves begin with the given rows: the first in `leaf`, if one is given, others at the end. Returns the bed.
pub(super) fn plant(
    stems: &mut Stems,
    leaves: &mut Vec<Leaf>,
    tree: Tree,
    planted: &Planted<'_>,
    leaf: Option<u32>,
) -> u32 {
    let mut given = leaf;
    let mut next = leaves.len() as u32;
    let bed = stems.add(tree, planted.places, || {
        given.take().unwrap_or_else(|| {
            next += 1;
            next - 1
        })
    });
    leaves.resize_with(next as usize, Leaf::default);
    if let Some(leaf) = leaf {
        leaves[leaf as usize] = Leaf::default();
    } else {
        stems.roots.push(bed);
    }
    let ends = &stems.beds[bed as usize].ends;
    for (&row, place) in planted.rows.iter().zip(planted.places) {
        if let Ok(at) = ends.binary_search_by_key(place, |end| end.0)
            && let End::Leaf(leaf) = ends[at].1
        {
            leaves[leaf as usize].rows.push(row);
        }
    }
    for (_, end) in ends {
        if let End::Leaf(leaf) = end {
            leaves[*leaf as usize].count(planted.labels);
        }
    }
    bed
}

/// All rows, and how trees are grown on some of them.
pub(super) struct Leafy<'a> {
    pub(super) schema: &'a Schema,
    pub(super) features: &'a Features,
    pub(super) labels: &'a [ClassId],
    pub(super) params: &'a LeafGpParams,
}

/// Makes a small tree of a leaf. Returns the leaves that are new; none if nothing separates its rows.
pub(super) fn split(
    stems: &mut Stems,
    leaves: &mut Vec<Leaf>,
    leaf: usize,
    all: &Leafy<'_>,
    seed: u64,
    par: &Par,
) -> Result<Vec<usize>> {
    let rows = leaves[leaf].rows.clone();
    let own: Vec<usize> = rows.iter().map(|&row| row as usize).collect();
    let labels = own.iter().map(|&row| all.labels[row]).collect();
    let data = Dataset::new(all.schema.clone(), all.features.select(&own), labels, None)?;
    let Some(tree) = stems::grow(&data, all.params, 1, seed, par)?.pop() else {
        return Ok(Vec::new());
    };
    let places = places(&tree, data.features.to_array(0..own.len()).view());
    let first_new = leaves.len();
    let hangs_on = stems.hangs_on(leaf);
    let Some((bed, end)) = hangs_on.filter(|_| places.iter().any(|place| *place != places[0])) else {
        return Ok(Vec::new());
    };
    let planted = Planted { rows: &rows, places: &places, labels: all.labels };
    let new = plant(stems, leaves, tree, &planted, Some(leaf as u32));
    stems.beds[bed].ends[end].1 = End::Bed(new);
    Ok((first_new..leaves.len()).collect())
}
