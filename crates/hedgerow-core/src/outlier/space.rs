//! Reference rows as points, and the distances of other rows to the nearest of them.

use ndarray::linalg::general_mat_mul;
use ndarray::{Array1, Array2, ArrayView2, Axis, s};

use super::directions::directions;
use crate::data::{Features, Schema};
use crate::par::Par;
use crate::prepare::Preparation;

/// Coordinates of a point. Rows of more columns are seen in the directions in which the reference rows vary most.
const MOST_COORDINATES: usize = 32;
/// Prepared values farther from 0 count as this: their squares must have a sum in single precision.
const LARGEST: f32 = 1e9;
/// Rows whose distances are computed together.
const BLOCK: usize = 64;
/// Nearest points that count, and one more in the place of one that is left out.
pub(super) const NEAREST: usize = 5;
const LOOKED_FOR: usize = NEAREST + 1;

/// The nearest points of a row: squared distances in rising order with the numbers of the points. There may be fewer.
pub(super) type Nearest = Vec<(f32, u32)>;

/// Prepared columns, seen in few directions.
#[derive(Debug)]
struct View {
    preparation: Preparation,
    center: Array1<f32>,
    /// A column for each direction; none where there are few columns.
    basis: Option<Array2<f32>>,
}

impl View {
    fn new(schema: &Schema, features: &Features) -> Self {
        let preparation = Preparation::of(schema, features);
        let mut view = Self { center: Array1::zeros(preparation.width()), preparation, basis: None };
        let mut rows = view.map(features.to_array(0..features.n_rows()).view());
        view.center = rows.mean_axis(Axis(0)).unwrap_or_else(|| view.center.clone());
        if rows.ncols() > MOST_COORDINATES {
            rows -= &view.center;
            view.basis = Some(directions(rows.view(), MOST_COORDINATES));
        }
        view
    }

    fn map(&self, x: ArrayView2<'_, f32>) -> Array2<f32> {
        let mut rows = self.preparation.map_narrow(x);
        for mut row in rows.rows_mut() {
            for (value, center) in row.iter_mut().zip(&self.center) {
                // Values beyond all measure may have become infinite.
                *value = if value.is_nan() { LARGEST } else { (*value - center).clamp(-LARGEST, LARGEST) };
            }
        }
        match &self.basis {
            Some(basis) => rows.dot(basis),
            None => rows,
        }
    }
}

/// Reference rows as points.
#[derive(Debug)]
pub(super) struct Space {
    view: View,
    points: Array2<f32>,
    /// Squared lengths.
    squares: Vec<f32>,
}

impl Space {
    pub(super) fn new(schema: &Schema, features: &Features, par: &Par) -> Self {
        let view = View::new(schema, features);
        let blocks = par.map(features.n_rows().div_ceil(BLOCK), |block| {
            let rows = block * BLOCK..((block + 1) * BLOCK).min(features.n_rows());
            view.map(features.to_array(rows).view())
        });
        let width = view.basis.as_ref().map_or(view.preparation.width(), Array2::ncols);
        let mut points = Array2::zeros((features.n_rows(), width));
        for (block, mut to) in blocks.iter().zip(points.axis_chunks_iter_mut(Axis(0), BLOCK)) {
            to.assign(block);
        }
        let squares = points.rows().into_iter().map(|row| row.iter().map(|v| v * v).sum()).collect();
        Self { view, points, squares }
    }

    /// The nearest points of each row, by blocks of rows.
    pub(super) fn nearest(&self, x: ArrayView2<'_, f32>, par: &Par) -> Vec<Nearest> {
        let blocks: Vec<_> = x.axis_chunks_iter(Axis(0), BLOCK).collect();
        let found = par.map(blocks.len(), |block| self.search(self.view.map(blocks[block]).view(), |_| None));
        found.into_iter().flatten().collect()
    }

    /// The nearest other points of each point.
    pub(super) fn nearest_others(&self, par: &Par) -> Vec<Nearest> {
        let n = self.points.nrows();
        let found = par.map(n.div_ceil(BLOCK), |block| {
            let rows = block * BLOCK..((block + 1) * BLOCK).min(n);
            self.search(self.points.slice(s![rows.clone(), ..]), |row| Some(rows.start + row))
        });
        found.into_iter().flatten().collect()
    }

    /// The nearest points of some rows, without one that is left out of each.
    fn search(&self, rows: ArrayView2<'_, f32>, left_out: impl Fn(usize) -> Option<usize>) -> Vec<Nearest> {
        let mut products = Array2::zeros((rows.nrows(), self.points.nrows()));
        general_mat_mul(-2.0, &rows, &self.points.t(), 0.0, &mut products);
        let nearest = |(number, mut row): (usize, ndarray::ArrayViewMut1<'_, f32>)| {
            // |a − b|² = |a|² + (|b|² − 2ab)
            row.iter_mut().zip(&self.squares).for_each(|(value, square)| *value += square);
            if let Some(place) = left_out(number) {
                row[place] = f32::INFINITY;
            }
            let own: f32 = rows.row(number).iter().map(|v| v * v).sum();
            let found = row.as_slice().map(smallest).unwrap_or_default();
            found.into_iter().map(|(value, place)| ((own + value).max(0.0), place)).collect()
        };
        products.axis_iter_mut(Axis(0)).enumerate().map(nearest).collect()
    }
}

/// The smallest finite values in rising order with their places; of equals, the first.
fn smallest(values: &[f32]) -> Nearest {
    const LANES: usize = 16;
    let mut found: Nearest = Vec::with_capacity(LOOKED_FOR + 1);
    let mut bound = f32::INFINITY;
    for (number, chunk) in values.chunks(LANES).enumerate() {
        // Most chunks hold nothing small: one look at all of it.
        let least =
            chunk.iter().fold(f32::INFINITY, |least, value| if *value < least { *value } else { least });
        if least >= bound {
            continue;
        }
        for (at, &value) in chunk.iter().enumerate() {
            if value < bound {
                let place = found.partition_point(|(other, _)| *other <= value);
                found.insert(place, (value, (number * LANES + at) as u32));
                found.truncate(LOOKED_FOR);
                if found.len() == LOOKED_FOR {
                    bound = found[LOOKED_FOR - 1].0;
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Rng};
    use crate::testing::{blobs, mixed};

    #[test]
    fn like_a_plain_search() {
        let data = mixed(230, 3, 4);
        let space = Space::new(&data.schema, &data.features, &Par::sequential());
        let x = mixed(50, 3, 5).features.to_array(0..50);
        let found = space.nearest(x.view(), &Par::new(2).unwrap());
        let rows = space.view.map(x.view());
        for (row, found) in rows.rows().into_iter().zip(found) {
            let distance = |point: ndarray::ArrayView1<'_, f32>| {
                row.iter().zip(point).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>()
            };
            let mut all: Vec<f64> = space.points.rows().into_iter().map(distance).collect();
            assert_eq!(found.len(), LOOKED_FOR);
            for (square, place) in &found {
                assert!((f64::from(*square) - all[*place as usize]).abs() < 1e-4);
            }
            all.sort_by(f64::total_cmp);
            assert!(
                found.iter().zip(&all).all(|((square, _), best)| (f64::from(*square) - best).abs() < 1e-4)
            );
        }
    }

    #[test]
    fn a_point_is_not_its_own_neighbor() {
        let data = blobs(130, 3, 2, 1);
        let space = Space::new(&data.schema, &data.features, &Par::sequential());
        for (number, found) in space.nearest_others(&Par::sequential()).iter().enumerate() {
            assert!(found.iter().all(|(_, place)| *place as usize != number) && found.len() == LOOKED_FOR);
        }
        let alone = Space::new(&data.schema, &data.features.select(&[0]), &Par::sequential());
        assert!(alone.nearest_others(&Par::sequential())[0].is_empty());
    }

    #[test]
    fn wide_rows_keep_most_of_their_distances() {
        let mut rng = Rng::new(3, Purpose::Data, 0);
        let hidden = Array2::from_shape_fn((300, 8), |_| rng.normal() as f32);
        let turn = Array2::from_shape_fn((8, 200), |_| rng.normal() as f32);
        let rows = hidden.dot(&turn);
        let space = Space::new(&Schema::unnamed(200), &Features::from_view(rows.view()), &Par::sequential());
        assert_eq!(space.points.ncols(), 8, "they vary in eight directions");
        let near = space.nearest(rows.view(), &Par::sequential());
        assert!(near.iter().enumerate().all(|(row, found)| found[0].1 as usize == row && found[0].0 < 1e-2));
    }
}
