//! What was learnt, and how it predicts.

use hedgerow_core::calibration::Platt;
use hedgerow_core::{Par, Result, saved};
use ndarray::{Array1, Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use crate::binary::BinaryPosterior;
use crate::dsgq::Dsgq;
use crate::kernel::Kernel;
use crate::kriging::{JEFFREYS_RATIO, to_shares, to_simplex};
use crate::likelihood::Likelihood;
use crate::regression::unexplained;
use crate::softmax::SoftmaxLaplace;

/// Probabilities below this are raised to it.
pub(super) const LEAST: f64 = 1e-9;

/// What was learnt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Rule {
    /// Scores are offsets + kᵀ weights: a column a class, or one for the second of two classes.
    Linear {
        #[serde(with = "saved::array")]
        weights: Array2<f64>,
        #[serde(with = "saved::array")]
        offsets: Array1<f64>,
        reading: Reading,
    },
    /// The posterior of one one-vs-rest classifier a class, none for a class without rows; of two classes, for the second only.
    Latent { posteriors: Vec<Option<BinaryPosterior>>, likelihood: Likelihood },
    /// All classes at once.
    Softmax(SoftmaxLaplace),
    /// One task a class, or one for the second of two classes.
    Dsgq(Dsgq),
}

/// How scores become probabilities.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reading {
    /// By a curve each.
    Curves(Vec<Platt>),
    /// They nearly are probabilities.
    Shares,
    /// They are coordinates of a simplex.
    Simplex,
}

impl Rule {
    /// Probabilities for prepared rows: a column a class.
    pub(super) fn predict(
        &self,
        kernel: &Kernel,
        rows: ArrayView2<'_, f64>,
        x: ArrayView2<'_, f64>,
        n_classes: usize,
    ) -> Array2<f64> {
        let mut out = Array2::zeros((x.nrows(), n_classes));
        let known = self.raw(kernel, rows, x, n_classes);
        for (i, mut row) in out.rows_mut().into_iter().enumerate() {
            let Some(row) = row.as_slice_mut() else { continue };
            if let Ok(known) = &known {
                match known.ncols() {
                    1 if n_classes == 2 => (row[0], row[1]) = (1.0 - known[(i, 0)], known[(i, 0)]),
                    _ => row.iter_mut().zip(known.row(i)).for_each(|(to, from)| *to = *from),
                }
            }
            normalize(row);
        }
        out
    }

    /// Probabilities that need not sum to 1.
    fn raw(
        &self,
        kernel: &Kernel,
        rows: ArrayView2<'_, f64>,
        x: ArrayView2<'_, f64>,
        n_classes: usize,
    ) -> Result<Array2<f64>> {
        let par = Par::sequential();
        match self {
            Self::Linear { weights, offsets, reading } => {
                let mut scores = kernel.cross(x, rows, &par).dot(weights) + offsets;
                scores.rows_mut().into_iter().for_each(|mut row| {
                    if let Some(row) = row.as_slice_mut() {
                        reading.read(row);
                    }
                });
                Ok(scores)
            }
            Self::Latent { posteriors, likelihood } => {
                let cross = kernel.cross(x, rows, &par);
                let own = kernel.diagonal(x);
                // Of two classes, the second is enough.
                let first = usize::from(n_classes == 2);
                let mut out = Array2::zeros((x.nrows(), n_classes - first));
                for (posterior, column) in posteriors.iter().skip(first).zip(out.columns_mut()) {
                    let Some(posterior) = posterior else { continue };
                    let mean = cross.dot(&posterior.alpha);
                    let variance = unexplained(&own, &posterior.factor, &cross * &posterior.root, &par);
                    let pairs = column.into_iter().zip(mean.iter().zip(&variance));
                    pairs.for_each(|(to, (m, v))| *to = likelihood.probability(*m, *v));
                }
                Ok(out)
            }
            Self::Softmax(model) => model.probability(x, &par),
            Self::Dsgq(model) => model.probability(x, &par),
        }
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        let numbers = match self {
            Self::Linear { weights, offsets, .. } => weights.len() + offsets.len(),
            Self::Latent { posteriors, .. } => {
                let each = |m: &BinaryPosterior| m.alpha.len() + m.root.len() + m.factor.n() * m.factor.n();
                posteriors.iter().flatten().map(each).sum()
            }
            Self::Softmax(model) => {
                let (n, c) = model.gradient.dim();
                (c + 1) * n * n + n * c + model.x.len()
            }
            Self::Dsgq(model) => {
                let n = model.x.nrows();
                n * n + model.x.len() + model.columns.iter().map(|d| d.solved.len()).sum::<usize>()
            }
        };
        numbers * size_of::<f64>()
    }
}

impl Reading {
    /// Scores of one row become probabilities that need not sum to 1.
    pub(super) fn read(&self, row: &mut [f64]) {
        match self {
            Self::Curves(curves) => {
                row.iter_mut().zip(curves).for_each(|(p, curve)| *p = curve.probability(*p));
            }
            Self::Shares => to_shares(row),
            Self::Simplex => to_simplex(row, JEFFREYS_RATIO),
        }
    }
}

/// Makes a distribution of what may be anything.
pub(super) fn normalize(row: &mut [f64]) {
    row.iter_mut().for_each(|p| *p = if p.is_finite() { p.clamp(LEAST, 1.0) } else { LEAST });
    let sum: f64 = row.iter().sum();
    row.iter_mut().for_each(|p| *p /= sum);
}
