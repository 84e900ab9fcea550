//! Similarity of two rows by the leaves they share.
//!
//! [`proximities`] counts the trees in which two rows share a leaf. [`ForestKernel`] is the random forest kernel
//! (Davies & Ghahramani, 2014): each tree compares at a height of its own, drawn once and kept, which makes the kernel symmetric, positive
//! semi-definite and 1 for equal rows.

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{Error, Par, Result};
use ndarray::{Array2, ArrayView2};

use crate::forest::Forest;
use crate::tree::Place;

/// Where each row ends up in each tree: what kernels and proximities compare. Rows first, trees second.
pub type Places = Array2<u32>;

impl Forest {
    /// The leaf of every row in every tree. Two rows share a leaf exactly where the numbers are equal.
    pub fn leaf_places(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Places> {
        self.places_at(x, &vec![usize::MAX; self.trees.len()], par)
    }

    fn places_at(&self, x: ArrayView2<'_, f32>, heights: &[usize], par: &Par) -> Result<Places> {
        if x.ncols() != self.n_features {
            return Err(Error::Shape { what: "feature columns", expected: self.n_features, got: x.ncols() });
        }
        const BLOCK: usize = 64;
        let mut places = Array2::from_elem((x.nrows(), self.trees.len()), Place::ROOT.0);
        let x = x.as_standard_layout();
        let (Some(rows), Some(out)) = (x.as_slice(), places.as_slice_mut()) else { return Ok(places) };
        let n_trees = self.trees.len().max(1);
        par.for_chunks(out, BLOCK * n_trees, |block, out| {
            for (i, out) in out.chunks_mut(n_trees).enumerate() {
                let row = &rows[(block * BLOCK + i) * self.n_features..][..self.n_features];
                for ((place, tree), &height) in out.iter_mut().zip(&self.trees).zip(heights) {
                    *place = tree.place(row, height).0;
                }
            }
        });
        Ok(places)
    }
}

/// For every row of `a` and every row of `b`, the share of trees in which they are in one place.
pub fn proximities(a: &Places, b: &Places, par: &Par) -> Result<Array2<f64>> {
    if a.ncols() != b.ncols() {
        return Err(Error::Shape { what: "trees", expected: a.ncols(), got: b.ncols() });
    }
    let mut out = Array2::zeros((a.nrows(), b.nrows()));
    let n_trees = a.ncols().max(1) as f64;
    if let Some(table) = out.as_slice_mut() {
        par.for_chunks(table, b.nrows().max(1), |i, out| {
            let ours = a.row(i);
            for (value, theirs) in out.iter_mut().zip(b.rows()) {
                let same = ours.iter().zip(theirs).filter(|(x, y)| x == y).count();
                *value = same as f64 / n_trees;
            }
        });
    }
    Ok(out)
}

/// The random-forest kernel: the share of trees in which two rows go the same way down to the tree's own height.
#[derive(Debug, Clone)]
pub struct ForestKernel<'a> {
    forest: &'a Forest,
    heights: Vec<usize>,
}

impl<'a> ForestKernel<'a> {
    /// Draws a height for each tree, from 1 to the tree's own, and keeps it.
    pub fn new(forest: &'a Forest, seed: u64) -> Self {
        let draw = |(tree, highest)| 1 + Rng::new(seed, Purpose::KernelHeight, tree).index(highest);
        let highest = forest.trees.iter().map(|tree| tree.height().max(1));
        Self { forest, heights: (0..).zip(highest).map(draw).collect() }
    }

    /// The height at which each tree compares.
    pub fn heights(&self) -> &[usize] {
        &self.heights
    }

    /// Where each row stands in each tree at that tree's height; cache it where rows are compared often.
    pub fn places(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Places> {
        self.forest.places_at(x, &self.heights, par)
    }

    /// The kernel between all rows of `a` and all rows of `b`.
    pub fn matrix(&self, a: ArrayView2<'_, f32>, b: ArrayView2<'_, f32>, par: &Par) -> Result<Array2<f64>> {
        proximities(&self.places(a, par)?, &self.places(b, par)?, par)
    }
}
