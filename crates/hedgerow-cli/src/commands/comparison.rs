//! A forest alone and blended with Gaussian processes, as results tell it.

use std::collections::BTreeMap;

use hedgerow::hybrid::{Blend, BlendReport, ClassBlendReport};
use serde::Serialize;

/// The exponents of a blend.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Exponents {
    /// Of the forest's prediction, or of the class frequencies of leaves.
    pub(crate) forest: f64,
    /// Of the prediction of the IVM, the leaf GPs or the GP.
    pub(crate) gp: f64,
}

impl From<Blend> for Exponents {
    fn from(blend: Blend) -> Self {
        Self { forest: blend.forest, gp: blend.gp }
    }
}

/// Out-of-sample predictions of a forest alone and blended with Gaussian processes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Comparison {
    pub(crate) rows: u64,
    pub(crate) forest_accuracy: f64,
    pub(crate) blend_accuracy: f64,
    /// Rows by true class and the forest's prediction.
    pub(crate) forest_confusion: Vec<Vec<u64>>,
    /// Rows by true class and the blended prediction.
    pub(crate) blend_confusion: Vec<Vec<u64>>,
    /// By the forest's prediction.
    pub(crate) by_prediction: BTreeMap<String, ClassComparison>,
}

/// The rows for which the forest predicts one class.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct ClassComparison {
    pub(crate) rows: u64,
    /// Rows in which a Gaussian process was used.
    pub(crate) used: u64,
    pub(crate) forest_right: u64,
    pub(crate) blend_right: u64,
    pub(crate) forest_log_loss: f64,
    pub(crate) blend_log_loss: f64,
}

impl From<ClassBlendReport> for ClassComparison {
    fn from(account: ClassBlendReport) -> Self {
        Self {
            rows: account.rows,
            used: account.blended,
            forest_right: account.right_before,
            blend_right: account.right_after,
            forest_log_loss: account.loss_before,
            blend_log_loss: account.loss_after,
        }
    }
}

impl Comparison {
    pub(super) fn new(account: &BlendReport, names: &[String]) -> Self {
        let rows = account.n_rows();
        let [before, after] = account.n_right().map(|right| right as f64 / rows.max(1) as f64);
        Self {
            rows,
            forest_accuracy: before,
            blend_accuracy: after,
            forest_confusion: account.before.clone(),
            blend_confusion: account.after.clone(),
            by_prediction: names
                .iter()
                .cloned()
                .zip(account.by_prediction().into_iter().map(Into::into))
                .collect(),
        }
    }

    /// Both accuracies: of `alone`, and blended with `with`.
    pub(super) fn words(&self, [alone, with]: [&str; 2]) -> String {
        let share = |share: f64| format!("{:.2} %", 100.0 * share);
        let (before, after) = (share(self.forest_accuracy), share(self.blend_accuracy));
        format!("held-out accuracy: {alone} {before}, with {with} {after}")
    }
}
