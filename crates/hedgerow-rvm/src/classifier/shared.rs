//! One regression for all classes, from the rows that are relevant to any of them.
//!
//! The evidence leaves each machine a few rows, which tell its class from the rest and little else; compared with each other, such scores are
//! coarse. All classes together have ten times as many rows: a regression of all labels on them ([`Refit`]) is as sparse as the machines are
//! together, and what each row would be scored without itself calibrates it.

use hedgerow_core::{Budget, ClassId, Par, Result};
use hedgerow_gp::calibration::Calibration;
use hedgerow_gp::refit::{Fitter, RIDGES, Refit};
use ndarray::{Array2, ArrayView2};

use crate::basis::Basis;

/// Classes from which on there is something to share.
const LEAST_CLASSES: usize = 3;

/// Scores of all classes, and what they are worth.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shared {
    pub(super) refit: Refit,
    pub(super) calibration: Calibration,
    /// The machines' kernel with a length of its own.
    basis: Basis,
}

/// Rows of several classes, as the kernel sees them.
pub(super) struct Rows<'a> {
    pub(super) x: ArrayView2<'a, f64>,
    pub(super) labels: &'a [ClassId],
    pub(super) n_classes: usize,
}

/// What a regression is worth: the log-loss of some rows, without their own labels.
pub(super) struct Worth {
    pub(super) loss: f64,
    pub(super) rows: Vec<usize>,
}

impl Shared {
    /// The kernel of a regression that was fitted or read.
    pub(super) fn new(refit: Refit, calibration: Calibration, basis: &Basis) -> Self {
        Self { basis: basis.of_length(refit.length), refit, calibration }
    }

    /// Fits all classes to all rows from relevant ones, and tells what that is worth; none where that cannot be, or nobody waits for it. What was found before is kept to;
    /// otherwise the length may move, if it was not given.
    pub(super) fn fit(
        rows: &Rows<'_>,
        relevant: &[usize],
        basis: &Basis,
        (before, may_move): (Option<&Self>, bool),
        (budget, par): (&Budget, &Par),
    ) -> Result<Option<(Self, Worth)>> {
        let Rows { x, labels, n_classes } = *rows;
        let mut has_rows = vec![false; n_classes];
        labels.iter().for_each(|label| has_rows[label.index()] = true);
        let n_known = has_rows.iter().filter(|has| **has).count();
        let is_over = budget.spent().is_some();
        if n_known < LEAST_CLASSES || relevant.is_empty() || basis.name.is_of_products() || is_over {
            return Ok(None);
        }
        let kernel = |length: f64| basis.of_length(length).kernel;
        let fitter = Fitter { x, labels, n_classes, kernel: &kernel, par, budget };
        let fitted = match before {
            Some(Self { refit, .. }) => fitter.fit(relevant, refit.length, &[refit.ridge]),
            None => fitter.best(relevant, basis.lengths[0], &RIDGES, may_move),
        };
        if par.is_stopped() {
            return Ok(None);
        }
        let fitted = fitted?;
        let calibration = Calibration::fit(&fitted.scores, &fitted.labels, par);
        let loss = calibration.loss(&fitted.scores, &fitted.labels);
        Ok(Some((Self::new(fitted.refit, calibration, basis), Worth { loss, rows: fitted.judges })))
    }

    /// The probabilities of rows as the kernel sees them.
    pub(super) fn answers(
        &self,
        x: ArrayView2<'_, f64>,
        relevant: ArrayView2<'_, f64>,
        n_classes: usize,
        known: &[usize],
    ) -> Array2<f64> {
        let covariances = self.basis.kernel.cross(x, relevant, &Par::sequential());
        let is_known = |class: usize| known.binary_search(&class).is_ok();
        self.refit.answers(&covariances, &self.calibration, n_classes, is_known)
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        self.refit.bytes() + 24 * self.calibration.curves.len()
    }
}
