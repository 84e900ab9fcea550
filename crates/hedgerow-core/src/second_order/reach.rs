//! How far a training row counts as near.

use ndarray::{Array2, ArrayView1, ArrayView2, Axis};

use crate::par::Par;

/// Rows that the reach is chosen by, and those done together.
const ROWS: usize = 256;
const BLOCK: usize = 32;
/// Neighbors that tell how many dimensions rows fill.
const NEIGHBORS: usize = 20;
/// Halvings of the interval that the logarithm of the reach lies in.
const STEPS: usize = 24;
/// Rows count no more where the exponent is beyond this.
const BEYOND: f64 = 30.0;
/// The share of all rows that may be near a typical one, where there are few.
const MOST_SHARE: f64 = 0.25;

/// A row at the distance r counts exp(−(r/R)^D).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Reach {
    /// 1/R².
    per_square: f64,
    /// D/2.
    half_dimensions: f64,
    /// The square of a distance from which on rows do not count.
    end: f32,
}

impl Reach {
    /// Before it is chosen.
    pub(super) const NONE: Self = Self { per_square: 1.0, half_dimensions: 1.0, end: 0.0 };

    fn new(square: f64, half_dimensions: f64) -> Self {
        let end = (square * libm::pow(BEYOND, 1.0 / half_dimensions)) as f32;
        Self { per_square: 1.0 / square, half_dimensions, end }
    }

    /// What a row counts at a distance with this square.
    pub(super) fn weight(&self, square: f32) -> f64 {
        let ratio = f64::from(square.max(0.0)) * self.per_square;
        let exponent =
            if self.half_dimensions == 1.0 { ratio } else { libm::pow(ratio, self.half_dimensions) };
        libm::exp(-exponent)
    }

    /// How many rows are near, by the squares of their distances and how many each stands for.
    pub(super) fn count(&self, squares: ArrayView1<'_, f32>, counts: &[f64]) -> f64 {
        // What is not a number comes of rows beyond all others.
        let near = squares.iter().zip(counts).filter(|(square, _)| **square < self.end);
        near.map(|(square, count)| count * self.weight(*square)).sum()
    }

    /// Chooses D as the number of dimensions that rows fill locally, and R such that half of them have √n others near them: so many that their number
    /// says something, and ever fewer of all (√n/n) the more there are.
    pub(super) fn choose(
        rows: ArrayView2<'_, f32>,
        counts: &[f64],
        squares: impl Fn(ArrayView2<'_, f32>) -> Array2<f32> + Send + Sync,
        par: &Par,
    ) -> Self {
        let n = rows.nrows();
        let step = n.div_ceil(ROWS).max(1);
        let chosen: Vec<usize> = (0..n).step_by(step).collect();
        let blocks: Vec<&[usize]> = chosen.chunks(BLOCK).collect();
        // The others of each chosen row, the row itself infinitely far away.
        let of_block = |block: usize| {
            let mut found = squares(rows.select(Axis(0), blocks[block]).view());
            for (mut row, &own) in found.rows_mut().into_iter().zip(blocks[block]) {
                row[own] = f32::INFINITY;
            }
            found
        };
        let seen: Vec<Array2<f32>> = par.map(blocks.len(), of_block);
        let seen: Vec<ArrayView1<'_, f32>> = seen.iter().flat_map(|block| block.rows()).collect();
        let neighbors: Vec<Vec<f32>> = par.map(seen.len(), |row| nearest(seen[row]));
        let half_dimensions = 0.5 * dimensions(&neighbors, rows);
        let [least, most] = bounds(&neighbors, &seen);
        let total: f64 = counts.iter().sum();
        let wanted = libm::sqrt(total).min(MOST_SHARE * total);
        let median = |reach: Self| {
            let mut found: Vec<f64> = par.map(seen.len(), |row| reach.count(seen[row], counts));
            found.sort_by(f64::total_cmp);
            found.get(found.len() / 2).copied().unwrap_or(0.0)
        };
        let (mut low, mut high) = (libm::log(least), libm::log(most));
        for _ in 0..STEPS {
            let middle = 0.5 * (low + high);
            let is_enough = median(Self::new(libm::exp(middle), half_dimensions)) >= wanted;
            (low, high) = if is_enough { (low, middle) } else { (middle, high) };
        }
        Self::new(libm::exp(0.5 * (low + high)), half_dimensions)
    }

    #[cfg(test)]
    pub(super) fn naive(&self, square: f64) -> f64 {
        (-(square * self.per_square).powf(self.half_dimensions)).exp()
    }
}

/// The squares of the distances to the nearest other places, in order.
fn nearest(squares: ArrayView1<'_, f32>) -> Vec<f32> {
    // Rounding leaves a little of the distance of equal rows.
    let mut others: Vec<f32> =
        squares.iter().copied().filter(|square| *square > 1e-5 && square.is_finite()).collect();
    if others.len() > NEIGHBORS {
        others.select_nth_unstable_by(NEIGHBORS, f32::total_cmp);
        others.truncate(NEIGHBORS);
    }
    others.sort_by(f32::total_cmp);
    others
}

/// The number of dimensions by how fast the distances of neighbors grow (Levina and Bickel, 2005, Maximum likelihood estimation of intrinsic dimension, with
/// the inverse estimates averaged as Mackay and Ghahramani propose), two at least.
fn dimensions(neighbors: &[Vec<f32>], rows: ArrayView2<'_, f32>) -> f64 {
    let inverse = |of_row: &Vec<f32>| {
        let last = f64::from(*of_row.last()?);
        let logs = of_row[..of_row.len() - 1].iter().map(|square| 0.5 * libm::log(last / f64::from(*square)));
        (of_row.len() > 1).then(|| logs.sum::<f64>() / (of_row.len() - 1) as f64)
    };
    let all: Vec<f64> = neighbors.iter().filter_map(inverse).collect();
    let mean = all.iter().sum::<f64>() / all.len().max(1) as f64;
    let width = rows.ncols() as f64;
    (1.0 / mean.max(1.0 / width.max(2.0))).clamp(2.0, width.max(2.0))
}

/// Between which squares R² is looked for: a quarter of the typical smallest one that is not 0, and the largest.
fn bounds(neighbors: &[Vec<f32>], seen: &[ArrayView1<'_, f32>]) -> [f64; 2] {
    let mut firsts: Vec<f32> = neighbors.iter().filter_map(|of_row| of_row.first().copied()).collect();
    firsts.sort_by(f32::total_cmp);
    let finite = seen.iter().flat_map(|row| row.iter().copied()).filter(|square| square.is_finite());
    let most = f64::from(finite.fold(0.0, f32::max));
    let least = 0.25 * f64::from(firsts.get(firsts.len() / 2).copied().unwrap_or(1.0));
    [least, most.max(least)]
}
