//! The design matrix, never whole: blocks of it are made when they are needed.
//!
//! Column `n` is the kernel around training row `n`; the column after the last row is the bias, all ones. Sums over rows run in strips
//! whose number does not depend on the threads, so the same data give the same bits.

use hedgerow_core::Par;
use hedgerow_gp::Kernel;
use ndarray::linalg::general_mat_mul;
use ndarray::{Array1, Array2, ArrayView2, Axis, s};

/// Rows of a block.
const BLOCK: usize = 256;
/// Strips that sums are made of; fewer for many columns, since each takes a matrix.
const STRIPS: usize = 8;
const MANY_COLUMNS: usize = 600;

/// Rows and the kernel around them.
#[derive(Clone, Copy)]
pub(crate) struct Design<'a> {
    pub(crate) x: ArrayView2<'a, f64>,
    pub(crate) kernel: &'a Kernel,
}

/// What rows sum up to.
pub(crate) struct Sums {
    /// `ΦᵀBΦ`.
    pub(crate) gram: Array2<f64>,
    /// `Φᵀv`.
    pub(crate) moment: Array1<f64>,
}

/// What each row counts in a sum, and what is multiplied with the columns.
#[derive(Clone, Copy)]
pub(crate) struct RowValues<'a> {
    /// The diagonal of B; none for ones.
    pub(crate) weights: Option<&'a [f64]>,
    /// v.
    pub(crate) values: &'a [f64],
}

impl Design<'_> {
    pub(crate) fn n_rows(&self) -> usize {
        self.x.nrows()
    }

    /// The same for a shorter time.
    pub(crate) fn borrowed(&self) -> Design<'_> {
        Design { x: self.x.view(), kernel: self.kernel }
    }

    /// The number of the column that is the bias.
    pub(crate) fn bias(&self) -> usize {
        self.n_rows()
    }

    /// The rows that some columns are kernels around.
    pub(crate) fn centers(&self, columns: &[usize]) -> Centers {
        let rows: Vec<usize> = columns.iter().copied().filter(|&c| c != self.bias()).collect();
        let bias = columns.iter().position(|&c| c == self.bias());
        Centers { rows: self.x.select(Axis(0), &rows), bias }
    }

    /// Some rows of the matrix.
    fn block(&self, rows: &[usize], centers: &Centers) -> Array2<f64> {
        centers.values(self.kernel, self.x.select(Axis(0), rows).view(), &Par::sequential())
    }

    fn range(&self, first: usize, last: usize, centers: &Centers) -> Array2<f64> {
        centers.values(self.kernel, self.x.slice(s![first..last, ..]), &Par::sequential())
    }

    /// `ΦᵀBΦ` and `Φᵀv` over all rows, or over those given.
    pub(crate) fn sums(
        &self,
        columns: &[usize],
        rows: Option<&[usize]>,
        of: RowValues<'_>,
        par: &Par,
    ) -> Sums {
        let centers = self.centers(columns);
        let n_rows = rows.map_or(self.n_rows(), <[usize]>::len);
        let n_blocks = n_rows.div_ceil(BLOCK);
        let n_strips = if columns.len() > MANY_COLUMNS { 2 } else { STRIPS }.min(n_blocks.max(1));
        let m = columns.len();
        let strips = par.map(n_strips, |strip| {
            let mut gram = Array2::zeros((m, m));
            let mut moment = Array1::zeros(m);
            for block in strip * n_blocks / n_strips..(strip + 1) * n_blocks / n_strips {
                let (first, last) = (block * BLOCK, ((block + 1) * BLOCK).min(n_rows));
                let phi = match rows {
                    Some(rows) => self.block(&rows[first..last], &centers),
                    None => self.range(first, last, &centers),
                };
                let at = |i: usize| rows.map_or(first + i, |rows| rows[first + i]);
                let values: Array1<f64> = (0..last - first).map(|i| of.values[at(i)]).collect();
                general_mat_vec(&phi, &values, &mut moment);
                match of.weights {
                    None => add_square(&phi.t(), &phi, &mut gram),
                    Some(weights) => {
                        let mut weighted = phi.clone();
                        for (i, mut row) in weighted.rows_mut().into_iter().enumerate() {
                            row *= weights[at(i)];
                        }
                        add_square(&weighted.t(), &phi, &mut gram);
                    }
                }
            }
            (gram, moment)
        });
        let mut sums = Sums { gram: Array2::zeros((m, m)), moment: Array1::zeros(m) };
        for (gram, moment) in strips {
            sums.gram += &gram;
            sums.moment += &moment;
        }
        for i in 0..m {
            for j in 0..i {
                sums.gram[(j, i)] = sums.gram[(i, j)];
            }
        }
        sums
    }

    /// `Φw` for all rows.
    pub(crate) fn multiply(&self, columns: &[usize], weights: &Array1<f64>, par: &Par) -> Vec<f64> {
        let centers = self.centers(columns);
        let mut out = vec![0.0; self.n_rows()];
        if columns.is_empty() {
            return out;
        }
        par.for_chunks(&mut out, BLOCK, |chunk, out| {
            let first = chunk * BLOCK;
            let phi = self.range(first, first + out.len(), &centers);
            out.iter_mut().zip(phi.dot(weights)).for_each(|(to, from)| *to = from);
        });
        out
    }
}

/// The rows that columns are kernels around.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Centers {
    pub(crate) rows: Array2<f64>,
    /// Where the bias is among the columns.
    pub(crate) bias: Option<usize>,
}

impl Centers {
    pub(crate) fn n_columns(&self) -> usize {
        self.rows.nrows() + usize::from(self.bias.is_some())
    }

    /// The columns' values at rows: a row a row.
    pub(crate) fn values(&self, kernel: &Kernel, x: ArrayView2<'_, f64>, par: &Par) -> Array2<f64> {
        let values = if self.rows.nrows() == 0 {
            Array2::zeros((x.nrows(), 0))
        } else {
            kernel.cross(x, self.rows.view(), par)
        };
        let Some(place) = self.bias else { return values };
        let mut out = Array2::ones((x.nrows(), values.ncols() + 1));
        out.slice_mut(s![.., ..place]).assign(&values.slice(s![.., ..place]));
        out.slice_mut(s![.., place + 1..]).assign(&values.slice(s![.., place..]));
        out
    }
}

/// Adds `AᵀB`, the lower half of it at least, which is symmetric: by quarters, of which one is left out.
fn add_square(
    a: &ArrayView2<'_, f64>,
    b: &Array2<f64>,
    out: &mut Array2<f64>,
) {
    let m = b.ncols();
    let half = m / 2;
    if m < 64 {
        general_mat_mul(1.0, a, b, 1.0, out);
        return;
    }
    let (mut first, mut below, mut last) =
        out.multi_slice_mut((s![..half, ..half], s![half.., ..half], s![half.., half..]));
    let (left, right) = (b.slice(s![.., ..half]), b.slice(s![.., half..]));
    general_mat_mul(1.0, &a.slice(s![..half, ..]), &left, 1.0, &mut first);
    general_mat_mul(1.0, &a.slice(s![half.., ..]), &left, 1.0, &mut below);
    general_mat_mul(1.0, &a.slice(s![half.., ..]), &right, 1.0, &mut last);
}

/// Adds `Φᵀv`.
fn general_mat_vec(phi: &Array2<f64>, values: &Array1<f64>, out: &mut Array1<f64>) {
    for (row, value) in phi.rows().into_iter().zip(values) {
        out.scaled_add(*value, &row);
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::rng::{Purpose, Rng};

    use super::*;

    #[test]
    fn sums_are_those_of_the_whole_matrix_for_any_threads() {
        let mut rng = Rng::new(1, Purpose::Data, 0);
        let x = Array2::from_shape_fn((1100, 3), |_| rng.normal());
        let kernel = Kernel::rbf(1.5);
        let design = Design { x: x.view(), kernel: &kernel };
        let weights: Vec<f64> = (0..1100).map(|_| rng.unit()).collect();
        let values: Vec<f64> = (0..1100).map(|_| rng.normal()).collect();
        for columns in [vec![5, 1100, 17, 3], (0..80).collect::<Vec<_>>(), vec![1100], vec![]] {
            let whole = design.range(0, 1100, &design.centers(&columns));
            let of = RowValues { weights: Some(&weights), values: &values };
            let sums = design.sums(&columns, None, of, &Par::new(3).unwrap());
            let same = design.sums(&columns, None, of, &Par::sequential());
            assert_eq!((&sums.gram, &sums.moment), (&same.gram, &same.moment));
            let weighted = &whole * &Array1::from(weights.clone()).insert_axis(Axis(1));
            let close = |a: &Array2<f64>, b: &Array2<f64>| (a - b).iter().all(|d| d.abs() < 1e-9);
            assert!(close(&sums.gram, &weighted.t().dot(&whole)));
            let moment = whole.t().dot(&Array1::from(values.clone()));
            assert!((&sums.moment - &moment).iter().all(|d| d.abs() < 1e-9));
            let product = design.multiply(&columns, &moment, &Par::new(2).unwrap());
            assert!(product.iter().zip(whole.dot(&moment)).all(|(a, b)| (a - b).abs() < 1e-8));
            let some: Vec<usize> = (0..1100).step_by(3).collect();
            let of = RowValues { weights: None, values: &values };
            let part = whole.select(Axis(0), &some);
            assert!(close(&design.sums(&columns, Some(&some), of, &Par::sequential()).gram, &part.t().dot(&part)));
        }
        let bias = design.centers(&[4, 1100, 9]);
        assert_eq!((bias.n_columns(), bias.bias), (3, Some(1)));
    }
}
