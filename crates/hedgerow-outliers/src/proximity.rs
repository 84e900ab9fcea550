//! How seldom a row shares leaves with others (Breiman, 2003, Setting up, using, and understanding random forests).

use hedgerow_core::{Par, Result, saved};
use hedgerow_forest::Forest;
use hedgerow_forest::proximity::{Places, proximities};
use ndarray::{Array2, ArrayView2, s};
use serde::{Deserialize, Serialize};

use crate::scale::Scale;

/// Rows compared at a time: their proximities are all that is kept of the square.
const BLOCK: usize = 64;

/// The leaves of the rows that others are compared with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Proximity {
    #[serde(with = "saved::array")]
    places: Vec<u32>,
    n_trees: usize,
    scale: Scale,
}

impl Proximity {
    /// Compares all rows with each other.
    pub(crate) fn fit(forest: &Forest, x: ArrayView2<'_, f32>, par: &Par) -> Result<(Self, Vec<f64>)> {
        let places = forest.leaf_places(x, par)?;
        let rarities = rarities(&places, &places, par)?;
        let scale = Scale::absolute(&rarities);
        let n_trees = places.ncols();
        let scores = rarities.iter().map(|&rarity| scale.apply(rarity)).collect();
        Ok((Self { places: places.into_iter().collect(), n_trees, scale }, scores))
    }

    /// How strange new rows are, in mean distances from the median.
    pub(crate) fn score(&self, forest: &Forest, x: ArrayView2<'_, f32>, par: &Par) -> Result<Vec<f64>> {
        let ours = forest.leaf_places(x, par)?;
        let n_rows = self.places.len() / self.n_trees.max(1);
        let theirs = Array2::from_shape_vec((n_rows, self.n_trees), self.places.clone());
        let theirs = theirs.unwrap_or_else(|_| Array2::zeros((0, self.n_trees)));
        let rarities = rarities(&ours, &theirs, par)?;
        Ok(rarities.into_iter().map(|rarity| self.scale.apply(rarity)).collect())
    }
}

/// 1 / Σ proximity², over some rows. A row is always together with itself: one that is not among the others counts as one of them.
fn rarities(ours: &Places, theirs: &Places, par: &Par) -> Result<Vec<f64>> {
    let mut rarities = Vec::with_capacity(ours.nrows());
    for first in (0..ours.nrows()).step_by(BLOCK) {
        par.check()?;
        let block = ours.slice(s![first..(first + BLOCK).min(ours.nrows()), ..]).to_owned();
        let table = proximities(&block, theirs, par)?;
        rarities.extend(table.rows().into_iter().map(|row| {
            let own = if row.iter().any(|proximity| *proximity == 1.0) { 0.0 } else { 1.0 };
            1.0 / (own + row.iter().map(|proximity| proximity * proximity).sum::<f64>())
        }));
    }
    Ok(rarities)
}
