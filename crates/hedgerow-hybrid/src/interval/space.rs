//! What the log odds of a class are made of at a row: a constant, the log odds by the trees and two polynomials of them, columns, and a Gaussian process.
//!
//! Columns that matter are brought to mean 0 and deviation 1. Each gives its first three Hermite polynomials, for what it adds by itself. For the Gaussian process
//! it is scaled by its share of the impurity that trees removed, so that distances see the columns that matter: a metric that
//! a forest has learnt, in the place of a search for a length of every column (automatic relevance determination). The process is that of inducing
//! rows: f(x) = k(x, Z) L⁻ᵀ w with L Lᵀ = k(Z, Z) and w normal.

use hedgerow_core::prepare::{Preparation, typical_distance};
use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::saved::{array, require};
use hedgerow_core::{Dataset, Par, Result, Schema};
use hedgerow_gp::linalg::Cholesky;
use ndarray::{Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

/// Prepared columns that take part, those that matter most.
const MOST_COLUMNS: usize = 32;
/// Rows that means and deviations are taken of.
const MOST_MEASURED: usize = 5_000;
/// Inducing rows.
const MOST_BASIS: usize = 100;
/// Where the columns begin: before them stand a constant and what is made of the log odds by the trees.
const FIRST: usize = 4;
/// Deviations from the mean beyond this count as this: curves must not be drawn on for ever.
const FARTHEST: f64 = 4.0;
/// Prior variances of what each polynomial of a column counts.
const OF_POLYNOMIALS: [f64; 3] = [1.0, 0.25, 0.1];
/// Added to the diagonal of k(Z, Z).
const JITTER: f64 = 1e-6;

/// How covariances fall with the distance.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Shape {
    /// exp(−d²/2ℓ²), for log odds without edges.
    Smooth,
    /// exp(−d/ℓ), for log odds with steps.
    Rough,
}

impl Shape {
    /// The covariance at such a squared distance in length scales.
    fn of(self, square: f64) -> f64 {
        libm::exp(match self {
            Self::Smooth => -0.5 * square,
            Self::Rough => -libm::sqrt(square),
        })
    }
}

/// The columns that matter, scaled, and the inducing rows among them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Space {
    preparation: Preparation,
    /// Prepared columns that take part, and the mean, the deviation and the importance of each.
    #[serde(with = "array")]
    columns: Vec<u32>,
    #[serde(with = "array")]
    means: Vec<f64>,
    #[serde(with = "array")]
    deviations: Vec<f64>,
    #[serde(with = "array")]
    importances: Vec<f64>,
    /// Inducing rows.
    #[serde(with = "array")]
    basis: Array2<f64>,
    /// The kernel.
    shape: Shape,
    length: f64,
    /// L; it follows from the rest.
    #[serde(skip)]
    factor: Cholesky,
    #[serde(skip)]
    scales: Vec<f64>,
}

impl Space {
    /// The space of some rows, where columns have these shares of the impurity that was removed. Its metric is yet to be chosen.
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
        let n = data.n_rows();
        let some =
            Rng::new(seed, Purpose::Sample, 10).sample(n, MOST_MEASURED).unwrap_or_else(|| (0..n).collect());
        let prepared = preparation.map(data.features.select(&some).to_array(0..some.len()).view());
        let columns: Vec<u32> = ranked.iter().map(|(place, _)| *place).collect();
        let measured = columns.iter().map(|column| {
            let values = prepared.column(*column as usize);
            let mean = values.sum() / values.len().max(1) as f64;
            let square =
                values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / values.len().max(1) as f64;
            (mean, if square > 1e-24 { libm::sqrt(square) } else { 1.0 })
        });
        let (means, deviations) = measured.unzip();
        let mut space = Self {
            preparation,
            basis: Array2::zeros((0, columns.len())),
            columns,
            means,
            deviations,
            importances: ranked.iter().map(|(_, importance)| *importance).collect(),
            shape: Shape::Smooth,
            length: 1.0,
            factor: Cholesky::default(),
            scales: Vec::new(),
        };
        space.make_scales();
        let drawn = Rng::new(seed, Purpose::Sample, 11).sample(n, MOST_BASIS);
        let rows = drawn.unwrap_or_else(|| (0..n).collect());
        space.basis = space.place(data.features.select(&rows).to_array(0..rows.len()).view());
        space
    }

    fn make_scales(&mut self) {
        let square =
            self.importances.iter().map(|i| i * i).sum::<f64>() / self.importances.len().max(1) as f64;
        self.scales = self.importances.iter().map(|i| i / libm::sqrt(square)).collect();
    }

    /// The median distance of placed rows.
    pub(super) fn typical_distance(&self, placed: &Array2<f64>, seed: u64) -> f64 {
        let mut scaled = placed.clone();
        scaled
            .rows_mut()
            .into_iter()
            .for_each(|mut row| row.iter_mut().zip(&self.scales).for_each(|(v, s)| *v *= s));
        typical_distance(scaled.view(), seed)
    }

    /// The same space with another kernel.
    pub(super) fn with_kernel(&self, shape: Shape, length: f64, par: &Par) -> Result<Self> {
        let mut space = Self { shape, length, ..self.clone() };
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
            let value = prepared[(row, self.columns[column] as usize)];
            ((value - self.means[column]) / self.deviations[column]).clamp(-FARTHEST, FARTHEST)
        })
    }

    /// Covariances with the inducing rows. Each is a sum in the order of columns, so that it does not depend on the other rows.
    fn kernel(&self, placed: ArrayView2<'_, f64>) -> Array2<f64> {
        let mut out = Array2::zeros((placed.nrows(), self.basis.nrows()));
        for (row, mut out) in placed.rows().into_iter().zip(out.rows_mut()) {
            for (other, out) in self.basis.rows().into_iter().zip(&mut out) {
                let part = |((a, b), scale): ((&f64, &f64), &f64)| (scale * (a - b)) * (scale * (a - b));
                let square: f64 = row.iter().zip(other).zip(&self.scales).map(part).sum();
                *out = self.shape.of(square / (self.length * self.length));
            }
        }
        out
    }

    /// How many numbers a row becomes: a constant, the log odds, columns, and the process.
    pub(super) fn width(&self) -> usize {
        FIRST + OF_POLYNOMIALS.len() * self.columns.len() + self.basis.nrows()
    }

    /// The precisions of what these numbers are multiplied by, for a process of such a variance.
    pub(super) fn precisions(&self, variance: f64) -> Vec<f64> {
        let mut all = vec![1e-2, 1e-1, 1.0 / OF_POLYNOMIALS[1], 1.0 / OF_POLYNOMIALS[2]];
        for variance in OF_POLYNOMIALS {
            all.resize(all.len() + self.columns.len(), 1.0 / variance);
        }
        all.resize(self.width(), 1.0 / variance);
        all
    }

    /// The numbers of placed rows. The log odds are left open.
    pub(super) fn features(&self, placed: ArrayView2<'_, f64>) -> Array2<f64> {
        let n_columns = self.columns.len();
        let mut process = self.kernel(placed);
        self.factor.forward_rows(&mut process, &Par::sequential());
        let mut out = Array2::zeros((placed.nrows(), self.width()));
        for ((mut out, columns), process) in out.rows_mut().into_iter().zip(placed.rows()).zip(process.rows())
        {
            out[0] = 1.0;
            for (place, z) in columns.iter().enumerate() {
                for (degree, value) in hermite(*z).into_iter().enumerate() {
                    out[FIRST + degree * n_columns + place] = value;
                }
            }
            let first = FIRST + OF_POLYNOMIALS.len() * n_columns;
            out.iter_mut().skip(first).zip(process).for_each(|(to, from)| *to = *from);
        }
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
            && [self.means.len(), self.deviations.len(), self.importances.len()] == [self.columns.len(); 3]
            && self.columns.iter().all(|column| (*column as usize) < width)
            && self.means.iter().all(|mean| mean.is_finite())
            && self.deviations.iter().all(|deviation| deviation.is_finite() && *deviation > 0.0)
            && self.importances.iter().all(|importance| (0.0..=1.0 + 1e-6).contains(importance))
            && self.basis.ncols() == self.columns.len()
            && self.basis.nrows() <= MOST_BASIS
            && self.basis.iter().all(|value| value.is_finite())
            && self.length.is_finite()
            && self.length > 0.0;
        require(fits, || "the rows and columns that intervals are computed from do not fit")?;
        self.make_scales();
        require(self.scales.iter().all(|scale| scale.is_finite()), || "columns without importance")?;
        self.make_factor(&Par::sequential())
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        8 * (self.basis.len() + self.basis.nrows() * self.basis.nrows()) + 36 * self.columns.len()
    }
}

/// Writes what is made of the log odds by the trees: themselves, and two polynomials, for a map that is no straight line.
pub(super) fn set_log_odds(features: &mut Array2<f64>, log_odds: impl Iterator<Item = f64>) {
    for (mut row, odds) in features.rows_mut().into_iter().zip(log_odds) {
        let [_, second, third] = hermite(0.5 * odds);
        [row[1], row[2], row[3]] = [odds, second, third];
    }
}

/// How what is made of log odds by the trees changes with them, each times what it counts.
pub(super) fn slope_of_log_odds(weights: &[f64], odds: f64) -> f64 {
    let z = 0.5 * odds;
    let slopes = [1.0, z / std::f64::consts::SQRT_2, 1.5 * (z * z - 1.0) / libm::sqrt(6.0)];
    slopes.iter().zip(&weights[1..FIRST]).map(|(slope, weight)| slope * weight).sum()
}

/// The first three Hermite polynomials, of mean square 1 for a normal variable.
fn hermite(z: f64) -> [f64; 3] {
    [z, (z * z - 1.0) / std::f64::consts::SQRT_2, z * (z * z - 3.0) / libm::sqrt(6.0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_are_those_of_differences() {
        let weights = [9.0, 1.2, -0.4, 0.3, 7.0];
        let value = |odds: f64| {
            let mut row = Array2::zeros((1, 5));
            set_log_odds(&mut row, std::iter::once(odds));
            row.row(0).iter().zip(weights).map(|(f, w)| f * w).sum::<f64>()
        };
        for odds in [-4.0, -0.3, 0.0, 2.2] {
            let difference = (value(odds + 1e-5) - value(odds - 1e-5)) / 2e-5;
            assert!((slope_of_log_odds(&weights, odds) - difference).abs() < 1e-8);
        }
    }
}
