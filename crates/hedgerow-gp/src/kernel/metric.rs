//! Distances in units of length scales.

use hedgerow_core::Par;
use ndarray::linalg::general_mat_mul;
use ndarray::{Array1, Array2, ArrayView2, ArrayViewMut2, Axis, s};
use serde::{Deserialize, Serialize};

use crate::linalg::{mirror, on_rows};

/// Rows computed together. Fewer would mean that more time goes into laying out the others for the product.
const TILE: usize = 128;

/// How far two rows are apart: r² = (x − y)ᵀ M (x − y).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// One length for all columns: M = l⁻² I.
    One(f64),
    /// A length for each column (automatic relevance determination): M = diag(l)⁻².
    Each(Vec<f64>),
}

impl Metric {
    /// Rows mapped so that plain Euclidean distances between them are those of the metric.
    pub(crate) fn map(&self, x: ArrayView2<'_, f64>) -> Array2<f64> {
        match self {
            Self::One(length) => x.mapv(|v| v / length),
            Self::Each(lengths) => &x * &lengths.iter().map(|l| 1.0 / l).collect::<Array1<f64>>(),
        }
    }

    /// The lengths with their names.
    pub(super) fn named(&mut self) -> Vec<(String, &mut f64)> {
        match self {
            Self::One(length) => vec![("length_scale".into(), length)],
            Self::Each(lengths) => {
                lengths.iter_mut().enumerate().map(|(d, l)| (format!("length_scale[{d}]"), l)).collect()
            }
        }
    }

    /// Whether it fits rows of so many columns.
    pub(super) fn fits(&self, n_columns: usize) -> bool {
        let is_length = |l: &f64| l.is_finite() && *l > 0.0;
        match self {
            Self::One(length) => is_length(length),
            Self::Each(lengths) => lengths.len() == n_columns && lengths.iter().all(is_length),
        }
    }

    /// `Σ v_ij ∂r²_ij/∂θ` for each parameter, `v` being symmetric.
    pub(super) fn gradient(&self, x: ArrayView2<'_, f64>, v: &Array2<f64>) -> Vec<f64> {
        let (sums, a) = (v.sum_axis(Axis(1)), self.map(x));
        let va = v.dot(&a);
        // Σ v_ij (a_i − a_j)² = 2 Σ_i sum_i a_i² − 2 Σ_i a_i (v a)_i
        let of_column = |d: usize| {
            let terms = (0..a.nrows()).map(|n| a[(n, d)] * (sums[n] * a[(n, d)] - va[(n, d)]));
            -4.0 * terms.sum::<f64>()
        };
        match self {
            Self::One(_) => vec![(0..a.ncols()).map(of_column).sum()],
            Self::Each(_) => (0..a.ncols()).map(of_column).collect(),
        }
    }
}

/// Squared Euclidean distances between rows of `a` and rows of `b`, each piece of a row handed through `finish`.
pub(super) fn square_distances(
    a: &Array2<f64>,
    b: &Array2<f64>,
    par: &Par,
    finish: impl Fn(&mut [f64]) + Sync,
) -> Array2<f64> {
    let n = b.nrows();
    let (of_a, of_b) = (norms(a), norms(b));
    let mut out = Array2::zeros((a.nrows(), n));
    on_rows(&mut out, TILE, par, |first, mut out| {
        let own = a.slice(s![first..first + out.nrows(), ..]);
        fill(&mut out, own, b.view(), &of_a[first..], &of_b, &finish);
    });
    out
}

/// The same between rows of one matrix: half of them are computed, the others copied if they are wanted.
pub(super) fn own_square_distances(
    x: &Array2<f64>,
    is_whole: bool,
    par: &Par,
    finish: impl Fn(&mut [f64]) + Sync,
) -> Array2<f64> {
    let n = x.nrows();
    let norms = norms(x);
    let mut out = Array2::zeros((n, n));
    on_rows(&mut out, TILE, par, |first, mut out| {
        let end = first + out.nrows();
        let (own, others) = (x.slice(s![first..end, ..]), x.slice(s![..end, ..]));
        fill(&mut out.slice_mut(s![.., ..end]), own, others, &norms[first..], &norms, &finish);
    });
    if is_whole {
        mirror(&mut out, par);
    }
    out
}

fn norms(x: &Array2<f64>) -> Vec<f64> {
    x.rows().into_iter().map(|row| row.dot(&row)).collect()
}

fn fill(
    out: &mut ArrayViewMut2<'_, f64>,
    a: ArrayView2<'_, f64>,
    b: ArrayView2<'_, f64>,
    of_a: &[f64],
    of_b: &[f64],
    finish: &impl Fn(&mut [f64]),
) {
    general_mat_mul(-2.0, &a, &b.t(), 0.0, out);
    for (mut row, own) in out.rows_mut().into_iter().zip(of_a) {
        if let Some(row) = row.as_slice_mut() {
            row.iter_mut().zip(of_b).for_each(|(v, other)| *v = (own + other + *v).max(0.0));
            finish(row);
        }
    }
}
