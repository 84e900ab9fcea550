//! The design matrix, never whole: blocks of it are made when they are needed, and kept only where they are small.
//!
//! Column `n` is the kernel around training row `n`; the column after the last row is the bias, all ones. Sums over rows run in strips
//! whose number does not depend on the threads, so the same data give the same bits.

use hedgerow_core::Par;
use hedgerow_gp::Kernel;
use ndarray::linalg::general_mat_mul;
use ndarray::{Array, Array1, Array2, ArrayView2, Axis, CowArray, Dimension, Ix2, s};
use serde::{Deserialize, Serialize};

/// Rows of a block.
const BLOCK: usize = 256;
/// Strips that sums are made of; fewer for many columns, since each takes a matrix.
const STRIPS: usize = 8;
const MANY_COLUMNS: usize = 600;
/// Bytes of columns that are kept, at most.
const MOST_KEPT: usize = 64 << 20;

/// Rows and the kernel around them.
#[derive(Clone, Copy)]
pub(crate) struct Design<'a> {
    pub(crate) x: &'a Array2<f64>,
    pub(crate) kernel: &'a Kernel,
}

impl Design<'_> {
    pub(crate) fn n_rows(&self) -> usize {
        self.x.nrows()
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

    /// Some columns of all rows, or of those given, to be summed over more than once.
    pub(crate) fn table<'b>(&'b self, columns: &[usize], rows: Option<&'b [usize]>, par: &Par) -> Table<'b> {
        let mut table = self.passing(columns, rows);
        let (n, m) = (table.n_rows(), columns.len());
        if n * m * size_of::<f64>() <= MOST_KEPT && m > 0 {
            table.phi = Array2::from_shape_vec((n, m), table.each_block(m, par, owned)).ok();
        }
        table
    }

    /// The same to be summed over once: nothing is kept.
    pub(crate) fn passing<'b>(&'b self, columns: &[usize], rows: Option<&'b [usize]>) -> Table<'b> {
        Table { design: *self, centers: self.centers(columns), rows, phi: None }
    }

    /// `Φw` for all rows.
    pub(crate) fn multiply(&self, columns: &[usize], weights: &Array1<f64>, par: &Par) -> Vec<f64> {
        self.passing(columns, None).multiply(weights, par)
    }
}

/// Some columns of some rows. They are kept if there is room, and made again otherwise.
pub(crate) struct Table<'a> {
    design: Design<'a>,
    centers: Centers,
    rows: Option<&'a [usize]>,
    phi: Option<Array2<f64>>,
}

impl<'a> Table<'a> {
    fn n_rows(&self) -> usize {
        self.rows.map_or(self.design.n_rows(), <[usize]>::len)
    }

    fn n_columns(&self) -> usize {
        self.centers.rows.nrows() + usize::from(self.centers.bias.is_some())
    }

    /// Rows of the matrix, made unless they were kept.
    fn block(&self, first: usize, last: usize) -> CowArray<'_, f64, Ix2> {
        if let Some(phi) = &self.phi {
            return phi.slice(s![first..last, ..]).into();
        }
        let x: CowArray<'_, f64, Ix2> = match self.rows {
            Some(rows) => self.design.x.select(Axis(0), &rows[first..last]).into(),
            None => self.design.x.slice(s![first..last, ..]).into(),
        };
        self.centers.values(self.design.kernel, x.view(), &Par::sequential()).into()
    }

    /// Some of the columns, by their places here.
    pub(crate) fn narrow(&self, places: &[usize]) -> Table<'a> {
        let bias = self.centers.bias;
        let row = |place: usize| if bias.is_some_and(|b| place > b) { place - 1 } else { place };
        let rows: Vec<usize> = places.iter().filter(|p| Some(**p) != bias).map(|p| row(*p)).collect();
        let centers = Centers {
            rows: self.centers.rows.select(Axis(0), &rows),
            bias: bias.and_then(|b| places.iter().position(|p| *p == b)),
        };
        let phi = self.phi.as_ref().map(|phi| {
            let mut out = Array2::zeros((phi.nrows(), places.len()));
            for (from, mut to) in phi.rows().into_iter().zip(out.rows_mut()) {
                to.iter_mut().zip(places).for_each(|(to, place)| *to = from[*place]);
            }
            out
        });
        Table { design: self.design, centers, rows: self.rows, phi }
    }

    /// `ΦᵀBΦ` and `ΦᵀV`, of one value a row or several. `weights` are the diagonal of B; none for ones.
    pub(crate) fn sums(
        &self,
        weights: Option<&[f64]>,
        values: ArrayView2<'_, f64>,
        par: &Par,
    ) -> (Array2<f64>, Array2<f64>) {
        let (n_rows, m) = (self.n_rows(), self.n_columns());
        let n_blocks = n_rows.div_ceil(BLOCK);
        let n_strips = if m > MANY_COLUMNS { 2 } else { STRIPS }.min(n_blocks.max(1));
        let strips = par.map(n_strips, |strip| {
            let mut gram = Array2::zeros((m, m));
            let mut moments = Array2::zeros((m, values.ncols()));
            let blocks = strip * n_blocks / n_strips..(strip + 1) * n_blocks / n_strips;
            for block in blocks.take_while(|_| !par.is_stopped()) {
                let (first, last) = (block * BLOCK, ((block + 1) * BLOCK).min(n_rows));
                let phi = self.block(first, last);
                add_moments(&phi.view(), &values.slice(s![first..last, ..]), &mut moments);
                match weights {
                    None => add_square(&phi.t(), &phi.view(), &mut gram),
                    Some(weights) => {
                        let mut weighted = phi.to_owned();
                        for (mut row, weight) in weighted.rows_mut().into_iter().zip(&weights[first..last]) {
                            row *= *weight;
                        }
                        add_square(&weighted.t(), &phi.view(), &mut gram);
                    }
                }
            }
            (gram, moments)
        });
        let mut gram = Array2::zeros((m, m));
        let mut moments = Array2::zeros((m, values.ncols()));
        for (part, values) in strips {
            gram += &part;
            moments += &values;
        }
        for i in 0..m {
            for j in 0..i {
                gram[(j, i)] = gram[(i, j)];
            }
        }
        (gram, moments)
    }

    /// `Φw`.
    pub(crate) fn multiply(&self, weights: &Array1<f64>, par: &Par) -> Vec<f64> {
        self.each_block(1, par, |phi| phi.dot(weights))
    }

    /// `ΦW`, of several weights a column.
    pub(crate) fn multiply_all(&self, weights: &Array2<f64>, par: &Par) -> Array2<f64> {
        let products = self.each_block(weights.ncols(), par, |phi| phi.dot(weights));
        Array2::from_shape_vec((self.n_rows(), weights.ncols()), products).unwrap_or_default()
    }

    /// `width` numbers a row that are made of the columns, a block of rows at a time.
    fn each_block<D: Dimension>(
        &self,
        width: usize,
        par: &Par,
        make: impl Fn(CowArray<'_, f64, Ix2>) -> Array<f64, D> + Send + Sync,
    ) -> Vec<f64> {
        let mut out = vec![0.0; self.n_rows() * width];
        if self.n_columns() > 0 {
            par.for_chunks(&mut out, BLOCK * width, |chunk, out| {
                let first = chunk * BLOCK;
                let made = make(self.block(first, first + out.len() / width));
                out.iter_mut().zip(&made).for_each(|(to, from)| *to = *from);
            });
        }
        out
    }
}

fn owned(block: CowArray<'_, f64, Ix2>) -> Array2<f64> {
    block.into_owned()
}

/// The rows that columns are kernels around.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Centers {
    #[serde(with = "hedgerow_core::saved::array")]
    pub(crate) rows: Array2<f64>,
    /// Where the bias is among the columns.
    pub(crate) bias: Option<usize>,
}

impl Centers {
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
fn add_square(a: &ArrayView2<'_, f64>, b: &ArrayView2<'_, f64>, out: &mut Array2<f64>) {
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

/// Adds `ΦᵀV`.
fn add_moments(phi: &ArrayView2<'_, f64>, values: &ArrayView2<'_, f64>, out: &mut Array2<f64>) {
    if values.ncols() > 1 {
        general_mat_mul(1.0, &phi.t(), values, 1.0, out);
        return;
    }
    let mut out = out.column_mut(0);
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
        let design = Design { x: &x, kernel: &kernel };
        let weights: Vec<f64> = (0..1100).map(|_| rng.unit()).collect();
        let values: Vec<f64> = (0..1100).map(|_| rng.normal()).collect();
        let column = |values: &[f64]| Array1::from(values.to_vec()).insert_axis(Axis(1));
        for columns in [vec![5, 1100, 17, 3], (0..80).collect::<Vec<_>>(), vec![1100], vec![]] {
            let whole = design.centers(&columns).values(&kernel, x.view(), &Par::sequential());
            let table = design.table(&columns, None, &Par::new(2).unwrap());
            let sums = table.sums(Some(&weights), column(&values).view(), &Par::new(3).unwrap());
            assert_eq!(sums, table.sums(Some(&weights), column(&values).view(), &Par::sequential()));
            let made = Table { phi: None, ..design.table(&columns, None, &Par::sequential()) };
            assert_eq!(
                sums,
                made.sums(Some(&weights), column(&values).view(), &Par::sequential()),
                "kept or made"
            );
            let weighted = &whole * &Array1::from(weights.clone()).insert_axis(Axis(1));
            let close = |a: &Array2<f64>, b: &Array2<f64>| (a - b).iter().all(|d| d.abs() < 1e-9);
            assert!(close(&sums.0, &weighted.t().dot(&whole)));
            let moment = whole.t().dot(&Array1::from(values.clone()));
            assert!((&sums.1.column(0) - &moment).iter().all(|d| d.abs() < 1e-9));
            let both = ndarray::stack![Axis(1), moment, &moment * 2.0];
            let products = table.multiply_all(&both, &Par::new(2).unwrap());
            assert!((&products - &whole.dot(&both)).iter().all(|d| d.abs() < 1e-8));
            let two = ndarray::stack![Axis(1), Array1::from(values.clone()), Array1::from(weights.clone())];
            let (gram, moments) = table.sums(Some(&weights), two.view(), &Par::new(2).unwrap());
            assert!(gram == sums.0 && (&moments - &whole.t().dot(&two)).iter().all(|d| d.abs() < 1e-9));
            let product = design.multiply(&columns, &moment, &Par::new(2).unwrap());
            assert!(product.iter().zip(whole.dot(&moment)).all(|(a, b)| (a - b).abs() < 1e-8));
            let some: Vec<usize> = (0..1100).step_by(3).collect();
            let of_some: Vec<f64> = some.iter().map(|&row| values[row]).collect();
            let part = whole.select(Axis(0), &some);
            let table = design.table(&columns, Some(&some), &Par::sequential());
            assert!(close(
                &table.sums(None, column(&of_some).view(), &Par::sequential()).0,
                &part.t().dot(&part)
            ));
            let places: Vec<usize> = (0..columns.len()).filter(|p| p % 2 == 1).collect();
            let narrow = part.select(Axis(1), &places);
            assert!(close(
                &table.narrow(&places).sums(None, column(&of_some).view(), &Par::sequential()).0,
                &narrow.t().dot(&narrow)
            ));
        }
        let bias = design.centers(&[4, 1100, 9]);
        assert_eq!((bias.rows.nrows(), bias.bias), (2, Some(1)));
    }
}
