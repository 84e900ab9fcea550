//! One sparse regression of all classes: a row is relevant to all of them or to none.
//!
//! Machines that each tell one class from the rest keep few rows each, and their scores are coarse beside each other. Here the labels of all
//! classes, as ±1, are targets of one machine with one precision a row ([`Several`](crate::evidence::Several)); rows that it did not learn
//! decide how many rows it keeps, and turn its scores into probabilities ([`grow`]).

mod grow;

use hedgerow_core::{ClassId, Par};
use hedgerow_gp::calibration::Calibration;
use hedgerow_gp::refit::Refit;
use ndarray::{Array2, ArrayView2};

use crate::basis::Basis;
pub(super) use grow::{Grower, Grown};

/// Scores of all classes, and what they are worth.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shared {
    /// The weights, a column a class.
    pub(super) scores: Refit,
    /// The precision of each row's weights.
    pub(super) alpha: Vec<f64>,
    pub(super) calibration: Calibration,
}

impl Shared {
    /// The probabilities of rows as the kernel sees them.
    pub(super) fn answers(
        &self,
        x: ArrayView2<'_, f64>,
        relevant: ArrayView2<'_, f64>,
        basis: &Basis,
        n_classes: usize,
        known: &[usize],
    ) -> Array2<f64> {
        let covariances = basis.kernel.cross(x, relevant, &Par::sequential());
        let is_known = |class: usize| known.binary_search(&class).is_ok();
        self.scores.answers(&covariances, &self.calibration, n_classes, is_known)
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        self.scores.bytes() + 8 * self.alpha.len() + 24 * self.calibration.curves.len()
    }
}

/// How many rows each class has.
pub(super) fn counts(labels: &[ClassId], n_classes: usize) -> Vec<usize> {
    let mut counts = vec![0; n_classes];
    labels.iter().for_each(|label| counts[label.index()] += 1);
    counts
}
