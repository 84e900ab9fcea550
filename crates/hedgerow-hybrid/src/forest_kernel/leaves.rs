//! Which leaf of which tree a row falls into, in small numbers.
//!
//! The leaves of a tree that hold training rows are numbered from 0 on, so that a row takes two bytes a tree (four where a tree has more
//! than 65,535 such leaves). Numbers are kept tree by tree: everything that is summed over leaves goes through one tree at a time.

use hedgerow_core::{Features, Par, Result};
use hedgerow_forest::Forest;
use hedgerow_forest::tree::Tree;

/// Rows whose leaves are found together.
const BLOCK: usize = 4096;

/// The leaves of some rows in one tree, as numbers.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Numbers {
    /// Up to 65,535 leaves.
    Short(Vec<u16>),
    /// More.
    Long(Vec<u32>),
}

/// One tree: which of its leaves hold rows, and which row is in which.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TreeLeaves {
    /// Keys that its places can have.
    pub(super) n_keys: usize,
    /// The places of leaves that hold rows, as keys that rise; the number of a leaf is its place in this list.
    pub(super) keys: Vec<u32>,
    /// The leaf of each row.
    pub(super) numbers: Numbers,
}

/// The leaves of rows in all trees.
pub(super) struct Leaves {
    pub(super) trees: Vec<TreeLeaves>,
    pub(super) n_rows: usize,
}

/// A place in a tree as a number from 0 on: the root, where there is no split, comes first.
pub(super) fn key(place: u32) -> u32 {
    place.wrapping_add(1)
}

/// Keys that places of a tree can have: fewer than this.
pub(super) fn n_keys(tree: &Tree) -> usize {
    2 * tree.splits().len() + 1
}

impl Numbers {
    /// The leaf of a row.
    pub(super) fn at(&self, row: usize) -> usize {
        match self {
            Self::Short(numbers) => usize::from(numbers[row]),
            Self::Long(numbers) => numbers[row] as usize,
        }
    }
}

impl TreeLeaves {
    fn new(tree: &Tree, keys: &[u32]) -> Self {
        const NONE: u32 = u32::MAX;
        let n_keys = n_keys(tree);
        let mut number_of = vec![NONE; n_keys];
        keys.iter().for_each(|&key| number_of[key as usize] = 0);
        let mut used = Vec::new();
        for (key, number) in number_of.iter_mut().enumerate().filter(|(_, number)| **number != NONE) {
            *number = used.len() as u32;
            used.push(key as u32);
        }
        let numbers = keys.iter().map(|&key| number_of[key as usize]);
        let numbers = if u16::try_from(used.len()).is_ok() {
            Numbers::Short(numbers.map(|number| number as u16).collect())
        } else {
            Numbers::Long(numbers.collect())
        };
        Self { n_keys, keys: used, numbers }
    }
}

impl Leaves {
    /// The leaves of rows. Fails if it is interrupted.
    pub(super) fn new(forest: &Forest, features: &Features, par: &Par) -> Result<Self> {
        let n_rows = features.n_rows();
        let trees = forest.trees();
        let mut keys: Vec<Vec<u32>> = vec![Vec::with_capacity(n_rows); trees.len()];
        for first in (0..n_rows).step_by(BLOCK) {
            let x = features.to_array(first..n_rows.min(first + BLOCK));
            let places = forest.leaf_places(x.view(), par)?;
            par.check()?;
            par.for_chunks(&mut keys, 1, |tree, keys| {
                keys.iter_mut().for_each(|keys| keys.extend(places.column(tree).iter().map(|&p| key(p))));
            });
        }
        // After an interrupt nothing more is done.
        let rows = |t: usize| if par.is_stopped() { &[][..] } else { &keys[t][..] };
        let trees = par.map(trees.len(), |t| TreeLeaves::new(&trees[t], rows(t)));
        par.check()?;
        Ok(Self { trees, n_rows })
    }

    /// Bytes that a row takes, about.
    pub(super) fn bytes_a_row(n_trees: usize) -> usize {
        // Keys while they are made, then numbers.
        6 * n_trees
    }

    /// Some rows, each with its numbers side by side.
    pub(super) fn rows(&self, rows: &[usize]) -> Vec<u32> {
        let n_trees = self.trees.len();
        let mut out = vec![0; rows.len() * n_trees];
        for (t, tree) in self.trees.iter().enumerate() {
            for (i, &row) in rows.iter().enumerate() {
                out[i * n_trees + t] = tree.numbers.at(row) as u32;
            }
        }
        out
    }

    /// Whether every number of every tree fits two bytes.
    pub(super) fn are_short(&self) -> bool {
        self.trees.iter().all(|tree| matches!(tree.numbers, Numbers::Short(_)))
    }
}
