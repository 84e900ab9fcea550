//! Distances to the nearest of a few rows, on the mean of many such sets.
//!
//! The distance from a row to the nearest of a small random sample tells outliers nearly as well as the distance to the nearest of all
//! rows (Sugiyama and Borgwardt, 2013, Rapid distance-based outlier detection via sampling), costs little, and small samples hold few
//! outliers that would hide others.

use hedgerow_core::rng::Purpose;
use hedgerow_core::{Features, saved};
use ndarray::{Array2, ArrayView2, linalg::general_mat_mul};
use serde::{Deserialize, Serialize};

use crate::columns::Columns;
use crate::ensemble::Ensemble;
use crate::trees::{draw, sample_size};

/// How many numbers of random generators are kept for the sets of one size.
const NUMBERS: usize = 1 << 32;

/// Some rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Set {
    #[serde(with = "saved::array")]
    made_from: Vec<u32>,
    /// The prepared rows.
    #[serde(with = "saved::array")]
    rows: Vec<f32>,
    /// Their squared lengths.
    #[serde(with = "saved::array")]
    squares: Vec<f32>,
}

/// Sets of rows of one size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct References {
    sets: Vec<Set>,
    width: usize,
}

impl References {
    /// Draws `n_sets` sets of `set_rows` rows, half of all rows at most.
    pub(crate) fn draw(
        (n_sets, set_rows, seed): (usize, usize, u64),
        features: &Features,
        columns: &Columns,
    ) -> Self {
        let n_rows = features.n_rows();
        let set_rows = sample_size(set_rows, n_rows);
        let set = |number: usize| {
            let number = set_rows.wrapping_mul(NUMBERS).wrapping_add(number);
            let made_from = draw(n_rows, set_rows, seed, Purpose::Sample, number);
            let rows = columns.gather(features, &made_from);
            let squares = rows.chunks(columns.width().max(1)).map(square).collect();
            Set { made_from, rows, squares }
        };
        Self { sets: (0..n_sets).map(set).collect(), width: columns.width() }
    }
}

impl References {
    /// Whether all rows are of this width.
    pub(crate) fn fits(&self, width: usize) -> bool {
        self.width == width && self.sets.iter().all(|set| set.rows.len() == set.squares.len() * width)
    }
}

/// The squared length of a row.
fn square(row: &[f32]) -> f32 {
    row.iter().map(|value| value * value).sum()
}

/// The smallest of `squares[j] − 2 products[j]`.
fn smallest(squares: &[f32], products: &[f32]) -> f32 {
    const LANES: usize = 8;
    let mut least = [f32::INFINITY; LANES];
    let (squares, products) = (squares.chunks_exact(LANES), products.chunks_exact(LANES));
    let (last_squares, last_products) = (squares.remainder(), products.remainder());
    for (squares, products) in squares.zip(products) {
        for lane in 0..LANES {
            let value = squares[lane] - 2.0 * products[lane];
            least[lane] = if value < least[lane] { value } else { least[lane] };
        }
    }
    let rest = last_squares.iter().zip(last_products).map(|(square, product)| square - 2.0 * product);
    least.into_iter().chain(rest).fold(f32::INFINITY, f32::min)
}

impl Ensemble for References {
    fn n_members(&self) -> usize {
        self.sets.len()
    }

    fn made_from(&self, member: usize) -> &[u32] {
        &self.sets[member].made_from
    }

    fn score(&self, member: usize, rows: &[f32], out: &mut [f64]) {
        let set = &self.sets[member];
        let (n_rows, n_set) = (out.len(), set.squares.len());
        let mut products = Array2::zeros((n_rows, n_set));
        let left = ArrayView2::from_shape((n_rows, self.width), rows);
        let right = ArrayView2::from_shape((n_set, self.width), &set.rows);
        if let (Ok(left), Ok(right)) = (left, right) {
            general_mat_mul(1.0, &left, &right.t(), 0.0, &mut products);
        }
        let products = products.as_slice().unwrap_or(&[]).chunks(n_set.max(1));
        for ((row, products), out) in rows.chunks(self.width.max(1)).zip(products).zip(out) {
            // |a − b|² = |a|² + (|b|² − 2ab)
            let nearest = square(row) + smallest(&set.squares, products);
            *out = libm::sqrt(f64::from(nearest.max(0.0)));
        }
    }

    fn truncate(&mut self, n_members: usize) {
        self.sets.truncate(n_members);
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::testing::blobs;

    use super::*;

    #[test]
    fn distances_are_those_of_a_plain_search() {
        let data = blobs(200, 5, 3, 1);
        let columns = Columns::new(&data.schema, &data.features);
        let references = References::draw((6, 32, 7), &data.features, &columns);
        let all: Vec<u32> = (0..200).collect();
        let rows = columns.gather(&data.features, &all);
        let mut scores = vec![0.0; 200];
        for member in 0..references.n_members() {
            references.score(member, &rows, &mut scores);
            for (row, score) in rows.chunks(5).zip(&scores) {
                let distance = |other: &[f32]| -> f64 {
                    let squares = row.iter().zip(other).map(|(a, b)| f64::from(a - b) * f64::from(a - b));
                    libm::sqrt(squares.sum())
                };
                let nearest = references.sets[member].rows.chunks(5).map(distance).fold(f64::MAX, f64::min);
                assert!((nearest - score).abs() < 2e-3, "{nearest} {score}");
            }
        }
    }

    #[test]
    fn a_row_alone_gets_the_score_it_has_in_a_batch() {
        let data = blobs(150, 7, 3, 2);
        let columns = Columns::new(&data.schema, &data.features);
        let references = References::draw((3, 64, 7), &data.features, &columns);
        let rows = columns.gather(&data.features, &(0..150).collect::<Vec<u32>>());
        let (mut together, mut alone) = (vec![0.0; 150], [0.0]);
        references.score(1, &rows, &mut together);
        for (row, score) in rows.chunks(7).zip(together) {
            references.score(1, row, &mut alone);
            assert_eq!(alone[0], score);
        }
    }
}
