//! Covariances of all rows with a few, in single precision: what choosing active rows takes most of its time for.
//!
//! Columns are made several at a time, as a matrix product, and kept as long as there is room: the IVMs of a classifier often
//! choose the same rows. Where squared distances are at hand, no product is needed at all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use hedgerow_core::Par;
use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, s};

use super::fast::{dot, exp_all, square_distance};
use crate::kernel::{Kernel, Shape};

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
    kept: Mutex<Kept>,
}

enum Kind<'a> {
    /// A variance times a shape of r², in units of a length.
    Distance { base: Base<'a>, shape: Shape, per_square: f64, variance: f64 },
    /// Any kernel, in double precision.
    Any { kernel: &'a Kernel, x: Array2<f64> },
}

#[derive(Default)]
struct Kept {
    places: HashMap<usize, Column>,
    bytes: usize,
}

/// One column of a table: the covariances of all rows with one.
#[derive(Clone)]
pub(super) struct Column {
    table: Arc<Vec<f32>>,
    width: usize,
    place: usize,
}

impl Column {
    /// The covariances with a row and those after it.
    pub(super) fn from(&self, row: usize) -> impl Iterator<Item = &f32> {
        self.table[row * self.width + self.place..].iter().step_by(self.width)
    }

    /// The covariance with a row.
    pub(super) fn at(&self, row: usize) -> f32 {
        self.table[row * self.width + self.place]
    }
}

impl<'a> Base<'a> {
    /// From rows.
    pub(super) fn rows(x: ArrayView2<'a, f32>) -> Self {
        let norm = |row: ndarray::ArrayView1<'_, f32>| row.iter().map(|v| v * v).sum();
        Self::Rows { norms: x.rows().into_iter().map(norm).collect(), x }
    }
}

/// The squared distances between all pairs of rows.
pub(super) fn squares(x: ArrayView2<'_, f32>, par: &Par) -> Array2<f32> {
    let Base::Rows { norms, .. } = Base::rows(x) else { return Array2::zeros((0, 0)) };
    let n = x.nrows();
    let mut out = Array2::zeros((n, n));
    if let Some(values) = out.as_slice_mut() {
        par.for_chunks(values, CHUNK * n.max(1), |chunk, values| {
            let first = chunk * CHUNK;
            let Ok(mut part) = ArrayViewMut2::from_shape((values.len() / n.max(1), n), values) else {
                return;
            };
            let own = x.slice(s![first..first + part.nrows(), ..]);
            general_mat_mul(-2.0, &own, &x.t(), 0.0, &mut part);
            for (mut row, norm) in part.rows_mut().into_iter().zip(&norms[first..]) {
                row.iter_mut().zip(&norms).for_each(|(v, other)| *v = (*v + norm + other).max(0.0));
            }
        });
    }
    out
}

impl<'a> Columns<'a> {
    /// Of variance · shape(r²/length²).
    pub(super) fn new(base: Base<'a>, shape: Shape, length: f64, variance: f64) -> Self {
        let kind = Kind::Distance { base, shape, per_square: 1.0 / (length * length), variance };
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
            Kind::Distance { base, shape, per_square, variance } => {
                let square = |other: usize| match base {
                    Base::Squares(squares) => f64::from(squares[(row, other)]),
                    Base::Rows { x, .. } => match (x.row(row).to_slice(), x.row(other).to_slice()) {
                        (Some(a), Some(b)) => square_distance(a, b),
                        _ => square_distance(&x.row(row).to_vec(), &x.row(other).to_vec()),
                    },
                };
                others.iter().map(|&other| variance * shape.value(square(other) * per_square)).collect()
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
        let known = |row: &usize| self.lock().places.get(row).cloned();
        let mut found: Vec<Option<Column>> = rows.iter().map(known).collect();
        let fresh: Vec<usize> =
            rows.iter().zip(&found).filter(|(_, f)| f.is_none()).map(|(r, _)| *r).collect();
        if !fresh.is_empty() {
            let table = Arc::new(self.table(&fresh, par));
            let column = |place| Column { table: Arc::clone(&table), width: fresh.len(), place };
            let mut kept = self.lock();
            let bytes = table.len() * size_of::<f32>();
            if kept.bytes + bytes <= MOST_BYTES {
                kept.bytes += bytes;
                fresh
                    .iter()
                    .enumerate()
                    .for_each(|(place, row)| drop(kept.places.insert(*row, column(place))));
            }
            drop(kept);
            let mut places = 0..fresh.len();
            found
                .iter_mut()
                .filter(|f| f.is_none())
                .zip(&mut places)
                .for_each(|(f, at)| *f = Some(column(at)));
        }
        found.into_iter().flatten().collect()
    }

    /// A row's covariances with others whose features were gathered before; see [`Columns::gather`].
    pub(super) fn with(&self, row: usize, others: &Gathered) -> Vec<f32> {
        if let Some(column) = self.lock().places.get(&row).cloned() {
            return others.rows.iter().map(|&other| column.at(other)).collect();
        }
        match &self.kind {
            Kind::Distance { base, shape, per_square, variance } => {
                let mut values: Vec<f32> = match base {
                    Base::Squares(squares) => {
                        let of_row = squares.row(row);
                        others.rows.iter().map(|&other| of_row[other]).collect()
                    }
                    Base::Rows { x, norms } => {
                        let own = x.row(row).to_vec();
                        let width = own.len().max(1);
                        let dots = others.features.chunks(width).map(|other| dot(other, &own));
                        let pairs = dots.zip(&others.rows);
                        pairs.map(|(dot, &other)| (norms[row] + norms[other] - 2.0 * dot).max(0.0)).collect()
                    }
                };
                finish(&mut values, *shape, *per_square, *variance);
                values
            }
            Kind::Any { .. } => self.exact(row, &others.rows).into_iter().map(|v| v as f32).collect(),
        }
    }

    /// Some rows with their features side by side.
    pub(super) fn gather(&self, rows: Vec<usize>) -> Gathered {
        let features = match &self.kind {
            Kind::Distance { base: Base::Rows { x, .. }, .. } => {
                let mut features = Vec::with_capacity(rows.len() * x.ncols());
                for &row in &rows {
                    match x.row(row).to_slice() {
                        Some(values) => features.extend_from_slice(values),
                        None => features.extend(x.row(row)),
                    }
                }
                features
            }
            _ => Vec::new(),
        };
        Gathered { rows, features }
    }

    /// Row after row, the covariances with each of `picked`.
    fn table(&self, picked: &[usize], par: &Par) -> Vec<f32> {
        let width = picked.len();
        let mut table = vec![0.0; self.n_rows() * width];
        match &self.kind {
            Kind::Distance { base: Base::Squares(squares), shape, per_square, variance } => {
                par.for_chunks(&mut table, CHUNK * width, |chunk, part| {
                    for (i, values) in part.chunks_mut(width).enumerate() {
                        let of_row = squares.row(chunk * CHUNK + i);
                        values.iter_mut().zip(picked).for_each(|(v, &other)| *v = of_row[other]);
                    }
                    finish(part, *shape, *per_square, *variance);
                });
            }
            Kind::Distance { base: Base::Rows { x, norms }, shape, per_square, variance } => {
                let others = x.select(Axis(0), picked);
                let of_others: Vec<f32> = picked.iter().map(|&row| norms[row]).collect();
                par.for_chunks(&mut table, CHUNK * width, |chunk, part| {
                    let first = chunk * CHUNK;
                    let n = part.len() / width;
                    {
                        let Ok(mut out) = ArrayViewMut2::from_shape((n, width), &mut *part) else { return };
                        general_mat_mul(-2.0, &x.slice(s![first..first + n, ..]), &others.t(), 0.0, &mut out);
                    }
                    for (values, norm) in part.chunks_mut(width).zip(&norms[first..]) {
                        let sums = values.iter_mut().zip(&of_others);
                        sums.for_each(|(v, other)| *v = (*v + norm + other).max(0.0));
                    }
                    finish(part, *shape, *per_square, *variance);
                });
            }
            Kind::Any { kernel, x } => {
                let exact = kernel.cross(x.view(), x.select(Axis(0), picked).view(), par);
                table.iter_mut().zip(&exact).for_each(|(to, from)| *to = *from as f32);
            }
        }
        table
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Rows with their features side by side.
pub(super) struct Gathered {
    pub(super) rows: Vec<usize>,
    features: Vec<f32>,
}

/// Squared distances become covariances.
fn finish(values: &mut [f32], shape: Shape, per_square: f64, variance: f64) {
    if shape == Shape::Rbf {
        exp_all(values, (-0.5 * per_square) as f32, variance as f32);
    } else {
        values.iter_mut().for_each(|v| *v = (variance * shape.value(f64::from(*v) * per_square)) as f32);
    }
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
        for (shape, kernel) in [
            (Shape::Rbf, Kernel::rbf(1.7).scaled(6.0)),
            (Shape::Matern { nu: 1.5 }, Kernel::matern(1.5, 1.7).scaled(6.0)),
        ] {
            let naive = kernel.cross(wide.view(), wide.select(Axis(0), &picked).view(), &par);
            let table = squares(x.view(), &par);
            for columns in [
                Columns::new(Base::rows(x.view()), shape, 1.7, 6.0),
                Columns::new(Base::Squares(&table), shape, 1.7, 6.0),
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
}
