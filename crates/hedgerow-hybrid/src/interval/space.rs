//! What the log odds of a class are made of at a row: a constant, the log odds by the trees, columns, and a Gaussian process.
//!
//! Prepared columns are scaled by the square root of their share of the impurity that trees removed, so that distances see the columns that matter (a metric that
//! a forest has learnt; the lengths of automatic relevance determination, without a search). The Gaussian process is that of inducing rows:
//! f(x) = k(x, Z) L⁻ᵀ w with L Lᵀ = k(Z, Z) and w standard normal.

use hedgerow_core::prepare::{Preparation, typical_distance};
use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::saved::{array, require};
use hedgerow_core::{Dataset, Par, Result, Schema};
use hedgerow_gp::linalg::Cholesky;
use ndarray::{Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

/// Prepared columns that take part, those that matter most.
const MOST_COLUMNS: usize = 32;
/// Inducing rows.
const MOST_BASIS: usize = 100;
/// Scaled values farther out count as this: lines must not be drawn on for ever.
const FARTHEST: f64 = 1e3;
/// Added to the diagonal of k(Z, Z).
const JITTER: f64 = 1e-6;

/// The columns that matter, scaled, and the inducing rows among them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Space {
    preparation: Preparation,
    /// Prepared columns that take part, and the factor of each.
    #[serde(with = "array")]
    columns: Vec<u32>,
    #[serde(with = "array")]
    scales: Vec<f64>,
    /// Inducing rows.
    #[serde(with = "array")]
    basis: Array2<f64>,
    /// The length scale of the kernel exp(−d²/2ℓ²).
    length: f64,
    /// L; it follows from the rest.
    #[serde(skip)]
    factor: Cholesky,
}

impl Space {
    /// The space of some rows, where columns have these shares of the impurity that was removed. It has a length of 1.
    pub(super) fn new(data: &Dataset, importances: &[f64], seed: u64) -> Self {
        let preparation = Preparation::new(data);
        let mut ranked: Vec<(u32, f64)> = Vec::new();
        for (column, importance) in data.schema.columns.iter().zip(importances) {
            let width = column.kind.n_categories().max(1);
            ranked.extend(
                (0..width).map(|_| *importance).zip(ranked.len() as u32..).map(|(i, place)| (place, i)),
            );
        }
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        ranked.truncate(MOST_COLUMNS);
        ranked.retain(|(_, importance)| *importance > 0.0);
        ranked.sort_unstable_by_key(|(place, _)| *place);
        let sum: f64 = ranked.iter().map(|(_, importance)| importance).sum();
        let scale = |importance: f64| libm::sqrt(importance * ranked.len() as f64 / sum);
        let mut space = Self {
            preparation,
            columns: ranked.iter().map(|(place, _)| *place).collect(),
            scales: ranked.iter().map(|(_, importance)| scale(*importance)).collect(),
            basis: Array2::zeros((0, ranked.len())),
            length: 1.0,
            factor: Cholesky::default(),
        };
        let n = data.n_rows();
        let drawn = Rng::new(seed, Purpose::Sample, 11).sample(n, MOST_BASIS);
        let rows = drawn.unwrap_or_else(|| (0..n).collect());
        space.basis = space.place(data.features.select(&rows).to_array(0..rows.len()).view());
        space
    }

    /// The median distance of rows.
    pub(super) fn typical_distance(&self, placed: &Array2<f64>, seed: u64) -> f64 {
        typical_distance(placed.view(), seed)
    }

    /// The same space with another length scale.
    pub(super) fn with_length(&self, length: f64, par: &Par) -> Result<Self> {
        let mut space = Self { length, ..self.clone() };
        space.make_factor(par)?;
        Ok(space)
    }

    fn make_factor(&mut self, par: &Par) -> Result<()> {
        let mut k = self.kernel(self.basis.view());
        k.diag_mut().iter_mut().for_each(|v| *v += JITTER);
        self.factor = Cholesky::robust(&k, par)?;
        Ok(())
    }

    /// Rows in the columns that matter.
    pub(super) fn place(&self, x: ArrayView2<'_, f32>) -> Array2<f64> {
        let prepared = self.preparation.map(x);
        Array2::from_shape_fn((x.nrows(), self.columns.len()), |(row, column)| {
            let value = prepared[(row, self.columns[column] as usize)] * self.scales[column];
            value.clamp(-FARTHEST, FARTHEST)
        })
    }

    /// Covariances with the inducing rows. Each is a sum in the order of columns, so that it does not depend on the other rows.
    fn kernel(&self, placed: ArrayView2<'_, f64>) -> Array2<f64> {
        let mut out = Array2::zeros((placed.nrows(), self.basis.nrows()));
        let half = 0.5 / (self.length * self.length);
        for (row, mut out) in placed.rows().into_iter().zip(out.rows_mut()) {
            for (other, out) in self.basis.rows().into_iter().zip(&mut out) {
                let square: f64 = row.iter().zip(other).map(|(a, b)| (a - b) * (a - b)).sum();
                *out = libm::exp(-half * square);
            }
        }
        out
    }

    /// How many numbers a row becomes: a constant, the log odds, columns, and the process.
    pub(super) fn width(&self) -> usize {
        2 + self.columns.len() + self.basis.nrows()
    }

    /// The precisions of what these numbers are multiplied by, for a process of such a variance.
    pub(super) fn precisions(&self, variance: f64) -> Vec<f64> {
        let mut all = vec![1e-2, 1e-1];
        all.resize(2 + self.columns.len(), 1.0);
        all.resize(self.width(), 1.0 / variance);
        all
    }

    /// The numbers of placed rows. The log odds are left open.
    pub(super) fn features(&self, placed: ArrayView2<'_, f64>) -> Array2<f64> {
        let (n, n_columns) = placed.dim();
        let mut process = self.kernel(placed);
        self.factor.forward_rows(&mut process, &Par::sequential());
        let mut out = Array2::zeros((n, self.width()));
        out.column_mut(0).fill(1.0);
        for ((mut out, columns), process) in out.rows_mut().into_iter().zip(placed.rows()).zip(process.rows())
        {
            out.iter_mut().skip(2).zip(columns.iter().chain(process)).for_each(|(to, from)| *to = *from);
        }
        debug_assert_eq!(out.ncols(), 2 + n_columns + self.basis.nrows());
        out
    }

    /// The chosen rows of a table.
    pub(super) fn rows(table: &Array2<f64>, rows: &[usize]) -> Array2<f64> {
        table.select(Axis(0), rows)
    }

    /// Fails unless what was read fits the schema; makes what was not written.
    pub(super) fn complete(&mut self, schema: &Schema) -> Result<()> {
        self.preparation.check()?;
        let width = self.preparation.width();
        let fits = self.preparation.n_features() == schema.n_features()
            && self.columns.len() <= MOST_COLUMNS
            && self.scales.len() == self.columns.len()
            && self.columns.iter().all(|column| (*column as usize) < width)
            && self.scales.iter().all(|scale| scale.is_finite())
            && self.basis.ncols() == self.columns.len()
            && self.basis.nrows() <= MOST_BASIS
            && self.basis.iter().all(|value| value.is_finite())
            && self.length.is_finite()
            && self.length > 0.0;
        require(fits, || "the rows and columns that intervals are computed from do not fit")?;
        self.make_factor(&Par::sequential())
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        8 * (self.basis.len() + self.basis.nrows() * self.basis.nrows()) + 12 * self.columns.len()
    }
}
