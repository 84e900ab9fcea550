//! Products spread over threads. Every number of a product is one sequential sum, whatever the threads.

use hedgerow_core::Par;
use ndarray::linalg::general_mat_mul;
use ndarray::{Array1, Array2, ArrayRef2, ArrayView1, ArrayView2, ArrayViewMut2, Axis, s};

use super::dot;

/// Rows that a thread works on at a time.
const ROWS: usize = 128;

/// `A v`.
pub(crate) fn mat_vec(a: &Array2<f64>, v: ArrayView1<'_, f64>, par: &Par) -> Array1<f64> {
    let v = v.to_vec();
    let mut out = vec![0.0; a.nrows()];
    par.for_chunks(&mut out, ROWS, |chunk, out| {
        for (i, out) in out.iter_mut().enumerate() {
            let row = a.row(chunk * ROWS + i);
            *out =
                row.as_slice().map_or_else(|| row.iter().zip(&v).map(|(a, b)| a * b).sum(), |r| dot(r, &v));
        }
    });
    Array1::from(out)
}

/// `A B`.
pub(crate) fn mat_mul(a: ArrayView2<'_, f64>, b: ArrayView2<'_, f64>, par: &Par) -> Array2<f64> {
    let mut out = Array2::zeros((a.nrows(), b.ncols()));
    on_rows(&mut out, ROWS, par, |first, mut rows| {
        general_mat_mul(1.0, &a.slice(s![first..first + rows.nrows(), ..]), &b, 0.0, &mut rows);
    });
    out
}

/// The same rows and columns of a matrix, in rising order, up to the diagonal; above it there are zeros.
pub(crate) fn lower_part(matrix: &Array2<f64>, places: &[usize], par: &Par) -> Array2<f64> {
    let mut part = Array2::zeros((places.len(), places.len()));
    on_rows(&mut part, ROWS, par, |first, mut rows| {
        for (i, mut to) in rows.rows_mut().into_iter().enumerate() {
            let from = matrix.row(places[first + i]);
            to.iter_mut().zip(&places[..=first + i]).for_each(|(to, &column)| *to = from[column]);
        }
    });
    part
}

/// Hands a matrix out, some rows at a time, with the number of the first.
pub(crate) fn on_rows<T: Send>(
    matrix: &mut ArrayRef2<T>,
    n_rows: usize,
    par: &Par,
    work: impl Fn(usize, ArrayViewMut2<'_, T>) + Send + Sync,
) {
    let width = matrix.ncols();
    if width == 0 {
        return;
    }
    if let Some(values) = matrix.as_slice_mut() {
        par.for_chunks(values, n_rows * width, |chunk, values| {
            if let Ok(rows) = ArrayViewMut2::from_shape((values.len() / width, width), values) {
                work(chunk * n_rows, rows);
            }
        });
    } else {
        let chunks = matrix.axis_chunks_iter_mut(Axis(0), n_rows);
        chunks.enumerate().for_each(|(chunk, rows)| work(chunk * n_rows, rows));
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::rng::{Purpose, Rng};

    use super::*;

    #[test]
    fn products_are_those_of_the_definition_for_any_threads() {
        let mut rng = Rng::new(1, Purpose::Data, 0);
        let mut draw = |r, c| Array2::from_shape_fn((r, c), |_| rng.unit() - 0.5);
        let (a, b) = (draw(300, 70), draw(70, 9));
        let (one, two) = (Par::sequential(), Par::new(2).unwrap());
        let product = mat_mul(a.view(), b.view(), &two);
        assert_eq!(product, mat_mul(a.view(), b.view(), &one));
        for ((i, j), got) in product.indexed_iter() {
            let expected: f64 = (0..70).map(|k| a[(i, k)] * b[(k, j)]).sum();
            assert!((got - expected).abs() < 1e-13);
        }
        for j in 0..9 {
            let column = mat_vec(&a, b.column(j), &two);
            assert_eq!(column, mat_vec(&a, b.column(j), &one));
            assert!(column.iter().zip(product.column(j)).all(|(x, y)| (x - y).abs() < 1e-13));
        }
        let turned = a.t().as_standard_layout().to_owned().reversed_axes();
        assert!(
            mat_vec(&turned, b.column(0), &one)
                .iter()
                .zip(product.column(0))
                .all(|(x, y)| (x - y).abs() < 1e-13)
        );
    }
}
