//! All rows through inducing rows: the active sets of IVMs, then a regression on all labels.
//!
//! IVMs choose among some rows, whose kernel is computed once. With `U` the union of the active sets of all classes and all labels Y,
//!
//! ```text
//! w = (K_un K_nu + σ² K_uu)⁻¹ K_un Y,   score(x) = k(x, U) w
//! ```

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{ClassId, Result, Training};
use hedgerow_gp::ivm::{IvmParams, train};
use hedgerow_gp::linalg::Cholesky;
use hedgerow_gp::{Given, Kernel};
use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, s};

use super::leaves::Leaves;
use super::matches::shares;

/// Rows that IVMs choose among, at most.
pub(super) const MOST_CANDIDATES: usize = 3000;
/// Variance of the kernel and of the noise while they choose.
const VARIANCE: f64 = 8.0;
const NOISE: f64 = 1e-3;
/// Rows taken in together.
const BLOCK: usize = 2048;

/// The active sets of the IVMs of all classes together, in rising order.
pub(super) fn choose(
    leaves: &Leaves,
    labels: &[ClassId],
    n_active: usize,
    seed: u64,
    training: &Training<'_>,
) -> Result<Vec<usize>> {
    let drawn = Rng::new(seed, Purpose::Sample, 9).sample(leaves.n_rows, MOST_CANDIDATES);
    let rows = drawn.unwrap_or_else(|| (0..leaves.n_rows).collect());
    let matrix = shares(leaves, &rows, &rows, training.par);
    training.par.check()?;
    let kernel = Kernel::Given(Given::new(matrix)?).scaled(VARIANCE) + Kernel::white(NOISE);
    let numbers = Array2::from_shape_fn((rows.len(), 1), |(row, _)| row as f64);
    let options = IvmParams { n_active: n_active.min(rows.len()), seed, ..IvmParams::default() };
    let n_classes = labels.iter().map(|label| label.index() + 1).max().unwrap_or(0);
    // Two classes need one binary classifier.
    let first = usize::from(n_classes == 2);
    let alone = training.par.alone();
    let chosen = training.par.map(n_classes - first, |class| {
        let sign = |&row: &usize| if labels[row].index() == class + first { 1.0 } else { -1.0 };
        let y: Vec<f64> = rows.iter().map(sign).collect();
        if !y.contains(&1.0) {
            return Ok(Vec::new());
        }
        train(&kernel, numbers.view(), &y, &options, &alone, training.budget).map(|trained| trained.active)
    });
    let mut union = Vec::new();
    for active in chosen {
        union.extend(active?.into_iter().map(|row| rows[row]));
    }
    union.sort_unstable();
    union.dedup();
    Ok(union)
}

/// The sums over all rows that a regression on inducing rows needs, for any noise variance.
pub(super) struct Sums {
    own: Array2<f64>,
    gram: Array2<f64>,
    targets: Array2<f64>,
}

impl Sums {
    /// Goes through all rows.
    pub(super) fn new(
        leaves: &Leaves,
        inducing: &[usize],
        y: &Array2<f64>,
        training: &Training<'_>,
    ) -> Result<Self> {
        let n = inducing.len();
        let par = training.par;
        let own = shares(leaves, inducing, inducing, par);
        let (mut gram, mut targets) = (Array2::zeros((n, n)), Array2::zeros((n, y.ncols())));
        for first in (0..leaves.n_rows).step_by(BLOCK) {
            let rows: Vec<usize> = (first..leaves.n_rows.min(first + BLOCK)).collect();
            let a = shares(leaves, &rows, inducing, par);
            par.check()?;
            add_squares(&a, &mut gram, training);
            targets += &a.t().dot(&y.slice(s![first..first + rows.len(), ..]));
        }
        Ok(Self { own, gram, targets })
    }

    /// A weight a class for each inducing row.
    pub(super) fn solve(&self, noise: f64, training: &Training<'_>) -> Result<Array2<f64>> {
        let mut matrix = &self.gram + &(&self.own * noise);
        matrix.diag_mut().iter_mut().for_each(|v| *v += 1e-6);
        let factor = Cholesky::robust_in_place(matrix, training.par)?;
        let mut weights = self.targets.t().as_standard_layout().into_owned();
        factor.forward_rows(&mut weights, training.par);
        factor.backward_rows(&mut weights, training.par);
        training.par.check()?;
        Ok(weights.t().as_standard_layout().into_owned())
    }
}

/// Adds aᵀa, some rows of it at a time.
fn add_squares(a: &Array2<f64>, gram: &mut Array2<f64>, training: &Training<'_>) {
    const STRIPE: usize = 128;
    let n = gram.ncols().max(1);
    let Some(values) = gram.as_slice_mut() else { return };
    training.par.for_chunks(values, STRIPE * n, |stripe, values| {
        let rows = values.len() / n;
        let first = stripe * STRIPE;
        if let Ok(mut out) = ndarray::ArrayViewMut2::from_shape((rows, n), values) {
            general_mat_mul(1.0, &a.slice(s![.., first..first + rows]).t(), a, 1.0, &mut out);
        }
    });
}
