//! Covariances of all rows with a few, in single precision: what choosing active rows takes most of its time for.
//!
//! Columns are made several at a time, as a matrix product, and kept as long as there is room: the IVMs of a classifier often
//! choose the same rows. Where squared distances are at hand, no product is needed at all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use hedgerow_core::Par;
use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView1, ArrayView2, Axis, s};

use super::fast::{exp_all, square_distance};
use crate::kernel::Kernel;
use crate::linalg::{narrow_dot, on_rows};

/// Rows computed together.
pub(super) const CHUNK: usize = 512;
/// Bytes of columns that are kept.
const MOST_BYTES: usize = 768 << 20;

/// Where squared distances come from.
pub(super) enum Base<'a> {
    /// From rows, with their squared norms.
    Rows { x: ArrayView2<'a, f32>, norms: Vec<f32> },
    /// From a table.
    Squares(&'a Array2<f32>),
}

/// Covariances between rows.
pub(super) struct Columns<'a> {
    kind: Kind<'a>,
    kept: Mutex<CachedColumns>,
}

enum Kind<'a> {
    /// variance · exp(slope · r²).
    Distance { base: Base<'a>, slope: f64, variance: f64 },
    /// Any kernel, in double precision.
    Any { kernel: &'a Kernel, x: Array2<f64> },
}

#[derive(Default)]
struct CachedColumns {
    places: HashMap<usize, Column>,
    bytes: usize,
}

/// One column of a table: the covariances of all rows with one.
#[derive(Clone)]
pub(super) struct Column {
    table: Arc<Array2<f32>>,
    place: usize,
}

impl Column {
    /// The covariances with a row and those after it.
    pub(super) fn from(&self, row: usize) -> impl Iterator<Item = &f32> {
        self.table.slice(s![row.., self.place]).into_iter()
    }

    /// The covariance with a row.
    pub(super) fn at(&self, row: usize) -> f32 {
        self.table[(row, self.place)]
    }
}

impl<'a> Base<'a> {
    /// From rows.
    pub(super) fn rows(x: ArrayView2<'a, f32>) -> Self {
        let norm = |row: ArrayView1<'_, f32>| row.iter().map(|v| v * v).sum();
        Self::Rows { norms: x.rows().into_iter().map(norm).collect(), x }
    }
}

/// The squared distances between all pairs of rows.
pub(super) fn squares(x: ArrayView2<'_, f32>, par: &Par) -> Array2<f32> {
    let Base::Rows { norms, .. } = Base::rows(x) else { return Array2::zeros((0, 0)) };
    let mut out = Array2::zeros((x.nrows(), x.nrows()));
    on_rows(&mut out, CHUNK, par, |first, mut part| {
        let own = x.slice(s![first..first + part.nrows(), ..]);
        general_mat_mul(-2.0, &own, &x.t(), 0.0, &mut part);
        for (mut row, norm) in part.rows_mut().into_iter().zip(&norms[first..]) {
            row.iter_mut().zip(&norms).for_each(|(v, other)| *v = (*v + norm + other).max(0.0));
        }
    });
    out
}

impl<'a> Columns<'a> {
    /// Of variance · exp(−r²/2 length²).
    pub(super) fn rbf(base: Base<'a>, length: f64, variance: f64) -> Self {
        let kind = Kind::Distance { base, slope: -0.5 * (1.0 / (length * length)), variance };
        Self { kind, kept: Mutex::default() }
    }

    /// Of any kernel.
    pub(super) fn any(kernel: &'a Kernel, x: Array2<f64>) -> Self {
        Self { kind: Kind::Any { kernel, x }, kept: Mutex::default() }
    }

    pub(super) fn n_rows(&self) -> usize {
        match &self.kind {
            Kind::Distance { base: Base::Rows { x, .. }, .. } => x.nrows(),
            Kind::Distance { base: Base::Squares(squares), .. } => squares.nrows(),
            Kind::Any { x, .. } => x.nrows(),
        }
    }

    /// The variance of each row, without noise.
    pub(super) fn diagonal(&self) -> Vec<f64> {
        match &self.kind {
            Kind::Distance { variance, .. } => vec![*variance; self.n_rows()],
            Kind::Any { kernel, x } => kernel.diagonal(x.view()).to_vec(),
        }
    }

    /// The covariances of one row with some others, in double precision.
    pub(super) fn exact(&self, row: usize, others: &[usize]) -> Vec<f64> {
        match &self.kind {
            Kind::Distance { base, slope, variance } => {
                let square = |other: usize| match base {
                    Base::Squares(squares) => f64::from(squares[(row, other)]),
                    Base::Rows { x, .. } => {
                        let [a, b] = [row, other].map(|row| x.row(row).to_slice().unwrap_or_default());
                        square_distance(a, b)
                    }
                };
                others.iter().map(|&other| variance * libm::exp(slope * square(other))).collect()
            }
            Kind::Any { kernel, x } => {
                let own = x.select(Axis(0), &[row]);
                kernel
                    .cross(x.select(Axis(0), others).view(), own.view(), &Par::sequential())
                    .column(0)
                    .to_vec()
            }
        }
    }

    /// The columns of some rows: those kept, and new ones that are kept from now on if there is room.
    pub(super) fn of(&self, rows: &[usize], par: &Par) -> Vec<Column> {
        let mut kept = self.lock();
        let fresh: Vec<usize> = rows.iter().copied().filter(|row| !kept.places.contains_key(row)).collect();
        let table = Arc::new(self.table(&fresh, par));
        let column = |place: usize| Column { table: Arc::clone(&table), place };
        let made: HashMap<usize, Column> =
            fresh.iter().enumerate().map(|(place, &row)| (row, column(place))).collect();
        let find = |row: &usize| made.get(row).or_else(|| kept.places.get(row)).cloned();
        let found = rows.iter().filter_map(find).collect();
        let bytes = table.len() * size_of::<f32>();
        if kept.bytes + bytes <= MOST_BYTES {
            kept.bytes += bytes;
            kept.places.extend(made);
        }
        found
    }

    /// A row's covariances with others whose features were gathered before; see [`Columns::gather`].
    pub(super) fn with(&self, row: usize, others: &Gathered) -> Vec<f32> {
        if let Some(column) = self.lock().places.get(&row).cloned() {
            return others.rows.iter().map(|&other| column.at(other)).collect();
        }
        match &self.kind {
            Kind::Distance { base, slope, variance } => {
                let mut values: Vec<f32> = match base {
                    Base::Squares(squares) => {
                        let of_row = squares.row(row);
                        others.rows.iter().map(|&other| of_row[other]).collect()
                    }
                    Base::Rows { x, norms } => {
                        let own = x.row(row).to_vec();
                        let square = |(features, &other): (ArrayView1<'_, f32>, &usize)| {
                            let dot = narrow_dot(features.to_slice().unwrap_or_default(), &own);
                            (norms[row] + norms[other] - 2.0 * dot).max(0.0)
                        };
                        others.features.rows().into_iter().zip(&others.rows).map(square).collect()
                    }
                };
                exp_all(&mut values, *slope as f32, *variance as f32);
                values
            }
            Kind::Any { .. } => self.exact(row, &others.rows).into_iter().map(|v| v as f32).collect(),
        }
    }

    /// Some rows with their features side by side.
    pub(super) fn gather(&self, rows: Vec<usize>) -> Gathered {
        let features = match &self.kind {
            Kind::Distance { base: Base::Rows { x, .. }, .. } => x.select(Axis(0), &rows),
            _ => Array2::zeros((0, 0)),
        };
        Gathered { rows, features }
    }

    /// Row after row, the covariances with each of `picked`.
    fn table(&self, picked: &[usize], par: &Par) -> Array2<f32> {
        let (base, slope, variance) = match &self.kind {
            Kind::Distance { base, slope, variance } => (base, *slope as f32, *variance as f32),
            Kind::Any { kernel, x } => {
                let exact = kernel.cross(x.view(), x.select(Axis(0), picked).view(), par);
                return exact.mapv(|v| v as f32);
            }
        };
        let others = self.gather(picked.to_vec()).features;
        let of_others: Vec<f32> = match base {
            Base::Rows { norms, .. } => picked.iter().map(|&row| norms[row]).collect(),
            Base::Squares(_) => Vec::new(),
        };
        let mut table = Array2::zeros((self.n_rows(), picked.len()));
        on_rows(&mut table, CHUNK, par, |first, mut part| {
            match base {
                Base::Squares(squares) => {
                    for (i, mut values) in part.rows_mut().into_iter().enumerate() {
                        let of_row = squares.row(first + i);
                        values.iter_mut().zip(picked).for_each(|(v, &other)| *v = of_row[other]);
                    }
                }
                Base::Rows { x, norms } => {
                    let own = x.slice(s![first..first + part.nrows(), ..]);
                    general_mat_mul(-2.0, &own, &others.t(), 0.0, &mut part);
                    for (mut values, norm) in part.rows_mut().into_iter().zip(&norms[first..]) {
                        let sums = values.iter_mut().zip(&of_others);
                        sums.for_each(|(v, other)| *v = (*v + norm + other).max(0.0));
                    }
                }
            }
            part.as_slice_mut().into_iter().for_each(|values| exp_all(values, slope, variance));
        });
        table
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, CachedColumns> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Rows with their features side by side.
pub(super) struct Gathered {
    pub(super) rows: Vec<usize>,
    features: Array2<f32>,
}

#[cfg(test)]
mod tests {
    use hedgerow_core::rng::{Purpose, Rng};

    use super::*;

    #[test]
    fn every_way_gives_the_covariances_of_the_kernel() {
        let par = Par::new(2).unwrap();
        let mut rng = Rng::new(1, Purpose::Data, 0);
        let x = Array2::from_shape_fn((700, 9), |_| rng.normal() as f32);
        let wide = x.mapv(f64::from);
        let picked = [3, 699, 20, 512];
        let kernel = Kernel::rbf(1.7).scaled(6.0);
        let naive = kernel.cross(wide.view(), wide.select(Axis(0), &picked).view(), &par);
        let table = squares(x.view(), &par);
        for columns in [
            Columns::rbf(Base::rows(x.view()), 1.7, 6.0),
            Columns::rbf(Base::Squares(&table), 1.7, 6.0),
            Columns::any(&kernel, wide.clone()),
        ] {
            let gathered = columns.gather(vec![0, 5, 600]);
            let before = columns.with(3, &gathered);
            let found = columns.of(&picked, &par);
            let again = columns.of(&[20, 7], &par);
            let close = |a: f32, b: f64| (f64::from(a) - b).abs() < 2e-5;
            assert!((0..700).all(|row| (0..4).all(|p| close(found[p].at(row), naive[(row, p)]))));
            assert!((0..700).all(|row| again[0].at(row) == found[2].at(row)));
            for (i, row) in [0, 5, 600].into_iter().enumerate() {
                assert!(close(before[i], naive[(row, 0)]));
                assert_eq!(columns.with(3, &gathered)[i], found[0].at(row), "from what is kept");
            }
            let exact = columns.exact(5, &picked);
            assert!((0..4).all(|p| (exact[p] - naive[(5, p)]).abs() < 1e-5));
            assert!(columns.diagonal().iter().all(|v| (v - 6.0).abs() < 1e-12));
        }
    }
}
