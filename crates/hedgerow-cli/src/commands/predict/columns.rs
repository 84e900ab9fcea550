//! What every group of columns of a table of predictions offers.

use hedgerow::core::Par;
use ndarray::{Array2, ArrayView2};

/// Rows and what the model predicts for them.
pub(super) struct Batch<'a> {
    pub(super) x: ArrayView2<'a, f32>,
    /// A column for each class, or the mean and the variance.
    pub(super) predictions: &'a Array2<f64>,
    pub(super) par: &'a Par,
}

/// Some columns that stand side by side.
pub(super) trait Columns {
    /// Their names.
    fn names(&self) -> Vec<String>;

    /// Computes what they hold for the rows of a batch.
    fn compute(&mut self, batch: &Batch<'_>) -> anyhow::Result<()>;

    /// Writes the fields of a row of the batch, by its place in it.
    fn write(&self, row: usize, line: &mut csv::StringRecord);
}

/// Writes a number with six digits.
pub(super) fn push_number(line: &mut csv::StringRecord, value: f64) {
    line.push_field(&format!("{value:.6}"));
}
