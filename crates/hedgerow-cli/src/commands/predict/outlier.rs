//! How unlike the rows that the model has learnt each row is.

use hedgerow::core::Par;
use hedgerow::{Model, ModelOutliers};

use super::columns::{Batch, Columns, push_number};

pub(super) struct Outlier<'a> {
    outliers: ModelOutliers<'a>,
    scores: Vec<f64>,
}

impl<'a> Outlier<'a> {
    /// Fails for a model without its rows.
    pub(super) fn new(model: &'a Model, par: &Par) -> anyhow::Result<Self> {
        Ok(Self { outliers: model.outliers(par)?, scores: Vec::new() })
    }
}

impl Columns for Outlier<'_> {
    fn names(&self) -> Vec<String> {
        vec!["outlier".into()]
    }

    fn compute(&mut self, batch: &Batch<'_>) -> anyhow::Result<()> {
        self.scores = self.outliers.score_predicted(batch.x, batch.predictions.view(), batch.par)?;
        Ok(())
    }

    fn write(&self, row: usize, line: &mut csv::StringRecord) {
        push_number(line, self.scores[row]);
    }
}
