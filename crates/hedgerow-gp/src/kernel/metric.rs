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
    /// `M = ΛΛᵀ + diag(l)⁻²`, with few columns in `Λ`: directions that mix columns.
    Factors {
        /// Λ, row after row: as many rows as the data have columns.
        loadings: Vec<Vec<f64>>,
        /// l.
        lengths: Vec<f64>,
    },
}

impl Metric {
    /// Rows mapped so that plain Euclidean distances between them are those of the metric.
    pub(crate) fn map(&self, x: ArrayView2<'_, f64>) -> Array2<f64> {
        match self {
            Self::One(length) => x.mapv(|v| v / length),
            Self::Each(lengths) => divided(x, lengths),
            Self::Factors { loadings, lengths } => {
                let scaled = divided(x, lengths);
                let projected = x.dot(&matrix(loadings));
                ndarray::concatenate(Axis(1), &[scaled.view(), projected.view()]).unwrap_or(scaled)
            }
        }
    }

    /// Parameters: logarithms of lengths, then Λ as it is.
    pub(super) fn parameters(&self) -> Vec<f64> {
        match self {
            Self::One(length) => vec![libm::log(*length)],
            Self::Each(lengths) => lengths.iter().map(|l| libm::log(*l)).collect(),
            Self::Factors { loadings, lengths } => {
                lengths.iter().map(|l| libm::log(*l)).chain(loadings.iter().flatten().copied()).collect()
            }
        }
    }

    pub(super) fn set_parameters(&mut self, values: &[f64]) {
        match self {
            Self::One(length) => *length = libm::exp(values[0]),
            Self::Each(lengths) => lengths.iter_mut().zip(values).for_each(|(l, v)| *l = libm::exp(*v)),
            Self::Factors { loadings, lengths } => {
                let (of_lengths, of_loadings) = values.split_at(lengths.len());
                lengths.iter_mut().zip(of_lengths).for_each(|(l, v)| *l = libm::exp(*v));
                loadings.iter_mut().flatten().zip(of_loadings).for_each(|(l, v)| *l = *v);
            }
        }
    }

    /// Names of the parameters.
    pub(super) fn names(&self) -> Vec<String> {
        let each = |n: usize| (0..n).map(|d| format!("length_scale[{d}]"));
        match self {
            Self::One(_) => vec!["length_scale".into()],
            Self::Each(lengths) => each(lengths.len()).collect(),
            Self::Factors { loadings, lengths } => {
                let pairs = loadings.iter().enumerate();
                let of_loadings =
                    pairs.flat_map(|(d, row)| (0..row.len()).map(move |q| format!("loading[{d},{q}]")));
                each(lengths.len()).chain(of_loadings).collect()
            }
        }
    }

    /// Whether it fits rows of so many columns.
    pub(super) fn fits(&self, n_columns: usize) -> bool {
        let is_length = |l: &f64| l.is_finite() && *l > 0.0;
        match self {
            Self::One(length) => is_length(length),
            Self::Each(lengths) => lengths.len() == n_columns && lengths.iter().all(is_length),
            Self::Factors { loadings, lengths } => {
                let rank = loadings.first().map_or(0, Vec::len);
                let is_row = |row: &Vec<f64>| row.len() == rank && row.iter().all(|v| v.is_finite());
                lengths.len() == n_columns
                    && lengths.iter().all(is_length)
                    && loadings.len() == n_columns
                    && loadings.iter().all(is_row)
            }
        }
    }

    /// `Σ v_ij ∂r²_ij/∂θ` for each parameter, `v` being symmetric.
    pub(super) fn gradient(&self, x: ArrayView2<'_, f64>, v: &Array2<f64>) -> Vec<f64> {
        let sums = v.sum_axis(Axis(1));
        // Σ v_ij (a_i − a_j)(b_i − b_j) = 2 Σ_i sum_i a_i b_i − 2 Σ_i a_i (v b)_i
        let spread =
            |a: ArrayView2<'_, f64>, b: ArrayView2<'_, f64>, vb: &Array2<f64>, i: usize, j: usize| {
                let terms = (0..a.nrows()).map(|n| a[(n, i)] * (sums[n] * b[(n, j)] - vb[(n, j)]));
                2.0 * terms.sum::<f64>()
            };
        match self {
            Self::One(_) => {
                let mapped = self.map(x);
                let vx = v.dot(&mapped);
                vec![
                    (0..mapped.ncols()).map(|d| -2.0 * spread(mapped.view(), mapped.view(), &vx, d, d)).sum(),
                ]
            }
            Self::Each(lengths) => {
                let mapped = divided(x, lengths);
                let vx = v.dot(&mapped);
                (0..lengths.len()).map(|d| -2.0 * spread(mapped.view(), mapped.view(), &vx, d, d)).collect()
            }
            Self::Factors { loadings, lengths } => {
                let mut gradient = Self::Each(lengths.clone()).gradient(x, v);
                let projected = x.dot(&matrix(loadings));
                let vp = v.dot(&projected);
                for d in 0..loadings.len() {
                    let of_row = (0..projected.ncols()).map(|q| 2.0 * spread(x, projected.view(), &vp, d, q));
                    gradient.extend(of_row);
                }
                gradient
            }
        }
    }
}

fn divided(x: ArrayView2<'_, f64>, by: &[f64]) -> Array2<f64> {
    let inverse: Array1<f64> = by.iter().map(|l| 1.0 / l).collect();
    &x * &inverse
}

fn matrix(rows: &[Vec<f64>]) -> Array2<f64> {
    let width = rows.first().map_or(0, Vec::len);
    Array2::from_shape_fn((rows.len(), width), |(i, j)| rows[i][j])
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
