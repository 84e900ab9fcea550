//! Distances in units of length scales.

use hedgerow_core::Par;
use ndarray::linalg::general_mat_mul;
use ndarray::{Array1, Array2, ArrayView2, Axis, s};
use serde::{Deserialize, Serialize};

use super::pairs::Same;
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

/// Squared Euclidean distances between rows of `a` and rows of `b`, each piece of a row handed through `finish`. Where they are the same
/// rows, half of them are computed, and the others copied if they are wanted.
pub(super) fn square_distances(
    a: &Array2<f64>,
    b: &Array2<f64>,
    same: Same,
    par: &Par,
    finish: impl Fn(&mut [f64]) + Sync,
) -> Array2<f64> {
    let (of_a, of_b) = (norms(a), norms(b));
    let mut out = Array2::zeros((a.nrows(), b.nrows()));
    on_rows(&mut out, TILE, par, |first, mut out| {
        let end = first + out.nrows();
        let width = if same == Same::No { b.nrows() } else { end };
        let (own, others) = (a.slice(s![first..end, ..]), b.slice(s![..width, ..]));
        let mut out = out.slice_mut(s![.., ..width]);
        general_mat_mul(-2.0, &own, &others.t(), 0.0, &mut out);
        for (mut row, own) in out.rows_mut().into_iter().zip(&of_a[first..]) {
            if let Some(row) = row.as_slice_mut() {
                row.iter_mut().zip(&of_b).for_each(|(v, other)| *v = (own + other + *v).max(0.0));
                finish(row);
            }
        }
    });
    if same == Same::Whole {
        mirror(&mut out, par);
    }
    out
}

fn norms(x: &Array2<f64>) -> Vec<f64> {
    x.rows().into_iter().map(|row| row.dot(&row)).collect()
}
