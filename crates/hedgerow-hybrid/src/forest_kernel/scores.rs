//! The scores of leaves, which a trained GP comes down to: a prediction costs a walk down each tree, as that of the forest itself does.
//!
//! The mean of a GP at x is `Σ_j α_j k(x, x_j)`, and with the kernel of a forest that is a sum of one number for each tree:
//!
//! ```text
//! score(x) = Σ_t g_t(leaf_t(x)),    g_t(l) = 1/T Σ_{j in leaf l of tree t} α_j
//! ```

use hedgerow_core::saved::{columns, require};
use hedgerow_core::{Par, Result};
use hedgerow_forest::Forest;
use hedgerow_forest::tree::Tree;
use ndarray::{Array2, ArrayView2, s};
use serde::{Deserialize, Serialize};

use super::leaves::{Leaves, key, n_keys};
use super::validation::stacked;

/// Rows that are scored together.
const BLOCK: usize = 256;
const NONE: u32 = u32::MAX;

/// A score a class for each leaf that holds an active row; others add nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct LeafScores {
    pub(super) n_classes: usize,
    /// Active rows.
    pub(super) n_rows: usize,
    /// For each tree, its leaves, as keys that rise.
    #[serde(with = "columns")]
    pub(super) keys: Vec<Vec<u32>>,
    /// For each tree, leaf after leaf, a score a class.
    #[serde(with = "columns")]
    pub(super) values: Vec<Vec<f32>>,
    /// For each tree, where the scores of a leaf begin, by its key.
    #[serde(skip)]
    places: Vec<Vec<u32>>,
}

impl LeafScores {
    /// Of active rows with weights, a column a class.
    pub(super) fn new(leaves: &Leaves, rows: &[usize], weights: &Array2<f64>, par: &Par) -> Result<Self> {
        let width = weights.ncols();
        let per_tree = 1.0 / leaves.trees.len().max(1) as f64;
        let made = par.map(leaves.trees.len(), |t| {
            let tree = &leaves.trees[t];
            let mut sums = vec![0.0; tree.keys.len() * width];
            let mut counts = vec![false; tree.keys.len()];
            let n_read = if par.is_stopped() { 0 } else { rows.len() };
            for (&row, weights) in rows.iter().zip(weights.rows()).take(n_read) {
                let leaf = tree.numbers.at(row);
                counts[leaf] = true;
                sums[leaf * width..][..width].iter_mut().zip(weights).for_each(|(sum, w)| *sum += w);
            }
            let used = || (0..tree.keys.len()).filter(|leaf| counts[*leaf]);
            let keys: Vec<u32> = used().map(|leaf| tree.keys[leaf]).collect();
            let values = used().flat_map(|leaf| &sums[leaf * width..][..width]);
            (keys, values.map(|sum| (sum * per_tree) as f32).collect::<Vec<f32>>())
        });
        par.check()?;
        let (keys, values) = made.into_iter().unzip();
        let mut scores = Self { n_classes: width, n_rows: rows.len(), keys, values, places: Vec::new() };
        scores.index(leaves.trees.iter().map(|tree| tree.n_keys));
        Ok(scores)
    }

    /// Checks what was read with its forest, and makes what was not written.
    pub(super) fn complete(&mut self, forest: &Forest, n_classes: usize) -> Result<()> {
        let fits = |((tree, keys), values): ((&Tree, &Vec<u32>), &Vec<f32>)| {
            keys.is_sorted_by(|a, b| a < b)
                && keys.last().is_none_or(|last| (*last as usize) < n_keys(tree))
                && values.len() == keys.len() * self.n_classes
                && values.iter().all(|value| value.is_finite())
        };
        let trees = forest.trees();
        let fits = (1..=n_classes).contains(&self.n_classes)
            && [self.keys.len(), self.values.len()] == [trees.len(); 2]
            && trees.iter().zip(&self.keys).zip(&self.values).all(fits);
        require(fits, || "the scores of leaves do not fit the forest")?;
        self.index(trees.iter().map(n_keys));
        Ok(())
    }

    /// Finds the scores of leaves by their keys, of which each tree can have so many.
    fn index(&mut self, n_keys: impl Iterator<Item = usize>) {
        let places = n_keys.zip(&self.keys).map(|(n_keys, keys)| {
            let mut places = vec![NONE; n_keys];
            keys.iter().enumerate().for_each(|(leaf, key)| places[*key as usize] = leaf as u32);
            places
        });
        self.places = places.collect();
    }

    /// A score a class for each row.
    pub(super) fn of(&self, forest: &Forest, x: ArrayView2<'_, f32>, par: &Par) -> Result<Array2<f64>> {
        let alone = Par::sequential();
        let blocks: Vec<Result<Array2<f64>>> = par.map(x.nrows().div_ceil(BLOCK), |block| {
            let rows = s![block * BLOCK..((block + 1) * BLOCK).min(x.nrows()), ..];
            let places = forest.leaf_places(x.slice(rows), &alone)?;
            let mut out = Array2::zeros((places.nrows(), self.n_classes));
            for (row, mut out) in places.rows().into_iter().zip(out.rows_mut()) {
                for (t, &place) in row.iter().enumerate() {
                    let leaf = self.places[t][key(place) as usize];
                    if leaf != NONE {
                        let values = &self.values[t][leaf as usize * self.n_classes..][..self.n_classes];
                        out.iter_mut().zip(values).for_each(|(sum, value)| *sum += f64::from(*value));
                    }
                }
            }
            Ok(out)
        });
        let blocks = blocks.into_iter().collect::<Result<Vec<_>>>()?;
        Ok(stacked(&blocks).unwrap_or_else(|| Array2::zeros((0, self.n_classes))))
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        let of_lists = |lists: &[Vec<u32>]| lists.iter().map(|list| 4 * list.len()).sum::<usize>();
        of_lists(&self.keys) + of_lists(&self.places) + self.values.iter().map(|v| 4 * v.len()).sum::<usize>()
    }
}
